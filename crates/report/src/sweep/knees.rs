//! The answers below a sweep over rates: the highest rate at which each row keeps to the limit.

use ipcmark_results::{Identity, JudgedRate, LimitVerdict};

use crate::{
    names,
    page::{BOLD, Page},
    units::{count, duration},
};

/// The knee of a row: the highest rate that it holds, and the lowest above it that it does not.
#[derive(Clone, Debug)]
pub struct SweepFinding {
    /// The row, without its load.
    pub row: Identity,
    /// The highest rate that it holds; none if it held no rate.
    pub holds: Option<JudgedRate>,
    /// The next rate, which it does not hold; none if it held all.
    pub fails: Option<JudgedRate>,
    /// Rates at which it has too few samples for a verdict, the lowest first.
    pub unjudged: Vec<u64>,
}

/// A line for each row.
pub(super) fn knees(page: &mut Page, limit_ns: f64, findings: &[SweepFinding]) {
    page.line("", "");
    page.line(BOLD, &format!("the highest rate with a p99 below {}", duration(limit_ns)));
    for finding in findings {
        page.wrapped("", "  ", &format!("{}: {}", names::alone(&finding.row), answer(finding)));
    }
    if findings.is_empty() {
        page.wrapped("", "  ", "no row was measured at a rate");
    }
}

fn answer(finding: &SweepFinding) -> String {
    let Some(knee) = knee(finding) else { return "not known: too few samples".into() };
    let ends = [finding.holds, finding.fails].into_iter().flatten();
    let uncertain = ends.filter(|point| !point.is_certain).map(|point| point.per_second);
    let uncertain = named("; not certain at ", uncertain);
    knee + &uncertain + &named("; too few samples at ", finding.unjudged.iter().copied())
}

/// Rates with a text before them; nothing if there are none.
fn named(text: &str, rates: impl Iterator<Item = u64>) -> String {
    let rates: Vec<String> = rates.map(rate).collect();
    if rates.is_empty() { String::new() } else { format!("{text}{}", rates.join(", ")) }
}

/// The answer without what is not certain; none if no rate has one.
fn knee(SweepFinding { holds, fails, unjudged, .. }: &SweepFinding) -> Option<String> {
    let has_failed = |point: &JudgedRate| point.verdict == LimitVerdict::Failed;
    Some(match (holds, fails) {
        (Some(holds), Some(fails)) if has_failed(fails) => {
            format!("{}; at {} it failed", of(holds), of(fails))
        }
        (Some(holds), Some(fails)) => format!("{}, and no longer at {}", of(holds), of(fails)),
        (Some(holds), None) if unjudged.iter().any(|rate| *rate > holds.per_second) => {
            format!("{}, the highest with enough samples", of(holds))
        }
        (Some(holds), None) => format!("{}, the highest that was measured", of(holds)),
        (None, Some(fails)) if has_failed(fails) => {
            format!("not known: it failed at {}", of(fails))
        }
        (None, Some(fails)) => format!("below {}, the lowest that was measured", of(fails)),
        (None, None) => return None,
    })
}

fn of(point: &JudgedRate) -> String {
    rate(point.per_second)
}

fn rate(per_second: u64) -> String {
    format!("{}/s", count(per_second))
}
