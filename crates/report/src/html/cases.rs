//! The table of all cases: the groups of the other formats, then the cases that were not measured.

use ipcmark_results::{Case, Group, Identity, Row, RunResult, Status, Touch};
use serde::Serialize;

use crate::{
    columns::{Column, Scale},
    footnotes,
    levels::levels,
    names::{self, Titles},
    plain::plain,
    remarks::{UNMEASURED, reason},
    units,
};

/// One block of rows under its own heading.
#[derive(Serialize)]
pub struct RowGroup {
    /// The title of the group, or the status.
    title: String,
    /// The unit and kind of its times; empty if nothing was measured.
    caption: String,
    rows: Vec<CaseRow>,
    footnotes: Vec<String>,
}

/// One row, with the properties by which it can be found.
#[derive(Serialize)]
struct CaseRow {
    name: String,
    traits: Traits,
    /// One cell a column; empty if it was not measured.
    cells: Vec<String>,
    /// The case and the reason why it was not measured.
    reason: String,
}

/// The properties by which rows can be filtered.
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
        let identity = &case.identity;
        Self {
            file,
            pattern: identity.pattern.to_string(),
            payload: units::size(identity.payload_bytes),
            wait: identity.wait.to_string(),
            touch: identity.touch.to_string(),
            family: plain(&identity.family),
            status: case.status().as_str(),
        }
    }
}

/// All rows of a file.
pub fn blocks(file: usize, result: &RunResult, columns: &[&Column]) -> Vec<RowGroup> {
    let titles = Titles::of(result);
    let mut blocks: Vec<RowGroup> = Vec::new();
    for level in levels(result) {
        let groups = level.groups.iter();
        let title = |group| level.titled(titles.title(group));
        blocks.extend(groups.map(|group| block(file, group, title(group), columns)));
    }
    for status in UNMEASURED {
        let rows = unmeasured(file, result, status);
        if !rows.is_empty() {
            let (title, caption) = (status.to_string(), String::new());
            blocks.push(RowGroup { title, caption, rows, footnotes: Vec::new() });
        }
    }
    blocks
}

fn block(file: usize, group: &Group, title: String, columns: &[&Column]) -> RowGroup {
    let scale = Scale::of(group);
    let cells: Vec<Vec<String>> = columns.iter().map(|column| column.cells(group, scale)).collect();
    let line = |(at, row): (usize, &Row)| CaseRow {
        name: names::marked(row),
        traits: Traits::of(file, row.case),
        cells: cells.iter().map(|column| column[at].trim_end().into()).collect(),
        reason: String::new(),
    };
    RowGroup {
        title,
        caption: scale.caption(),
        rows: group.rows.iter().enumerate().map(line).collect(),
        footnotes: footnotes::of(group),
    }
}

/// The cases with this status.
fn unmeasured(file: usize, result: &RunResult, status: Status) -> Vec<CaseRow> {
    let line = |case: &Case| CaseRow {
        name: names::transport(&case.identity),
        traits: Traits::of(file, case),
        cells: Vec::new(),
        reason: format!("{}: {}", extent(&case.identity), reason(case)),
    };
    let mut lines: Vec<CaseRow> =
        result.cases.iter().filter(|case| case.status() == status).map(line).collect();
    lines.sort_by(|a, b| (&a.name, &a.reason).cmp(&(&b.name, &b.reason)));
    lines
}

fn extent(identity: &Identity) -> String {
    let size = units::size(identity.payload_bytes);
    let touch = match identity.touch {
        Touch::Head => String::new(),
        touch => format!(" · touch {touch}"),
    };
    format!("{} · {size} · {}{touch}", identity.pattern, identity.wait)
}
