//! A comparison for people: a head, a table a group, the rows that were not compared, and a summary line.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_results::{
    Change, Difference, GroupKey, Identity, PairedGroup, RowPair, stats::Interval,
};
use textwrap::core::display_width;

use super::{ComparedSides, counts, needed, why};
use crate::{
    columns::Scale,
    format::Terminal,
    grid::{NAMES, cut, drawn, widest},
    names::{self, Titles},
    obstacles,
    page::{BOLD, DIM, Page, RED},
    plain::plain,
    units::{align_points, count, duration, figure, size},
};

/// The labels; columns with the highest ranks are left out first if the table is too wide.
const LABELS: [(&str, u8); 7] = [
    (NAMES, 0),
    ("base", 3),
    ("new", 2),
    ("ratio", 0),
    ("95 % interval", 4),
    ("verdict", 0),
    ("needs", 1),
];

/// Why the ratio is not the quotient of the columns beside it.
const RATIO_OF_PAIRS: &str = "the middle of the ratios of all pairs (Hodges and Lehmann); base and new are means, which \
    one bad pair moves further";

/// Blanks before each column.
const GAP: usize = 2;

/// The comparison for a terminal.
pub fn comparison_table(sides: &ComparedSides, terminal: Terminal) -> String {
    let (mut page, change) = (Page::of(terminal), sides.change);
    head(&mut page, sides);
    groups(&mut page, change);
    unpaired(&mut page, change);
    page.line("", "");
    let slower = counts(change)[0] > 0;
    page.wrapped(if slower { RED } else { BOLD }, "", &summary(change));
    page.text
}

fn head(page: &mut Page, sides: &ComparedSides) {
    let change = sides.change;
    let mut facts = vec![("base".into(), plain(&sides.base)), ("new".into(), plain(&sides.new))];
    facts.extend(change.differences.iter().map(difference));
    if let Some(floor_ns) = change.floor_ns {
        let at = format!("rows are compared at {} a bare round trip", duration(floor_ns));
        facts.push(("distance".into(), at));
    }
    if change.is_paired && change.pairs().next().is_some() {
        facts.push(("ratio".into(), RATIO_OF_PAIRS.into()));
    }
    let width = widest("", facts.iter().map(|(name, _)| name)).min(page.width / 3);
    page.line(BOLD, if change.is_paired { "two plans in turns" } else { "result files" });
    for (name, fact) in facts {
        let name = cut(&name, width);
        let blanks = " ".repeat(width - display_width(&name).min(width));
        page.wrapped("", &format!("  {name}{blanks}  "), &fact);
    }
    for obstacle in &change.obstacles {
        page.wrapped(BOLD, "cannot tell: ", &format!("{}.", obstacles::sentence(obstacle)));
    }
    for note in sides.warnings() {
        page.wrapped("", "note: ", &plain(&note));
    }
}

/// A setting in which the sides differ: `tcp options`, `buffer=1 → defaults`.
fn difference(difference: &Difference) -> (String, String) {
    let none = if difference.setting.ends_with("options") { "defaults" } else { "none" };
    let words = |values: &BTreeSet<String>| match values.is_empty() {
        true => none.into(),
        false => values.iter().map(|value| plain(value)).collect::<Vec<_>>().join("; "),
    };
    (
        plain(&difference.setting),
        format!("{} → {}", words(&difference.base), words(&difference.new)),
    )
}

fn groups(page: &mut Page, change: &Change) {
    let sheets: Vec<Vec<Vec<String>>> =
        change.groups.iter().map(|group| columns(change, group)).collect();
    let all = (0..LABELS.len()).filter(|at| *at + 1 < LABELS.len() || has_needs(&sheets));
    let (shown, widths) = fitted(all.collect(), &sheets, page.width);
    let titles = Titles::of_rows(change.pairs().map(|pair| &pair.base.case.identity));
    let labels: Vec<&str> = shown.iter().map(|at| LABELS[*at].0).collect();
    for (group, sheet) in change.groups.iter().zip(&sheets) {
        page.line("", "");
        page.title(&titles.title(&group.group), &scale(group).caption());
        let row = |row: usize| shown.iter().map(|at| cell(sheet, *at, row, widths[0])).collect();
        let lines = drawn(&labels, (0..group.pairs.len()).map(row), &widths, GAP);
        for (at, line) in lines.iter().enumerate() {
            page.line(if at == 0 { DIM } else { "" }, line);
        }
    }
}

fn cell(sheet: &[Vec<String>], column: usize, row: usize, names: usize) -> String {
    let cell = &sheet[column][row];
    if column == 0 { cut(cell, names) } else { cell.clone() }
}

/// True if any row needs more pairs or runs.
fn has_needs(sheets: &[Vec<Vec<String>>]) -> bool {
    sheets.iter().filter_map(|sheet| sheet.last()).flatten().any(|cell| !cell.is_empty())
}

/// The columns that fit, with their widths; as a last resort the names are cut.
fn fitted(
    mut shown: Vec<usize>,
    sheets: &[Vec<Vec<String>>],
    room: usize,
) -> (Vec<usize>, Vec<usize>) {
    let width = |at: &usize| widest(LABELS[*at].0, sheets.iter().flat_map(|sheet| &sheet[*at]));
    loop {
        let mut widths: Vec<usize> = shown.iter().map(width).collect();
        let total: usize = widths.iter().map(|width| width + GAP).sum();
        let last = shown.iter().copied().max_by_key(|at| LABELS[*at].1).unwrap_or(0);
        if total <= room || LABELS[last].1 == 0 {
            widths[0] -= total.saturating_sub(room).min(widths[0]);
            return (shown, widths);
        }
        shown.retain(|at| *at != last);
    }
}

fn scale(group: &PairedGroup) -> Scale {
    Scale::of_times(&group.group.key, group.times())
}

/// The cells of a group, column by column.
fn columns(change: &Change, group: &PairedGroup) -> Vec<Vec<String>> {
    let scale = scale(group);
    let time = |ns: Option<f64>| ns.map_or_else(|| "–".into(), |ns| scale.trip(ns));
    let column = |cell: &dyn Fn(&RowPair) -> String| -> Vec<String> {
        group.pairs.iter().map(cell).collect()
    };
    let mut columns = vec![
        column(&|pair| name(pair)),
        column(&|pair| time(pair.base_ns)),
        column(&|pair| time(pair.new_ns)),
        column(&|pair| pair.ratio().map_or_else(|| "–".into(), figure)),
        column(&interval),
        column(&|pair| names::verdict(&pair.comparison).into()),
        column(&|pair| needs(change, pair)),
    ];
    columns[1..4].iter_mut().for_each(|cells| align_points(cells));
    columns
}

/// The transport; if its settings differ between the sides, they are in the head instead.
fn name(pair: &RowPair) -> String {
    let (base, new) = (&pair.base.case.identity, &pair.new.case.identity);
    match (base.options == new.options, GroupKey::of(base).payload) {
        (true, _) => names::row(&pair.base),
        (false, Some(_)) => plain(&base.transport),
        (false, None) => format!("{} {}", plain(&base.transport), size(base.payload_bytes)),
    }
}

fn interval(pair: &RowPair) -> String {
    let bounds = |ratio: Interval| format!("{} to {}", figure(ratio.low), figure(ratio.high));
    pair.comparison.ratio.map_or_else(|| "–".into(), bounds)
}

fn needs(change: &Change, pair: &RowPair) -> String {
    let unit = if change.is_paired { "pairs" } else { "runs" };
    let needed = needed(change, &pair.comparison);
    needed.map_or_else(String::new, |needed| format!("{} {unit}", count(needed as u64)))
}

fn unpaired(page: &mut Page, change: &Change) {
    let mut lines: BTreeMap<(bool, String), Vec<&Identity>> = BTreeMap::new();
    for unpaired in &change.unpaired {
        lines.entry(why(unpaired)).or_default().push(unpaired.identity);
    }
    if !lines.is_empty() {
        page.line("", "");
        page.line(BOLD, "not compared");
    }
    for ((_, why), identities) in lines {
        let names: Vec<String> = identities.into_iter().map(names::alone).collect();
        page.wrapped("", "  - ", &format!("{}: {why}", names.join(", ")));
    }
}

/// `12 rows: 1 slower, 2 faster, 5 the same; 4 cannot tell`.
fn summary(change: &Change) -> String {
    let [slower, faster, same, cannot_tell] = counts(change);
    let words = match change.pairs().count() {
        0 => return "no row was measured on both sides".into(),
        1 => "1 row".into(),
        rows => format!("{} rows", count(rows as u64)),
    };
    format!("{words}: {slower} slower, {faster} faster, {same} the same; {cannot_tell} cannot tell")
}
