//! The report: what its page shows, looked at in a real browser, and what it refuses.

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use ipcmark_results::{Case, RunResult, Status};
use support::{
    Verdict,
    browser::{Look, Page, WIDE},
    end, ipcmark, run,
};
use tempfile::TempDir;

support::tests![
    the_page_shows_the_figures_of_the_file,
    charts_show_what_is_chosen,
    filters_leave_what_fits,
    rows_are_sorted_within_their_groups,
    definitions_are_a_focus_away,
    every_width_and_colour_scheme,
    two_results_side_by_side,
    text_of_others_never_runs,
    a_thousand_cases,
    a_result_without_a_figure,
    files_that_are_no_results,
    histograms_that_are_none,
    pages_that_cannot_be_written,
    the_page_asks_no_network,
];

/// One small real run, for all tests.
static MEASURED: LazyLock<RunResult> = LazyLock::new(|| {
    let words = "run -t null,pipe,shm-ring,uds-stream -s 64,4k -d 20ms --format json";
    run(words).exits(0).result()
});

/// Results as files, and the page made of them.
struct Report {
    _place: TempDir,
    page: PathBuf,
}

impl Report {
    #[track_caller]
    fn of(results: &[&RunResult]) -> Self {
        let names: Vec<String> = (1..=results.len()).map(|at| format!("{at}.json")).collect();
        Self::named(results, &names)
    }

    #[track_caller]
    fn named(results: &[&RunResult], names: &[String]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let page = place.path().join("report.html");
        let mut command = ipcmark("report --output");
        command.arg(&page);
        for (result, name) in results.iter().zip(names) {
            let path = place.path().join(name);
            fs::write(&path, ipcmark_results::to_json(result)).unwrap();
            command.arg(path);
        }
        let ended = end(&mut command).exits(0);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
        Self { _place: place, page }
    }

    fn open(&self) -> Result<Page, Verdict> {
        Page::open(&self.page, WIDE).map_err(Verdict::Skipped)
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.page).unwrap()
    }
}

/// Opens a report in the browser, or leaves the test where there is none.
macro_rules! open {
    ($report:expr) => {
        match $report.open() {
            Ok(page) => page,
            Err(verdict) => return verdict,
        }
    };
}

fn measured(case: &&Case) -> bool {
    case.status == Status::Ok
}

/// A result with cases of every status: what was measured, and copies that were not.
fn mixed() -> RunResult {
    let mut result = MEASURED.clone();
    let first = result.cases[0].clone();
    for (transport, family, status, reason) in [
        ("broken", "os", Status::Failed, "the leader was killed by signal 9"),
        ("absent", "zeromq", Status::Unavailable, "libzmq is not installed"),
    ] {
        let (transport, family, reason) = (transport.into(), family.into(), Some(reason.into()));
        result.cases.push(Case {
            transport,
            family,
            status,
            reason,
            figures: None,
            ..first.clone()
        });
    }
    result.planned_cases = result.cases.len() as u64;
    result
}

/// The cells of the row of a case, as the page shows them.
fn cells(page: &mut Page, case: &Case) -> Vec<String> {
    let size = if case.payload_bytes == 64 { "64 B" } else { "4 KiB" };
    let row = format!(
        "[...document.querySelectorAll('tr.case[data-payload=\"{size}\"][data-wait=\"{}\"]')]\
         .filter((row) => row.cells[0].textContent.split(' ')[0] === '{}')\
         .map((row) => [row.closest('tbody').querySelector('.group .soft').textContent, \
         ...[...row.cells].map((cell) => cell.textContent)])",
        case.wait, case.transport
    );
    let found = page.value(&row);
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{row}: {found}");
    serde_json::from_value(found[0].clone()).unwrap()
}

fn the_page_shows_the_figures_of_the_file() -> Verdict {
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
        let times = &case.figures.as_ref().unwrap().round_trip_ns;
        for (cell, ns) in cells[3..].iter().zip([times.p50, times.p99, times.p99_9, times.max]) {
            let shown = cell.replace(',', "").parse::<f64>().unwrap() * unit;
            let half = ns as f64 / 2.0;
            assert!((shown - half).abs() <= 0.006 * half, "{cells:?}: {shown} for {half}");
        }
    }
    page.has_no_complaint();
    Verdict::Holds
}

/// The points of a line in a chart: pairs of numbers.
fn points(page: &mut Page, chart: &str, line: &str) -> Vec<(f64, f64)> {
    let script = format!(
        "(echarts.getInstanceByDom(document.getElementById('{chart}-chart')).getOption().series\
         .find((line) => line.name === '{line}') || {{data: []}}).data.map((point) => point.value)"
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

fn charts_show_what_is_chosen() -> Verdict {
    let report = Report::of(&[&MEASURED]);
    let mut page = open!(report);
    let of = |wait: &str, bytes: u64| {
        let is_it = |case: &&Case| {
            (case.transport.as_str(), case.wait.as_str(), case.payload_bytes)
                == ("pipe", wait, bytes)
        };
        MEASURED.cases.iter().find(is_it).unwrap().figures.clone().unwrap()
    };
    let half = |ns: u64| ns as f64 / 2.0;
    for wait in ["block", "spin"] {
        choose(&mut page, wait);
        let small = of(wait, 64).round_trip_ns;
        let line = [(64.0, half(small.p50)), (4096.0, half(of(wait, 4096).round_trip_ns.p50))];
        assert_eq!(points(&mut page, "latency", "pipe"), line);
        let curve = points(&mut page, "percentiles", "pipe");
        let at = |x: f64| curve.iter().find(|point| point.0 == x).unwrap().1;
        assert_eq!(
            (at(2.0), at(10.0), at(100.0)),
            (half(small.p50), half(small.p90), half(small.p99))
        );
    }
    choose(&mut page, "p99");
    assert_eq!(points(&mut page, "latency", "pipe")[0].1, half(of("spin", 64).round_trip_ns.p99));
    choose(&mut page, "pipe");
    assert!(points(&mut page, "latency", "pipe").is_empty());
    assert_eq!(points(&mut page, "latency", "uds-stream").len(), 2);
    assert!(points(&mut page, "latency", "null").is_empty(), "the harness is no transport");
    page.has_no_complaint();
    Verdict::Holds
}

/// Sets a filter of the table.
fn filter(page: &mut Page, name: &str, value: &str) {
    let script = format!(
        "{{ const field = document.querySelector('#filters [name={name}]'); field.value = '{value}'; \
         field.dispatchEvent(new Event('input', {{bubbles: true}})); }}"
    );
    page.value(&script);
}

const VISIBLE: &str =
    "[...document.querySelectorAll('tr.case')].filter((row) => row.checkVisibility()).length";

fn filters_leave_what_fits() -> Verdict {
    let result = mixed();
    let report = Report::of(&[&result]);
    let mut page = open!(report);
    let all = result.cases.len() as f64;
    let count =
        |fits: &dyn Fn(&Case) -> bool| result.cases.iter().filter(|case| fits(case)).count() as f64;
    assert_eq!(page.number(VISIBLE), all);
    for (name, value, fits) in [
        ("wait", "block", (&|case: &Case| case.wait == "block") as &dyn Fn(&Case) -> bool),
        ("payload", "4 KiB", &|case| case.payload_bytes == 4096),
        ("status", "failed", &|case| case.status == Status::Failed),
        ("family", "zeromq", &|case| case.family == "zeromq"),
        ("search", "PIP", &|case| case.transport.contains("pip")),
        ("search", "no such transport", &|_| false),
    ] {
        filter(&mut page, name, value);
        assert_eq!(page.number(VISIBLE), count(fits), "{name} {value}");
        let status = page.text("document.getElementById('filter-status').textContent");
        assert_eq!(status, format!("{} of {all} rows", count(fits)));
        filter(&mut page, name, "");
    }
    assert_eq!(page.number(VISIBLE), all);
    let table = page.text("document.getElementById('case-table').textContent");
    for reason in ["the leader was killed by signal 9", "libzmq is not installed"] {
        assert!(table.contains(reason), "{reason}");
    }
    page.has_no_complaint();
    Verdict::Holds
}

fn rows_are_sorted_within_their_groups() -> Verdict {
    let report = Report::of(&[&mixed()]);
    let mut page = open!(report);
    let groups = "[...document.querySelectorAll('#case-table tbody')].map((body) => \
        [...body.querySelectorAll('tr.case')].map((row) => row.dataset.wait + row.cells[0].textContent))";
    let before: Vec<Vec<String>> = serde_json::from_value(page.value(groups)).unwrap();
    let sort = "[...document.querySelectorAll('.sortable')].find((head) => \
        head.textContent.startsWith('p50')).querySelector('button').click()";
    page.value(sort);
    let ascending: Vec<Vec<String>> = serde_json::from_value(page.value(groups)).unwrap();
    page.value(sort);
    let descending: Vec<Vec<String>> = serde_json::from_value(page.value(groups)).unwrap();
    let turned = |rows: &Vec<String>| rows.iter().rev().cloned().collect::<Vec<_>>();
    // Groups of measured rows come with the fastest first; none stands in the group of `null`.
    let is_ranked = |rows: &&Vec<String>| rows.len() > 2 && !rows[0].contains("null");
    assert!(before.iter().any(|rows| is_ranked(&rows)));
    for (at, rows) in before.iter().enumerate().filter(|(_, rows)| is_ranked(rows)) {
        assert_eq!(&ascending[at], rows);
        assert_eq!(descending[at], turned(rows));
    }
    Verdict::Holds
}

fn definitions_are_a_focus_away() -> Verdict {
    let report = Report::of(&[&mixed()]);
    let mut page = open!(report);
    let orphans = "[...document.querySelectorAll('.term')].filter((term) => \
        !document.getElementById(term.getAttribute('aria-describedby'))).map((term) => term.textContent)";
    assert_eq!(page.value(orphans), serde_json::json!([]));
    let heads = "[...document.querySelectorAll('#case-table thead th')].filter((head) => \
        !head.querySelector('.term')).length";
    assert_eq!(page.number(heads), 0.0, "every column is defined");
    page.value("document.querySelector('#case-table [data-key=p99-9]').focus()");
    let hint =
        "(({hidden, textContent}) => hidden ? '' : textContent)(document.getElementById('hint'))";
    assert!(page.text(hint).starts_with("999 of 1,000 round trips"), "{}", page.text(hint));
    page.press("Escape");
    assert_eq!(page.text(hint), "");
    page.press("Tab");
    page.press("Tab");
    assert!(page.text(hint).starts_with("The longest of all"), "{}", page.text(hint));
    page.has_no_complaint();
    Verdict::Holds
}

fn every_width_and_colour_scheme() -> Verdict {
    let report = Report::of(&[&mixed(), &MEASURED]);
    let mut page = open!(report);
    let mut grounds = Vec::new();
    for dark in [false, true] {
        for width in [380, 800, 1400] {
            page.look(Look { width, dark });
            let wide = page.number("document.documentElement.scrollWidth");
            assert!(wide <= f64::from(width), "{width}: {wide}");
        }
        grounds.push(page.text("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(grounds[0], grounds[1]);
    page.value("{ theme.value = 'light'; theme.dispatchEvent(new Event('change')); }");
    assert_eq!(page.text("getComputedStyle(document.body).backgroundColor"), grounds[0]);
    let unnamed = "[...document.querySelectorAll('input, select, button')].filter((field) => \
        !field.labels?.length && !field.getAttribute('aria-label') && !field.textContent.trim()).length";
    assert_eq!(page.number(unnamed), 0.0, "fields without a name");
    let twice = "[...document.querySelectorAll('[id]')].length - \
        new Set([...document.querySelectorAll('[id]')].map((element) => element.id)).size";
    assert_eq!(page.number(twice), 0.0, "two elements of one id");
    page.print();
    page.has_no_complaint();
    Verdict::Holds
}

fn two_results_side_by_side() -> Verdict {
    let mut new = MEASURED.clone();
    for case in new.cases.iter_mut().filter(|case| case.transport == "pipe") {
        let times = &mut case.figures.as_mut().unwrap().round_trip_ns;
        times.p50 *= 2;
    }
    new.cases.retain(|case| case.transport != "uds-stream");
    let report = Report::of(&[&MEASURED, &new]);
    let mut page = open!(report);
    let rows = "[...document.querySelectorAll('.changes tbody tr:not(.group)')].map((row) => \
        [...row.cells].map((cell) => cell.textContent))";
    let rows: Vec<Vec<String>> = serde_json::from_value(page.value(rows)).unwrap();
    assert_eq!(rows.len(), new.cases.iter().filter(measured).count());
    for row in &rows {
        let ratio = if row[0] == "pipe" { "2.00" } else { "1.00" };
        assert_eq!((row[3].as_str(), row[6].as_str()), (ratio, "not known"), "{row:?}");
    }
    let gone = page.text("document.querySelector('#changes details').textContent");
    assert!(gone.contains("base only") && gone.contains("uds-stream"), "{gone}");
    assert_eq!(
        points(&mut page, "latency", "2 pipe")[0].1,
        2.0 * points(&mut page, "latency", "1 pipe")[0].1
    );
    page.has_no_complaint();
    Verdict::Holds
}

/// Text that runs where it is taken for markup or script, whichever way it gets there.
const ATTACKS: [&str; 5] = [
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 2'>",
    "\" onfocus=window.owned=3 autofocus x=\"",
    "{{ 7 * 7 }}{a}</style><svg onload=window.owned=4>",
    "__proto__",
];

fn text_of_others_never_runs() -> Verdict {
    let mut result = mixed();
    let text = ATTACKS.concat();
    for (case, attack) in result.cases.iter_mut().zip(ATTACKS.iter().cycle()) {
        case.transport = (*attack).into();
        case.family = text.clone();
        case.options.insert(text.clone(), text.clone());
        case.reason = case.reason.as_ref().map(|_| text.clone());
    }
    for word in [&mut result.run.started_at, &mut result.run.version, &mut result.run.id] {
        *word = text.clone();
    }
    result.environment.cpu_model = text.clone();
    result.environment.kernel = text.clone();
    result.notes.push(text.clone());
    result.run.command.push(text.clone());
    let name = "<img src=x onerror=window.owned=5>.json".to_string();
    let report = Report::named(&[&result, &result], &[name.clone(), format!("2{name}")]);
    let mut page = open!(report);
    page.value(
        "document.querySelectorAll('details').forEach((details) => { details.open = true; })",
    );
    page.value("document.querySelector('#case-table .term').focus()");
    assert!(page.value("window.owned ?? null").is_null(), "a script of the file ran");
    assert_eq!(
        page.number("document.querySelectorAll('img, svg, [onfocus], [onerror]').length"),
        0.0
    );
    assert_eq!(page.number("document.scripts.length"), 3.0);
    let shown = page.text("document.getElementById('case-table').textContent");
    assert!(shown.contains(ATTACKS[0]) && shown.contains("{{ 7 * 7 }}"), "it is shown as it is");
    page.has_no_complaint();
    Verdict::Holds
}

fn a_thousand_cases() -> Verdict {
    let mut result = MEASURED.clone();
    let seeds: Vec<Case> = result.cases.iter().filter(measured).cloned().collect();
    let copy = |at: usize| {
        let mut case = seeds[at % seeds.len()].clone();
        case.transport = format!("{}-{}", case.transport, at / seeds.len());
        case
    };
    result.cases = (0..1_000).map(copy).collect();
    let report = Report::of(&[&result]);
    let mut page = open!(report);
    let status = page.text("document.getElementById('filter-status').textContent");
    assert_eq!(status, "1,000 of 1,000 rows");
    println!(
        "1,000 cases: {} ms",
        page.number("performance.getEntriesByType('navigation')[0].loadEventEnd")
    );
    page.has_no_complaint();
    Verdict::Holds
}

fn a_result_without_a_figure() -> Verdict {
    let mut result = mixed();
    result.cases.retain(|case| case.status != Status::Ok);
    let report = Report::of(&[&result, &MEASURED]);
    open!(report).has_no_complaint();
    result.cases.clear();
    result.complete = false;
    let report = Report::of(&[&result]);
    let mut page = open!(report);
    assert!(page.text("document.body.innerText").contains("has no cases"));
    page.has_no_complaint();
    Verdict::Holds
}

/// Gives this text as a result file: it is refused with all these words, and nothing is written.
#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let place = tempfile::tempdir().unwrap();
    let (file, page) = (place.path().join("bad.json"), place.path().join("report.html"));
    fs::write(&file, text).unwrap();
    let ended = end(ipcmark("report").arg(&file).arg("-o").arg(&page)).exits(1);
    for word in words.iter().chain(&["bad.json"]) {
        assert!(ended.stderr.contains(word), "no {word} in: {}", ended.stderr);
    }
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(!page.exists());
}

fn files_that_are_no_results() {
    let good = ipcmark_results::to_json(&MEASURED);
    refused("", &["cut short", "ipcmark run -o"]);
    refused(&good[..good.len() / 2], &["cut short"]);
    refused("<html>", &["not JSON"]);
    refused("[]", &["not of the form"]);
    refused("{}", &["no field `schema`"]);
    refused(&good.replacen("ipcmark/1", "ipcmark/9", 1), &["`ipcmark/9`, not `ipcmark/1`"]);
    refused(
        &good.replacen("\"payload_bytes\": 64", "\"payload_bytes\": \"64\"", 1),
        &["invalid type"],
    );
    refused(&good.replacen("\"p50\":", "\"p50\": -1, \"x\":", 1), &["case 1", "-1"]);
    refused(&format!("{{\"x\": {}", "[".repeat(100_000)), &["cut short"]);
    let ended = run("report /no/such/file.json -o /no/such/page.html").exits(1);
    assert!(ended.stderr.contains("cannot read the result file /no/such/file.json"));
    run("report").exits(2);
}

fn histograms_that_are_none() {
    for histogram in ["", "AAAA", "HISTFAAA", "not base64!"] {
        let mut result = MEASURED.clone();
        result.cases[1].figures.as_mut().unwrap().histogram = histogram.into();
        let name = result.cases[1].transport.clone();
        refused(&ipcmark_results::to_json(&result), &["histogram", &name, "measure again"]);
    }
}

fn pages_that_cannot_be_written() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("result.json");
    let text = ipcmark_results::to_json(&MEASURED);
    fs::write(&file, &text).unwrap();
    let to = |page: &Path| end(ipcmark("report").arg(&file).arg("-o").arg(page));
    let ended = to(&file).exits(2);
    assert!(ended.stderr.contains("it would replace the result file"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let ended = to(&place.path().join("none/report.html")).exits(1);
    assert!(ended.stderr.contains("none/report.html"), "{}", ended.stderr);
}

fn the_page_asks_no_network() {
    let report = Report::of(&[&MEASURED]);
    let page = report.text();
    let head = page.split("<style>").next().unwrap();
    assert!(
        head.contains("Content-Security-Policy") && head.contains("default-src &#x27;none&#x27;")
    );
    assert!(
        !head.contains("unsafe") && !head.contains("http:") && !head.contains("https:"),
        "{head}"
    );
    for element in ["<link", "<iframe", "<script src", "@import", "url("] {
        let own = page.split("</style>").next().unwrap().to_owned()
            + page.split("</style>").nth(1).unwrap().split("<script>").next().unwrap();
        assert!(!own.contains(element), "{element}");
    }
    assert!(page.contains("Apache License") && page.contains("The Apache Software Foundation"));
    assert!(!page.contains("\"histogram\""), "points of curves, not whole histograms");
}
