//! All kinds of files from untrusted sources.

use std::{fs, path::Path};

use ipcmark_results::{Case, Outcome, Status};

use crate::{
    report::sample::{MEASURED, Report, measured, mixed, open, trial},
    support::{Verdict, end, ipcmark, run},
};

/// Text that runs if it is taken for markup or script, in every context.
const ATTACKS: [&str; 5] = [
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 2'>",
    "\" onfocus=window.owned=3 autofocus x=\"",
    "{{ 7 * 7 }}{a}</style><svg onload=window.owned=4>",
    "__proto__",
];

pub fn text_of_a_result_is_never_executed() -> Verdict {
    let mut result = mixed();
    let text = ATTACKS.concat();
    let attacks = ATTACKS.iter().cycle().enumerate();
    for (case, (number, attack)) in result.cases.iter_mut().zip(attacks) {
        case.identity.transport = (*attack).into();
        case.identity.family = text.clone();
        case.identity.options.insert(text.clone(), format!("{text}{number}"));
        match &mut case.outcome {
            Outcome::Ok { .. } => {}
            Outcome::Failed { reason }
            | Outcome::Unavailable { reason }
            | Outcome::Unsupported { reason } => reason.clone_from(&text),
        }
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

/// Numbers that no run produces, but a file may contain.
pub fn extreme_figures() -> Verdict {
    let mut result = MEASURED.clone();
    let extremes = [0, 1, u64::MAX].into_iter().cycle();
    for (number, (case, extreme)) in result.cases.iter_mut().zip(extremes).enumerate() {
        case.identity.transport = format!("case-{number}");
        case.identity.payload_bytes = extreme;
        let trial = trial(case);
        let times = &mut trial.times_ns;
        (times.p50, times.p99, times.max) = (extreme, extreme, extreme);
        (times.mean, trial.elapsed_ns) = (if extreme > 1 { f64::MAX } else { 0.0 }, extreme);
        trial.blocks.probe_before_ns.fill(0.0);
        trial.blocks.probe_after_ns.fill(0.0);
        for process in &mut trial.session.processes {
            (process.cpu_ns, process.context_switches.voluntary) = (extreme, extreme);
        }
    }
    let report = Report::of(&[&result, &MEASURED]);
    let mut page = open!(report);
    for label in 0..page.number("document.querySelectorAll('#choice-form label').length") as u32 {
        page.value(&format!("document.querySelectorAll('#choice-form label')[{label}].click()"));
    }
    page.value(
        "document.querySelectorAll('details').forEach((details) => { details.open = true; })",
    );
    page.has_no_complaint();
    Verdict::Holds
}

pub fn a_thousand_cases() -> Verdict {
    let mut result = MEASURED.clone();
    let seeds: Vec<Case> = result.cases.iter().filter(measured).cloned().collect();
    let copy = |at: usize| {
        let mut case = seeds[at % seeds.len()].clone();
        case.identity.transport = format!("{}-{}", case.identity.transport, at / seeds.len());
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

pub fn a_result_without_a_figure() -> Verdict {
    let mut result = mixed();
    result.cases.retain(|case| case.status() != Status::Ok);
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

/// Uses this text as a result file: it is refused with all these words, and nothing is written.
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

pub fn files_that_are_no_results() {
    let good = ipcmark_results::to_json(&MEASURED);
    refused("", &["cut short", "ipcmark run -o"]);
    refused(&good[..good.len() / 2], &["cut short"]);
    refused("<html>", &["not JSON"]);
    refused("[]", &["not of the form"]);
    refused("{}", &["no field `schema`"]);
    refused(&good.replacen("ipcmark/2", "ipcmark/9", 1), &["`ipcmark/9`, not `ipcmark/2`"]);
    let old = good.replacen("ipcmark/2", "ipcmark/1", 1);
    refused(&old, &["of the form `ipcmark/1`", "reads `ipcmark/2` only", "measure again"]);
    refused(
        &good.replacen("\"payload_bytes\": 64", "\"payload_bytes\": \"64\"", 1),
        &["invalid type"],
    );
    refused(&good.replacen("\"p50\":", "\"p50\": -1, \"x\":", 1), &["cases[0]", "-1"]);
    refused(&format!("{{\"x\": {}", "[".repeat(100_000)), &["cut short"]);
    let ended = run("report /no/such/file.json -o /no/such/page.html").exits(1);
    assert!(ended.stderr.contains("cannot read the result file /no/such/file.json"));
    run("report").exits(2);
}

pub fn invalid_histograms() {
    for histogram in ["", "AAAA", "HISTFAAA", "not base64!"] {
        let mut result = MEASURED.clone();
        trial(&mut result.cases[1]).times_ns.histogram = histogram.into();
        let name = result.cases[1].identity.transport.clone();
        refused(&ipcmark_results::to_json(&result), &["histogram", &name, "measure again"]);
    }
}

pub fn pages_that_cannot_be_written() {
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

pub fn the_page_makes_no_network_request() {
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
