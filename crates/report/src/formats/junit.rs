//! JUnit's XML: a test case a row, which fails if the row failed. A case that cannot run on this machine is skipped.

use ipcmark_results::{RunResult, Status};

use crate::{
    format::Format,
    junit::{TestCase, TestOutcome, TestSuite},
    remarks,
    series::{Series, series},
};

fn suite(result: &RunResult) -> TestSuite {
    let facts = remarks::facts(result).into_iter();
    let version = ("version", result.run.version.clone());
    TestSuite {
        name: "ipcmark",
        properties: std::iter::once(version).chain(facts).collect(),
        cases: series(result).iter().map(case).collect(),
    }
}

fn case(series: &Series) -> TestCase {
    TestCase {
        name: series.name.clone(),
        seconds: seconds(series),
        output: series.words(),
        verdict: verdict(series),
    }
}

/// The length of the sampled blocks of all trials together.
fn seconds(series: &Series) -> Option<f64> {
    let elapsed = series.row?.trials.iter().map(|trial| trial.elapsed_ns as f64);
    Some(elapsed.sum::<f64>() / 1e9)
}

fn verdict(series: &Series) -> TestOutcome {
    let reason = || remarks::reason(series.case);
    match series.case.status() {
        Status::Ok => TestOutcome::Passed,
        Status::Failed => TestOutcome::Failed(reason()),
        status => TestOutcome::Skipped(format!("{status}: {}", reason())),
    }
}

/// A test case a row.
pub(super) const FORMAT: Format = Format {
    name: "junit",
    summary: "JUnit's XML: a test case a row, failed where the row failed",
    for_terminals: true,
    for_programs: true,
    one_row: false,
    text: |result, _| Ok(suite(result).text()),
};
