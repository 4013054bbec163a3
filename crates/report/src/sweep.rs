//! A sweep for a terminal: the curve of each row, and its knee.

mod knees;

use std::collections::BTreeMap;

use ipcmark_results::{GroupKey, Identity, Load, Row, RunResult, groups};

pub use self::knees::SweepFinding;

use crate::{
    columns::Scale,
    format::Terminal,
    grid::{NAMES, drawn, widest},
    names::{self, Titles},
    page::{BOLD, DIM, Page},
    plain::plain,
    remarks,
    units::{align_points, count, size},
};

/// The property that was varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// Rates, or pauses.
    Load,
    /// Payloads.
    Payload,
    /// Numbers of followers.
    Subscribers,
    /// Numbers of pairs.
    Pairs,
}

/// A sweep.
pub struct SweepShown<'a> {
    /// The result of all measurements.
    pub result: &'a RunResult,
    /// The property that was varied.
    pub over: Swept,
    /// The limit of the p99 as text, if there is one.
    pub limit: Option<String>,
    /// The knees that were found.
    pub findings: Vec<SweepFinding>,
}

/// Blanks before each column.
const GAP: usize = 2;

/// The sweep for a terminal.
pub fn sweep_table(sweep: &SweepShown, terminal: Terminal) -> String {
    let mut page = Page::of(terminal);
    page.wrapped(BOLD, "", &remarks::heading(sweep.result));
    for (name, fact) in remarks::facts(sweep.result) {
        page.wrapped("", &format!("  {name:<10}  "), &fact);
    }
    let groups = groups(sweep.result);
    let mut sheets: BTreeMap<GroupKey, Vec<Row>> = BTreeMap::new();
    // The effect of a load, or of another pair, on the machine and its distances is a part of the answer.
    for row in groups.iter().flat_map(|group| &group.rows) {
        let key = sheet_of(sweep.over, GroupKey::of(&row.case.identity));
        let changes_machine = matches!(sweep.over, Swept::Load | Swept::Pairs);
        let seen = if changes_machine { row.overall() } else { *row };
        sheets.entry(key).or_default().push(seen);
    }
    let titles = Titles::of(sweep.result);
    for rows in sheets.values() {
        sheet(&mut page, sweep.over, rows, &titles);
    }
    for unmeasured in remarks::unmeasured(&sweep.result.cases) {
        page.line("", "");
        page.line(BOLD, unmeasured.status.as_str());
        unmeasured.lines.iter().for_each(|line| page.wrapped("", "  - ", line));
    }
    for note in &sweep.result.notes {
        page.wrapped("", "note: ", &plain(note));
    }
    if let Some(limit) = &sweep.limit {
        knees::knees(&mut page, limit, &sweep.findings);
    }
    page.text
}

/// The properties that the rows of a sheet share: all but the varied one.
fn sheet_of(over: Swept, key: GroupKey) -> GroupKey {
    match over {
        Swept::Load => GroupKey { load: Load::Closed, ..key },
        Swept::Payload => GroupKey { payload: key.payload.map(|(_, touch)| (0, touch)), ..key },
        Swept::Subscribers => GroupKey { subscribers: 0, silent_subscribers: 0, ..key },
        Swept::Pairs => GroupKey { pairs: 1, ..key },
    }
}

/// A point of the sweep: its sort key and its text.
fn point(over: Swept, identity: &Identity) -> (u64, String) {
    match over {
        Swept::Load => match identity.load {
            Load::Closed => (0, "closed".into()),
            Load::Interval { pause_ns } => {
                (pause_ns, identity.load.to_string().replace("interval ", ""))
            }
            Load::Rate { per_second, .. } => (per_second, format!("{}/s", count(per_second))),
            Load::Trace { messages, .. } => (messages, identity.load.to_string()),
        },
        Swept::Payload => (identity.payload_bytes, size(identity.payload_bytes)),
        Swept::Subscribers => (u64::from(identity.subscribers), identity.subscribers.to_string()),
        Swept::Pairs => (u64::from(identity.pairs), identity.pairs.to_string()),
    }
}

/// The properties that the rows of a sheet share, as text.
fn title(key: &GroupKey, over: Swept, titles: &Titles) -> String {
    let mut parts = vec![key.pattern.to_string()];
    if over != Swept::Payload {
        parts.extend(titles.payload(key));
    }
    if over != Swept::Load {
        parts.extend(names::load(key.load));
    }
    if over != Swept::Subscribers {
        parts.extend(names::followers(key.pattern, key.subscribers, key.silent_subscribers));
    }
    if over != Swept::Pairs {
        parts.extend(names::pairs(key.pairs));
    }
    parts.push(key.wait.to_string());
    parts.join(" · ")
}

fn sheet(page: &mut Page, over: Swept, rows: &[Row], titles: &Titles) {
    let key = GroupKey::of(&rows[0].case.identity);
    let mut points: Vec<(u64, String)> =
        rows.iter().map(|row| point(over, &row.case.identity)).collect();
    points.sort();
    points.dedup();
    let times = rows.iter().flat_map(|row| [row.percentile(0.5), row.percentile(0.99)]);
    let scale = Scale::of_times(&key, times.flatten().map(|figure| figure.value));
    page.line("", "");
    let title = title(&key, over, titles);
    match key.pattern.is_stream() {
        true => page.title(&title, "messages a second"),
        false => page.title(&title, &format!("{}: p50 and p99", scale.caption())),
    }
    let lines = lines(over, rows, &points, scale);
    let names = widest(NAMES, lines.iter().map(|(name, _)| name));
    let width = |at: usize| widest(&points[at].1, lines.iter().map(|(_, cells)| &cells[at]));
    let mut from = 0;
    while from < points.len() {
        let (mut to, mut total) = (from, names + GAP);
        while to < points.len() && (to == from || total + width(to) + GAP <= page.width) {
            total += width(to) + GAP;
            to += 1;
        }
        let labels = points[from..to].iter().map(|(_, words)| words.as_str());
        let labels: Vec<&str> = std::iter::once(NAMES).chain(labels).collect();
        let widths: Vec<usize> = std::iter::once(names).chain((from..to).map(width)).collect();
        let cells = lines.iter().map(|(name, cells)| {
            std::iter::once(name.clone()).chain(cells[from..to].iter().cloned()).collect()
        });
        for (at, line) in drawn(&labels, cells, &widths, GAP).iter().enumerate() {
            let line = page.shown(line).into_owned();
            page.line(if at == 0 { DIM } else { "" }, &line);
        }
        from = to;
    }
}

/// The lines of a sheet: a name, and a cell a point.
fn lines(
    over: Swept,
    rows: &[Row],
    points: &[(u64, String)],
    scale: Scale,
) -> Vec<(String, Vec<String>)> {
    let mut by_name: BTreeMap<String, Vec<Option<&Row>>> = BTreeMap::new();
    for row in rows {
        let place = point(over, &row.case.identity);
        let at = points.iter().position(|point| *point == place).unwrap_or(0);
        let name = names::transport(&row.case.identity);
        by_name.entry(name).or_insert_with(|| vec![None; points.len()])[at] = Some(row);
    }
    let time = |q: f64| move |row: &Row| row.percentile(q).map(|figure| scale.trip(figure.value));
    let rate = |row: &Row| row.messages_per_second().map(|rate| count(rate.round() as u64));
    let is_stream = rows[0].case.identity.pattern.is_stream();
    let mut lines = Vec::new();
    for (name, rows) in &by_name {
        if is_stream {
            lines.push((name.clone(), cells(rows, rate)));
        } else {
            lines.push((format!("{name} p50"), cells(rows, time(0.5))));
            lines.push((format!("{name} p99"), cells(rows, time(0.99))));
        }
    }
    lines
}

fn cells(rows: &[Option<&Row>], figure: impl Fn(&Row) -> Option<String>) -> Vec<String> {
    let cell = |row: &Option<&Row>| row.and_then(&figure).unwrap_or_else(|| "–".into());
    let mut cells: Vec<String> = rows.iter().map(cell).collect();
    for cell in &mut cells {
        align_points(std::slice::from_mut(cell));
        *cell = cell.trim_end().into();
    }
    cells
}
