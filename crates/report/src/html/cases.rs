//! The table of all cases: the groups of the other formats, then what was not measured.

use std::collections::BTreeMap;

use ipcmark_results::{Case, RunResult, Status};
use serde::Serialize;

use crate::{
    columns::{Column, Scale},
    plain::plain,
    rows::{self, Group, Row},
    units,
};

/// One block of rows under a heading of its own.
#[derive(Serialize)]
pub struct Block {
    /// What its rows have in common.
    title: String,
    /// What its times are; empty where nothing was measured.
    caption: String,
    rows: Vec<Line>,
    losses: Vec<String>,
}

/// One row, with what it can be found by.
#[derive(Serialize)]
struct Line {
    name: String,
    traits: Traits,
    /// One cell a column; none where it was not measured.
    cells: Vec<String>,
    /// The case and why it was not measured.
    reason: String,
}

/// What the rows can be filtered by.
#[derive(Serialize)]
struct Traits {
    file: usize,
    pattern: String,
    payload: String,
    wait: String,
    touch: String,
    family: String,
    status: &'static str,
}

impl Traits {
    fn of(file: usize, case: &Case) -> Self {
        Self {
            file,
            pattern: plain(&case.pattern),
            payload: units::size(case.payload_bytes),
            wait: plain(&case.wait),
            touch: plain(&case.touch),
            family: plain(&case.family),
            status: case.status.as_str(),
        }
    }
}

/// All rows of a file.
pub fn blocks(file: usize, result: &RunResult, columns: &[&Column]) -> Vec<Block> {
    let groups = rows::groups(result);
    let mut blocks: Vec<Block> = groups.iter().map(|group| block(file, group, columns)).collect();
    for status in [Status::Failed, Status::Unsupported, Status::Unavailable] {
        let rows = unmeasured(file, result, status);
        if !rows.is_empty() {
            let (title, caption) = (status.to_string(), String::new());
            blocks.push(Block { title, caption, rows, losses: Vec::new() });
        }
    }
    blocks
}

fn block(file: usize, group: &Group, columns: &[&Column]) -> Block {
    let scale = Scale::of(group);
    let cells: Vec<Vec<String>> = columns.iter().map(|column| column.cells(group, scale)).collect();
    let line = |(at, row): (usize, &Row)| Line {
        name: row.marked_name(),
        traits: Traits::of(file, row.cases[0]),
        cells: cells.iter().map(|column| column[at].trim_end().into()).collect(),
        reason: String::new(),
    };
    Block {
        title: group.title.clone(),
        caption: scale.caption(),
        rows: group.rows.iter().enumerate().map(line).collect(),
        losses: group.rows.iter().flat_map(Row::footnotes).collect(),
    }
}

/// The cases with this status; trials that ended alike share a row.
fn unmeasured(file: usize, result: &RunResult, status: Status) -> Vec<Line> {
    let mut found: BTreeMap<_, (&Case, usize)> = BTreeMap::new();
    for case in result.cases.iter().filter(|case| case.status == status) {
        let reason = plain(case.reason.as_deref().unwrap_or("no reason was given"));
        let name = rows::transport_of(case);
        let key = (name, case.payload_bytes, case.wait.as_str(), case.touch.as_str(), reason);
        found.entry(key).or_insert((case, 0)).1 += 1;
    }
    let lines = found.into_iter().map(|((name, _, _, _, reason), (case, trials))| Line {
        name,
        traits: Traits::of(file, case),
        cells: Vec::new(),
        reason: format!("{}: {reason}", extent(case, trials)),
    });
    lines.collect()
}

fn extent(case: &Case, trials: usize) -> String {
    let size = units::size(case.payload_bytes);
    let mut parts = vec![plain(&case.pattern), size, plain(&case.wait)];
    if case.touch != "head" {
        parts.push(format!("touch {}", plain(&case.touch)));
    }
    if trials > 1 {
        parts.push(format!("{trials} trials"));
    }
    parts.join(" · ")
}
