//! The list of the runs of a history.

use std::collections::BTreeMap;

use csv::{Terminator, WriterBuilder};
use serde_json::json;
use textwrap::core::display_width;

use super::{RunShown, SCHEMA, minute};
use crate::{
    format::Terminal,
    grid::cut,
    page::{BOLD, DIM, Page},
    plain::plain,
};

const LABELS: [&str; 6] = ["run", "date (UTC)", "commit", "label", "rows", "versions"];

/// The runs for a terminal, by machine.
pub fn runs_table(runs: &[RunShown], terminal: Terminal) -> String {
    let mut page = Page::of(terminal);
    let mut machines: BTreeMap<&str, Vec<&RunShown>> = BTreeMap::new();
    runs.iter().for_each(|run| machines.entry(&run.machine).or_default().push(run));
    let cells: BTreeMap<i64, [String; 6]> = runs.iter().map(|run| (run.run, cells(run))).collect();
    let widths: Vec<usize> = (0..LABELS.len())
        .map(|at| {
            let cells = cells.values().map(|cells| display_width(&page.shown(&cells[at])));
            cells.max().unwrap_or(0).max(LABELS[at].len())
        })
        .collect();
    for (machine, runs) in machines {
        page.wrapped(BOLD, "", &plain(machine));
        page.line(DIM, &line(&LABELS.map(String::from), &widths, page.width));
        for run in runs {
            let cells = cells[&run.run].each_ref().map(|cell| page.shown(cell).into_owned());
            let line = line(&cells, &widths, page.width);
            page.line("", &line);
        }
    }
    page.text
}

fn cells(run: &RunShown) -> [String; 6] {
    let optional = |text: &Option<String>| text.as_ref().map_or("–".into(), |text| plain(text));
    let incomplete = if run.complete { "" } else { " (incomplete)" };
    [
        run.run.to_string(),
        plain(&minute(&run.started_at)),
        cut(&optional(&run.commit), 12),
        cut(&optional(&run.label), 24),
        format!("{}{incomplete}", run.rows),
        plain(&run.versions.join(", ")),
    ]
}

fn line(cells: &[String; 6], widths: &[usize], width: usize) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, width)| {
        let blanks = " ".repeat(width.saturating_sub(display_width(cell)));
        format!("  {cell}{blanks}")
    });
    cut(padded.collect::<String>().trim_end(), width)
}

/// The runs for programs.
pub fn runs_json(runs: &[RunShown]) -> String {
    let run = |run: &RunShown| {
        json!({
            "run": run.run,
            "id": run.id,
            "started_at": run.started_at,
            "machine": run.machine,
            "commit": run.commit,
            "label": run.label,
            "versions": run.versions,
            "rows": run.rows,
            "complete": run.complete,
        })
    };
    let document = json!({ "schema": SCHEMA, "runs": runs.iter().map(run).collect::<Vec<_>>() });
    format!("{document:#}\n")
}

/// The runs for a spreadsheet.
pub fn runs_csv(runs: &[RunShown]) -> String {
    let head =
        ["run", "id", "started_at", "machine", "commit", "label", "versions", "rows", "complete"];
    let line = |run: &RunShown| {
        vec![
            run.run.to_string(),
            run.id.clone(),
            run.started_at.clone(),
            run.machine.clone(),
            run.commit.clone().unwrap_or_default(),
            run.label.clone().unwrap_or_default(),
            run.versions.join(", "),
            run.rows.to_string(),
            run.complete.to_string(),
        ]
    };
    lines(&head, runs.iter().map(line))
}

/// Lines of comma-separated values; a text that a spreadsheet would evaluate as a formula has an apostrophe before it.
pub(super) fn lines(head: &[&str], lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer =
        WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(Vec::new());
    let safe = |cell: &String| {
        let cell = plain(cell);
        match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err() {
            true => format!("'{cell}"),
            false => cell.to_string(),
        }
    };
    let mut write = |cells: Vec<String>| writer.write_record(&cells).expect("memory takes it");
    write(head.iter().map(|name| (*name).to_owned()).collect());
    lines.for_each(|line| write(line.iter().map(safe).collect()));
    let bytes = writer.into_inner().expect("memory takes it");
    String::from_utf8(bytes).expect("it was text")
}
