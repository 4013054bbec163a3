//! A sweep for a terminal: the curve of each row, and its knee.

mod cells;
mod knees;

use std::collections::BTreeMap;

use ipcmark_results::{GroupKey, Identity, Load, Row, RunResult, groups};

pub use self::knees::SweepFinding;

use self::cells::{SweepCell, aligned};
use crate::{
    columns::Scale,
    format::Terminal,
    grid::{NAMES, drawn, widest},
    names::{self, Titles},
    page::{BOLD, DIM, Page},
    plain::plain,
    remarks,
    units::{count, size},
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
    /// The limit of the p99, if there is one.
    pub limit_ns: Option<f64>,
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
    let mut signs = Signs::default();
    for rows in sheets.values() {
        signs.add(sheet(&mut page, sweep, rows, &titles));
    }
    signs.explain(&mut page);
    for unmeasured in remarks::unmeasured(&sweep.result.cases) {
        page.line("", "");
        page.line(BOLD, unmeasured.status.as_str());
        unmeasured.lines.iter().for_each(|line| page.wrapped("", "  - ", line));
    }
    for note in &sweep.result.notes {
        page.wrapped("", "note: ", &plain(note));
    }
    if let Some(limit_ns) = sweep.limit_ns {
        knees::knees(&mut page, limit_ns, &sweep.findings);
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

/// Signs that a table uses.
#[derive(Clone, Copy, Default)]
struct Signs {
    has_intervals: bool,
    has_uncertain: bool,
}

impl Signs {
    fn of(lines: &[SheetLine]) -> Self {
        let mut cells = lines.iter().flat_map(|(_, cells)| cells);
        Self {
            has_intervals: cells.clone().any(SweepCell::has_interval),
            has_uncertain: cells.any(|cell| cell.is_uncertain),
        }
    }

    fn add(&mut self, other: Self) {
        self.has_intervals |= other.has_intervals;
        self.has_uncertain |= other.has_uncertain;
    }

    fn explain(self, page: &mut Page) {
        let meanings = [(self.has_intervals, INTERVAL), (self.has_uncertain, UNCERTAIN)];
        let used = meanings.iter().filter(|(is_used, _)| *is_used).map(|(_, meaning)| *meaning);
        let text = used.collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            page.line("", "");
            page.wrapped("", "", &text);
        }
    }
}

const INTERVAL: &str = "±: half the 95 % interval, from the differences between trials.";
const UNCERTAIN: &str =
    "?: its interval contains the limit, or it has none: on which side it lies is not certain.";

/// A line of a sheet: its name, and a cell for each point.
type SheetLine = (String, Vec<SweepCell>);

/// Draws a sheet, and returns the signs in it.
fn sheet(page: &mut Page, sweep: &SweepShown, rows: &[Row], titles: &Titles) -> Signs {
    let over = sweep.over;
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
    let lines = lines(sweep, rows, &points, scale);
    let columns = (0..points.len())
        .map(|at| aligned(&lines.iter().map(|(_, cells)| &cells[at]).collect::<Vec<_>>()));
    let columns: Vec<Vec<String>> = columns.collect();
    let names = widest(NAMES, lines.iter().map(|(name, _)| name));
    let width = |at: usize| widest(&points[at].1, columns[at].iter());
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
        let cells = lines.iter().enumerate().map(|(line, (name, _))| {
            let texts = columns[from..to].iter().map(|column| column[line].clone());
            std::iter::once(name.clone()).chain(texts).collect()
        });
        for (at, line) in drawn(&labels, cells, &widths, GAP).iter().enumerate() {
            let line = page.shown(line).into_owned();
            page.line(if at == 0 { DIM } else { "" }, &line);
        }
        from = to;
    }
    Signs::of(&lines)
}

/// The lines of a sheet.
fn lines(
    sweep: &SweepShown,
    rows: &[Row],
    points: &[(u64, String)],
    scale: Scale,
) -> Vec<SheetLine> {
    let mut by_name: BTreeMap<String, Vec<Option<&Row>>> = BTreeMap::new();
    for row in rows {
        let place = point(sweep.over, &row.case.identity);
        let at = points.iter().position(|point| *point == place).unwrap_or(0);
        let name = names::transport(&row.case.identity);
        by_name.entry(name).or_insert_with(|| vec![None; points.len()])[at] = Some(row);
    }
    let time = |q: f64, limit: Option<f64>| {
        move |row: &Row| {
            let figure = row.percentile(q)?;
            Some(SweepCell::new(scale.trip(figure.value), figure, limit))
        }
    };
    let rate = |row: &Row| {
        let rate = count(row.messages_per_second()?.round() as u64);
        Some(SweepCell::new(rate, row.location()?, None))
    };
    let is_stream = rows[0].case.identity.pattern.is_stream();
    let mut lines = Vec::new();
    for (name, rows) in &by_name {
        if is_stream {
            lines.push((name.clone(), cells(rows, rate)));
        } else {
            lines.push((format!("{name} p50"), cells(rows, time(0.5, None))));
            lines.push((format!("{name} p99"), cells(rows, time(0.99, sweep.limit_ns))));
        }
    }
    lines
}

fn cells(rows: &[Option<&Row>], figure: impl Fn(&Row) -> Option<SweepCell>) -> Vec<SweepCell> {
    rows.iter().map(|row| row.and_then(&figure).unwrap_or_default()).collect()
}
