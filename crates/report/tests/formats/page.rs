//! The page for the browser contains the figures of the result, and no markup except its own.

use ipcmark_report::{Source, duration, page};
use ipcmark_results::{Outcome, Pattern, RunResult, Span, Wait, encode, groups, new_histogram};
use proptest::prelude::*;
use serde_json::Value;

use crate::{arbitrary, sample, shown};

/// Any result, with non-empty histograms.
fn any_result() -> impl Strategy<Value = RunResult> {
    (arbitrary::result(), prop::collection::vec(0..1_u64 << 40, 0..50)).prop_map(
        |(mut result, samples)| {
            let mut histogram = new_histogram();
            samples.iter().for_each(|sample| histogram.record(*sample).expect("below an hour"));
            for case in &mut result.cases {
                let Outcome::Ok { measurement } = &mut case.outcome else { continue };
                for trial in measurement.trials_mut() {
                    trial.times_ns.histogram = encode(&histogram);
                }
            }
            result
        },
    )
}

const DATA: &str = "<script type=\"application/json\" id=\"chart-data\">";

fn made(result: &RunResult) -> String {
    let source = || Source { name: "r.json".into(), result };
    page(&[source(), source()]).expect("a result that holds together can be shown")
}

/// The entries of the first file in the charts.
fn drawn(page: &str) -> Vec<Value> {
    let data = page.split(DATA).nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let rows = data["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["file"] == 0).cloned().collect()
}

/// The result with a different transport for every case, by which a row of the page is found.
fn each_its_own(mut result: RunResult) -> RunResult {
    for (place, case) in result.cases.iter_mut().enumerate() {
        case.identity.transport = format!("case-{place:03}");
    }
    result
}

/// The median over the trials of a row's case, as it is shown: half of a ping-pong.
fn p50(result: &RunResult, row: &Value) -> f64 {
    let name = row["name"].as_str().unwrap();
    let is_it = |case: &&ipcmark_results::Case| name.starts_with(&case.identity.transport);
    let case = result.cases.iter().find(is_it).unwrap();
    let mut p50s: Vec<u64> = case.trials().iter().map(|trial| trial.times_ns.p50).collect();
    p50s.sort_unstable();
    let (low, high) = (p50s[(p50s.len() - 1) / 2] as f64, p50s[p50s.len() / 2] as f64);
    let is_halved = case.identity.pattern == Pattern::Latency && !case.identity.load.is_open();
    let share = if is_halved { 0.5 } else { 1.0 };
    low.midpoint(high) * share
}

#[test]
fn the_map_has_every_row_between_processes_with_its_figure() {
    let result = sample::whole_run();
    let page = page(&[Source { name: "r.json".into(), result: &result }]).unwrap();
    let map =
        page.split("<section id=\"map\"").nth(1).and_then(|rest| rest.split("</section>").next());
    let map = map.expect("there is a map");
    let groups = groups(&result);
    let mapped = groups
        .iter()
        .filter(|group| group.key.span.0 == Span::Process && group.key.payload.is_some());
    let mut cells = 0;
    for row in mapped.flat_map(|group| &group.rows) {
        let Some(time) = row.location() else { continue };
        let half = if row.case.identity.pattern == Pattern::Latency { 0.5 } else { 1.0 };
        let text = duration(time.value * half);
        assert!(map.contains(&format!(">{text}<")), "{text}: {map}");
        assert!(map.contains(&row.case.identity.transport), "{map}");
        cells += 1;
    }
    assert_eq!(map.matches("<td class=\"h").count(), cells);
    assert!(cells > 3 && map.contains("<b>"), "{map}");
}

#[test]
fn a_card_has_the_fastest_with_their_figures_and_no_markup_of_a_result() {
    let mut result = sample::whole_run();
    let card = shown(&result, "svg");
    for best in ipcmark_results::best(&result).iter().filter(|best| {
        best.group.key.pattern == Pattern::Latency
            && best.group.key.payload.map(|(size, _)| size) == Some(64)
    }) {
        let time = best.fastest[0].location().unwrap().value / 2.0;
        assert!(card.contains(&format!(">{}<", duration(time))), "{card}");
        assert!(card.contains(&best.fastest[0].case.identity.transport), "{card}");
    }
    let tags = card.matches('<').count();
    result.environment.cpu_model = "<script>&".into();
    assert_eq!(shown(&result, "svg").matches('<').count(), tags);
    result.cases.clear();
    assert!(shown(&result, "svg").contains("no round trips between processes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_time_drawn_is_one_of_the_file(result in any_result().prop_map(each_its_own)) {
        let drawn = drawn(&made(&result));
        let measured = result.cases.iter().filter(|case| !case.trials().is_empty()).count();
        prop_assert_eq!(drawn.len(), measured);
        for row in drawn {
            let (time, told) = (row["times"][0].as_f64().unwrap(), p50(&result, &row));
            prop_assert!((told - time).abs() <= 0.051, "{row}: {told}");
        }
    }

    #[test]
    fn the_format_is_the_page_of_the_one_result(result in any_result()) {
        let name = format!("run {}", result.run.id);
        let source = Source { name, result: &result };
        prop_assert_eq!(shown(&result, "html"), page(&[source]).unwrap());
    }

    #[test]
    fn the_text_of_a_result_is_never_markup(result in any_result(), at in any::<usize>()) {
        let mut result = result;
        let clean = made(&result).matches("<").count();
        let place = at % (result.cases.len() + 1);
        let attack = "</script><script>alert(1)</script><!-- \u{2028}{{ x }}";
        match result.cases.get_mut(place) {
            Some(case) => case.identity.family = attack.into(),
            None => result.environment.cpu_model = attack.into(),
        }
        prop_assert_eq!(made(&result).matches("<").count(), clean);
    }
}

#[test]
fn a_row_that_hardly_slept_is_not_on_the_card() {
    let mut eager = sample::case("eager", 64, Wait::Block, 2_000);
    let Outcome::Ok { measurement } = &mut eager.outcome else { panic!("it was not measured") };
    for trial in measurement.trials_mut() {
        for process in &mut trial.session.processes {
            process.ends.iter_mut().for_each(|end| end.thread.sleeps = 0);
        }
    }
    let pipe = sample::case("pipe", 64, Wait::Block, 40_000);
    let card = shown(&sample::run(vec![eager, pipe]), "svg");
    assert!(card.contains("pipe") && !card.contains("eager"), "{card}");
}
