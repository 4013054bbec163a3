//! The diagnosis as a block of Markdown for a bug report. It contains no names of hosts, users, programs or
//! directories.

use std::fmt::Write;

use ipcmark_machine::{facts::Finding, hiccups::Hiccups};
use ipcmark_report::{duration, plain};

use super::{diagnosis::Diagnosis, examination::MeasuredPair, table::questions};
use crate::distances::percent;

/// The block, without the last line break.
pub(super) fn issue(diagnosis: &Diagnosis) -> String {
    let mut text = String::from("<details>\n<summary>ipcmark doctor ");
    let _ = write!(text, "{}: {}", env!("CARGO_PKG_VERSION"), diagnosis.verdict.sentence());
    text += "</summary>\n\n";
    text += &distances(diagnosis);
    text += &hiccups(diagnosis);
    text += &facts(diagnosis);
    text + "</details>"
}

fn distances(diagnosis: &Diagnosis) -> String {
    let line = |pair: &MeasuredPair| {
        row(&[
            format!("cpu {} – cpu {}", pair.cpus.0, pair.cpus.1),
            pair.relation.to_string(),
            pair.division.words(),
            format!("{:.1}", pair.division.changes_per_second),
            format!("`{}`", pair.division.over_time),
        ])
    };
    let head = ["processors", "they share", "distances", "changes a second", "over time"];
    let pairs = diagnosis.examination.iter().flat_map(|examination| &examination.pairs);
    table(&head, pairs.map(line))
}

fn hiccups(diagnosis: &Diagnosis) -> String {
    let line = |hiccups: &Hiccups| {
        let counts = hiccups.gaps.map(|gaps| gaps.count.to_string());
        let start = [format!("cpu {}", hiccups.cpu)];
        let end = [duration(hiccups.longest_ns as f64), percent(hiccups.share())];
        row(&[&start[..], &counts, &end].concat())
    };
    let head = ["hiccups", "> 1 µs", "> 10 µs", "> 100 µs", "longest", "of the time"];
    let hiccups = diagnosis.examination.iter().flat_map(|examination| &examination.hiccups);
    table(&head, hiccups.map(line))
}

fn facts(diagnosis: &Diagnosis) -> String {
    let line = |finding: &Finding| {
        let effect = finding.effect.as_ref();
        let effect =
            effect.map(|effect| format!("{}: {}", effect.weight, questions(effect.questions)));
        row(&[finding.name.to_owned(), cell(&finding.value), effect.unwrap_or_default()])
    };
    table(&["fact", "value", "effect"], diagnosis.findings.iter().map(line))
}

/// A table, or nothing if it has no lines.
fn table(head: &[&str], lines: impl Iterator<Item = String>) -> String {
    let lines: String = lines.collect();
    let rule = vec!["---"; head.len()];
    match lines.is_empty() {
        true => String::new(),
        false => format!("| {} |\n| {} |\n{lines}\n", head.join(" | "), rule.join(" | ")),
    }
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The text with Markdown's special characters escaped.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    for char in plain(text).chars() {
        if "\\`*_[]<>|#~&@".contains(char) {
            cell.push('\\');
        }
        cell.push(char);
    }
    cell
}
