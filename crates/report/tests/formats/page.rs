//! The page for the browser carries the figures of the result, and no markup but its own.

use crate::arbitrary;
use ipcmark_report::{Source, page};
use ipcmark_results::{RunResult, encode, new_histogram};
use proptest::prelude::*;
use serde_json::Value;

/// Any result, with histograms that are some.
fn any_result() -> impl Strategy<Value = RunResult> {
    (arbitrary::result(), prop::collection::vec(0..1_u64 << 40, 0..50)).prop_map(
        |(mut result, samples)| {
            let mut histogram = new_histogram();
            samples.iter().for_each(|sample| histogram.record(*sample).expect("below an hour"));
            for figures in result.cases.iter_mut().filter_map(|case| case.figures.as_mut()) {
                figures.histogram = encode(&histogram);
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

/// What the charts draw of the first file.
fn drawn(page: &str) -> Vec<Value> {
    let data = page.split(DATA).nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let rows = data["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["file"] == 0).cloned().collect()
}

/// The result with a transport of its own for every case, so that a row of the page is of one case.
fn each_its_own(mut result: RunResult) -> RunResult {
    for (place, case) in result.cases.iter_mut().enumerate() {
        case.transport = format!("case-{place:03}");
    }
    result
}

/// The p50 of the case that a row stands for, as it is shown, in ns.
fn p50(result: &RunResult, row: &Value) -> f64 {
    let name = row["name"].as_str().unwrap();
    let case = result.cases.iter().find(|case| name.starts_with(&case.transport)).unwrap();
    case.figures.as_ref().unwrap().round_trip_ns.p50 as f64 / 2.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_time_drawn_is_half_of_one_in_the_file(result in any_result().prop_map(each_its_own)) {
        for row in drawn(&made(&result)) {
            let (time, told) = (row["times"][0].as_f64().unwrap(), p50(&result, &row));
            prop_assert!((told - time).abs() <= 0.05, "{row}: {told}");
        }
    }

    #[test]
    fn the_text_of_a_result_is_never_markup(result in any_result(), at in any::<usize>()) {
        let mut result = result;
        let clean = made(&result).matches("<").count();
        let place = at % (result.cases.len() + 1);
        let attack = "</script><script>alert(1)</script><!-- \u{2028}{{ x }}";
        match result.cases.get_mut(place) {
            Some(case) => case.family = attack.into(),
            None => result.environment.cpu_model = attack.into(),
        }
        prop_assert_eq!(made(&result).matches("<").count(), clean);
    }
}
