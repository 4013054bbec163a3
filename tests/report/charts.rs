//! The page shows the figures of the file.

use ipcmark_results::{Case, Load, Pattern, Row, RunResult, Trial};

use crate::{
    report::sample::{MEASURED, Report, measured, open, trials},
    support::{Verdict, browser::Page, only, run},
};

/// The cells of a case's row, as the page shows them.
fn cells(page: &mut Page, case: &Case) -> Vec<String> {
    let size = if case.identity.payload_bytes == 64 { "64 B" } else { "4 KiB" };
    let row = format!(
        "[...document.querySelectorAll('tr.case[data-payload=\"{size}\"][data-wait=\"{}\"]')]\
         .filter((row) => row.cells[0].textContent.split(' ')[0] === '{}')\
         .map((row) => [row.closest('tbody').querySelector('.group .soft').textContent, \
         ...[...row.cells].map((cell) => cell.textContent)])",
        case.identity.wait, case.identity.transport
    );
    let found = page.value(&row);
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{row}: {found}");
    serde_json::from_value(found[0].clone()).unwrap()
}

pub fn the_page_shows_the_figures_of_the_file() -> Verdict {
    let report = Report::of(&[&MEASURED]);
    let mut page = open!(report);
    for case in MEASURED.cases.iter().filter(measured) {
        let cells = cells(&mut page, case);
        let unit = match cells[0].rsplit(' ').next() {
            Some("ns") => 1.0,
            Some("µs") => 1e3,
            other => panic!("a unit of {other:?}"),
        };
        assert!(cells[0].starts_with("½ round trip in "), "{}", cells[0]);
        let reference = MEASURED.distances.as_ref().and_then(|distances| distances.reference);
        let row = Row::of(case, reference).expect("it was measured");
        let percentiles = [0.5, 0.99, 0.999].map(|q| row.percentile(q));
        let figures = [row.location()].into_iter().chain(percentiles);
        let figures = figures.map(|figure| figure.map(|figure| figure.value));
        for (cell, ns) in cells[3..].iter().zip(figures.chain([Some(row.max() as f64)])) {
            let Some(ns) = ns else {
                assert_eq!(cell, "–", "{cells:?}");
                continue;
            };
            let shown = cell.replace(',', "").parse::<f64>().unwrap() * unit;
            let half = ns / 2.0;
            // 0.056 µs is the closest that three decimals can show of 55.6 ns.
            let decimals = cell.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            let last_place = unit * 0.1_f64.powi(decimals as i32);
            let bound = (0.006 * half).max(0.501 * last_place);
            assert!((shown - half).abs() <= bound, "{cells:?}: {shown} for {half}");
        }
    }
    page.has_no_complaint();
    Verdict::Holds
}

/// The points of a line in a chart: pairs of numbers.
pub fn points(page: &mut Page, chart: &str, line: &str) -> Vec<(f64, f64)> {
    let script = format!(
        "(echarts.getInstanceByDom(document.getElementById('{chart}-chart')).getOption().series\
         .find((line) => line.name === '{line}') || {{data: []}}).data.map((point) => point.value)"
    );
    serde_json::from_value(page.value(&script)).unwrap()
}

/// The times in a line's row in the table behind a chart, in ns.
fn behind(page: &mut Page, chart: &str, line: &str) -> Vec<f64> {
    page.value(&format!("document.querySelector('#{chart}-behind > summary').click()"));
    let script = format!(
        "new Promise((done) => setTimeout(() => \
         done([...document.querySelectorAll('#{chart}-behind tbody tr')]\
         .find((row) => row.cells[0].textContent === '{line}').innerText), 50))"
    );
    let cells: Vec<String> = page.text(&script).split('\t').skip(1).map(Into::into).collect();
    cells.iter().map(|cell| nanoseconds(cell)).collect()
}

fn nanoseconds(text: &str) -> f64 {
    let (figure, unit) = text.trim().split_once(' ').unwrap_or_else(|| panic!("{text}"));
    let scale = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        other => panic!("a unit of {other}"),
    };
    figure.replace(',', "").parse::<f64>().unwrap() * scale
}

/// True if the line of a transport is one that was not requested.
fn is_grey(page: &mut Page, line: &str) -> bool {
    let script = format!(
        "echarts.getInstanceByDom(document.getElementById('latency-chart')).getOption().series\
         .find((line) => line.name === '{line}').z === 1"
    );
    serde_json::from_value(page.value(&script)).unwrap()
}

/// Clicks on a choice by the text of its label.
fn choose(page: &mut Page, text: &str) {
    let script = format!(
        "[...document.querySelectorAll('#choice-form label')]\
         .find((label) => label.textContent.endsWith('{text}')).click()"
    );
    page.value(&script);
}

pub fn charts_show_the_chosen_rows() -> Verdict {
    let report = Report::of(&[&MEASURED]);
    let mut page = open!(report);
    let of = |wait: &str, bytes: u64| {
        let is_it = |case: &&Case| {
            let identity = &case.identity;
            (identity.transport.as_str(), identity.wait.as_str(), identity.payload_bytes)
                == ("pipe", wait, bytes)
        };
        only(MEASURED.cases.iter().find(is_it).unwrap())
    };
    let half = |ns: u64| ns as f64 / 2.0;
    for wait in ["block", "spin"] {
        choose(&mut page, wait);
        let small = &of(wait, 64).times_ns;
        let line = [(64.0, half(small.p50)), (4096.0, half(of(wait, 4096).times_ns.p50))];
        assert_eq!(points(&mut page, "latency", "pipe"), line);
        let curve = points(&mut page, "percentiles", "pipe");
        let at = |x: f64| curve.iter().find(|point| point.0 == x).unwrap().1;
        assert_eq!(
            (at(2.0), at(10.0), at(100.0)),
            (half(small.p50), half(small.p90), half(small.p99))
        );
    }
    let behind = behind(&mut page, "latency", "pipe");
    for (told, bytes) in behind.iter().zip([64, 4096]) {
        let half = half(of("spin", bytes).times_ns.p50);
        assert!((told - half).abs() <= 0.006 * half, "{told} for {half}");
    }
    choose(&mut page, "p99");
    assert_eq!(points(&mut page, "latency", "pipe")[0].1, half(of("spin", 64).times_ns.p99));
    assert!(!is_grey(&mut page, "pipe"), "of so few all are lit");
    choose(&mut page, "pipe");
    assert!(is_grey(&mut page, "pipe"), "it stays behind the others");
    let address = page.text("location.hash");
    assert!(address.starts_with("#lit=") && !address.contains("pipe"), "{address}");
    page.value(
        "document.querySelector('#transports button[aria-label=\"all transports\"]').click()",
    );
    assert!(!is_grey(&mut page, "pipe"));
    page.value(
        "document.querySelector('#transports button[aria-label=\"no transports\"]').click()",
    );
    assert!(is_grey(&mut page, "uds-stream") && page.text("location.hash") == "#lit=");
    assert_eq!(points(&mut page, "latency", "uds-stream").len(), 2);
    assert!(points(&mut page, "latency", "null").is_empty(), "the harness is no transport");
    page.has_no_complaint();
    Verdict::Holds
}

/// Changes the trial as if every round trip had taken twice as long.
fn double(trial: &mut Trial) {
    trial.times_ns.p50 *= 2;
    trial.clock_free_mean_ns *= 2.0;
    for at in &mut trial.by_distance {
        at.location_ns = at.location_ns.map(|location| 2.0 * location);
    }
}

pub fn two_results_side_by_side() -> Verdict {
    let mut new = MEASURED.clone();
    for case in new.cases.iter_mut().filter(|case| case.identity.transport == "pipe") {
        trials(case).iter_mut().for_each(double);
    }
    new.run.id = "another".into();
    new.cases.retain(|case| case.identity.transport != "uds-stream");
    let report = Report::of(&[&MEASURED, &new]);
    let mut page = open!(report);
    let rows = "[...document.querySelectorAll('.changes tbody tr:not(.group)')].map((row) => \
        [...row.cells].map((cell) => cell.textContent))";
    let rows: Vec<Vec<String>> = serde_json::from_value(page.value(rows)).unwrap();
    assert_eq!(rows.len(), new.cases.iter().filter(measured).count());
    for row in &rows {
        let ratio = if row[0] == "pipe" { "2.00" } else { "1.00" };
        // On a busy machine there may be no block at any distance.
        assert!(row[3] == ratio || row[3] == "–", "{row:?}");
        assert_eq!(row[6], "cannot tell", "{row:?}");
    }
    let section = page.text("document.getElementById('changes').textContent");
    assert!(section.contains("No verdict: 1 run of the base and 1 of the new side"), "{section}");
    let gone = page.text("document.querySelector('#changes > details').textContent");
    assert!(gone.contains("base only") && gone.contains("uds-stream"), "{gone}");
    assert_eq!(
        points(&mut page, "latency", "2 pipe")[0].1,
        2.0 * points(&mut page, "latency", "1 pipe")[0].1
    );
    let bars = "(([chart]) => echarts.getInstanceByDom(chart).getOption().series[0].data\
        .map((bar) => [bar.told.title, bar.value, bar.told.pairs.at(-1)[1]]))\
        ([document.getElementById('change-chart')])";
    let bars: Vec<(String, f64, String)> = serde_json::from_value(page.value(bars)).unwrap();
    assert_eq!(bars[0], ("2 pipe".into(), 2.0, "cannot tell".into()), "the greatest change first");
    assert!(bars[1..].iter().all(|bar| bar.1 == 1.0), "{bars:?}");
    page.has_no_complaint();
    Verdict::Holds
}

/// One run per load, with the chart that draws it.
pub fn loads_have_charts_of_their_own() -> Verdict {
    let words = "run -t pipe,uds-stream -w block -s 64,4k --trials 1 -n 50 --format json";
    let result = |flags: &str| run(&format!("{words} {flags}")).exits(0).result();
    let (rates, ways) = (result("--rate 1k/s,2k/s"), result("-p one-way,throughput"));
    let report = Report::of(&[&rates, &ways]);
    let mut page = open!(report);
    let trial = |result: &RunResult, bytes: u64, is_it: &dyn Fn(&Case) -> bool| {
        let mut cases = result.cases.iter().filter(|case| case.identity.payload_bytes == bytes);
        let case = cases.find(|case| case.identity.transport == "pipe" && is_it(case)).unwrap();
        only(case).clone()
    };
    let at_rate = [1000, 2000].map(|per_second| {
        let of_rate = trial(&rates, 64, &|case| {
            matches!(case.identity.load, Load::Rate { per_second: own, .. } if own == per_second)
        });
        (per_second as f64, of_rate.times_ns.p50 as f64)
    });
    assert_eq!(points(&mut page, "swept", "1 pipe"), at_rate);
    let way = trial(&ways, 64, &|case| case.identity.pattern == Pattern::OneWay);
    let script = "echarts.getInstanceByDom(document.getElementById('oneway-chart')).getOption()";
    let names = page.value(&format!("{script}.yAxis[0].data"));
    let at = names.as_array().unwrap().iter().position(|name| *name == "2 pipe").unwrap();
    let parts =
        [0, 1].map(|part| page.number(&format!("{script}.series[{part}].data[{at}].value")));
    let send = way.one_way.as_ref().unwrap().send_ns.p50.min(way.times_ns.p50) as f64;
    assert_eq!(parts, [send, way.times_ns.p50 as f64 - send]);
    let reference = ways.distances.as_ref().and_then(|distances| distances.reference);
    let carried = |payload: u64| {
        let of_stream = |case: &Case| case.identity.pattern == Pattern::Throughput;
        let mut cases = ways.cases.iter().filter(|case| case.identity.payload_bytes == payload);
        let case = cases.find(|case| case.identity.transport == "pipe" && of_stream(case)).unwrap();
        // Without a block at the run's distance a row has no figure, and is not drawn.
        let rate = Row::of(case, reference).unwrap().messages_per_second()?;
        Some((payload as f64, rate * payload as f64))
    };
    let expected: Vec<(f64, f64)> = [64, 4096].into_iter().filter_map(carried).collect();
    // Without a figure of any stream there is no chart of them.
    match page.value("document.getElementById('throughput-chart') !== null") == true {
        true => assert_eq!(points(&mut page, "throughput", "2 pipe"), expected),
        false => assert_eq!(expected, []),
    }
    let blocks = page.number(
        "JSON.parse(document.getElementById('chart-data').textContent).timelines[0].points.length",
    );
    assert!(
        blocks >= 1.0
            && page
                .text("document.getElementById('timeline-summary').textContent")
                .contains("blocks of ")
    );
    page.has_no_complaint();
    Verdict::Holds
}

/// Regression: a chart of a sweep was drawn over rates only.
pub fn every_swept_property_has_its_curve() -> Verdict {
    let sweeps = [
        ("interval", "--at 1ms,2ms", [1e6, 2e6]),
        ("subscribers", "--at 1,2", [1.0, 2.0]),
        ("pairs", "--at 1,2", [1.0, 2.0]),
        ("pairs", "--at 1,2 -p throughput", [1.0, 2.0]),
    ];
    let swept = |(over, flags, _): &(&str, &str, _)| {
        let words = "-t pipe -w block -s 64 --trials 1 -d 50ms --format json";
        run(&format!("sweep {over} {flags} {words}")).exits(0).result()
    };
    let results: Vec<RunResult> = sweeps.iter().map(swept).collect();
    let report = Report::of(&results.iter().collect::<Vec<_>>());
    let mut page = open!(report);
    for (at, ((over, _, places), result)) in sweeps.iter().zip(&results).enumerate() {
        let figures = swept_figures(result);
        if figures.len() < places.len() {
            // A stream without a block at the run's distance has no figure. It is the last of the axes.
            assert_eq!(at, 3, "{over}");
            continue;
        }
        let script = format!(
            "(([select]) => {{ select.value = '{at}'; select.dispatchEvent(new Event('change')); }})\
             ([document.querySelector('#swept-choice select:not(.payload)')])"
        );
        page.value(&script);
        let script = "echarts.getInstanceByDom(document.getElementById('swept-chart')).getOption().series\
            .map((line) => [line.name, line.data.map((point) => point.value)])";
        let lines: Vec<(String, Vec<(f64, f64)>)> =
            serde_json::from_value(page.value(script)).unwrap();
        let [(name, points)] = &lines[..] else { panic!("{over}: {lines:?}") };
        assert!(name.starts_with(&format!("{} pipe", at + 1)), "{over}: {lines:?}");
        let expected: Vec<(f64, f64)> = places.iter().copied().zip(figures).collect();
        assert_eq!(*points, expected, "{over}");
    }
    page.has_no_complaint();
    Verdict::Holds
}

/// The figures of a sweep's points as its chart draws them: medians, half of those of a ping-pong, and what a stream
/// carried.
fn swept_figures(result: &RunResult) -> Vec<f64> {
    let reference = result.reference_distance();
    let figure = |case: &Case| match case.identity.pattern {
        Pattern::Throughput => Row::of(case, reference).unwrap().messages_per_second(),
        Pattern::Latency => Some(only(case).times_ns.p50 as f64 / 2.0),
        _ => Some(only(case).times_ns.p50 as f64),
    };
    result.cases.iter().filter_map(figure).collect()
}
