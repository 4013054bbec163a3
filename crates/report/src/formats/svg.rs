//! A card of 1200 × 630 to share: the machine, and the fastest rows of the smallest payload, spinning and sleeping.

use ipcmark_results::{Best, Pattern, Row, RunResult, Wait, best, groups};

use crate::{
    columns::Scale,
    findings::{findings, suspect},
    format::Format,
    names,
    plain::markup,
    units::{duration, size},
};

const WIDTH: usize = 1200;
const HEIGHT: usize = 630;

/// Rows of a panel.
const ROWS: usize = 9;

/// The height of a row, and the widths of its name and of its bar.
const STEP: usize = 42;
const NAME: usize = 210;
const BAR: usize = 230;

/// The longest name that fits, in characters.
const LONGEST: usize = 22;

/// The longest line below the panels, in characters.
const LONGEST_LINE: usize = 126;

fn card(result: &RunResult) -> String {
    let best = best(result);
    let panels: Vec<&Best> = [Wait::Spin, Wait::Block]
        .into_iter()
        .filter_map(|wait| {
            let fits = |best: &&Best| {
                let key = best.group.key;
                key.pattern == Pattern::Latency && key.wait == wait && key.payload.is_some()
            };
            best.iter().filter(fits).min_by_key(|best| best.group.key)
        })
        .collect();
    let mut card = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
        height=\"{HEIGHT}\" \
         font-family=\"system-ui, sans-serif\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#10161d\"/>\n"
    );
    card += &text(48, 64, 40, "#ffffff", "ipcmark: how long a hop between two processes takes");
    card += &text(48, 102, 24, "#9fb0c0", &result.environment.cpu_model);
    if panels.is_empty() {
        let nothing = "the result has no round trips between processes: see its table";
        card += &text(48, 200, 26, "#ffffff", nothing);
    }
    for (at, best) in panels.iter().enumerate() {
        card += &panel(best, 48 + at * 576);
    }
    for (at, (ink, words)) in foot(result, !panels.is_empty()).iter().enumerate() {
        card += &text(48, HEIGHT - 60 + at * 24, 17, ink, &short(words, LONGEST_LINE));
    }
    card + "</svg>\n"
}

/// The lines below the panels, each with its colour: what the green is, and what the machine did.
fn foot(result: &RunResult, has_panels: bool) -> Vec<(&'static str, String)> {
    let first = "green: the fastest, and those tied with it".to_owned();
    let machine = findings(result).into_iter().find(|found| found.question == "machine");
    // There are no findings where every table has one row, which can be suspect nevertheless.
    let suspect = suspect(&groups(result));
    let lines = [
        has_panels.then_some(("#4ade9d", first)),
        machine.map(|machine| ("#9fb0c0", machine.answer)),
        suspect.map(|suspect| ("#fbbf24", format!("suspect: {}", suspect.answer))),
    ];
    lines.into_iter().flatten().collect()
}

/// The fastest rows of one kind of wait, a bar each.
fn panel(best: &Best, x: usize) -> String {
    let scale = Scale::of(&best.group);
    let key = best.group.key;
    let payload = key.payload.map_or_else(String::new, |(bytes, _)| size(bytes));
    let waits = if key.wait == Wait::Spin { "spinning" } else { "sleeping" };
    let title = format!("{payload}, {waits} · {}", scale.what());
    let mut panel = text(x, 152, 26, "#ffffff", &title);
    let time = |row: &Row| row.location().map(|figure| figure.value * scale.factor());
    // A row that should sleep and hardly did has no rank among those that do.
    let ranked = best.group.rows.iter().filter(|row| row.rank.is_some());
    let mut rows: Vec<(f64, &Row)> = ranked.filter_map(|row| Some((time(row)?, row))).collect();
    rows.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    rows.truncate(ROWS);
    let longest = rows.last().map_or(1.0, |(time, _)| *time).max(f64::MIN_POSITIVE);
    for (at, (time, row)) in rows.iter().enumerate() {
        let y = 176 + at * STEP;
        let length = (time / longest * BAR as f64).max(2.0);
        let is_first = row.rank.is_some_and(|rank| rank.number == 1);
        let ink = if is_first { "#4ade9d" } else { "#7cb0ff" };
        let name = short(&names::transport(&row.case.identity), LONGEST);
        panel += &text(x, y + 24, 20, "#e5ebf1", &name);
        panel += &format!(
            "<rect x=\"{}\" y=\"{y}\" width=\"{length:.1}\" height=\"{}\" rx=\"4\" fill=\"{ink}\"/>\n",
            x + NAME,
            STEP - 10
        );
        let end = x + NAME + length as usize + 10;
        panel += &text(end, y + 24, 20, "#e5ebf1", &duration(*time));
    }
    panel
}

/// The text, cut if it is too long.
fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

fn text(x: usize, y: usize, size: usize, ink: &str, words: &str) -> String {
    let words = markup(words);
    format!("<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{ink}\">{words}</text>\n")
}

/// A card to share.
pub(super) const FORMAT: Format = Format {
    name: "svg",
    summary: "a card of 1200 × 630 to share: the fastest rows, spinning and sleeping",
    for_terminals: false,
    for_programs: true,
    one_row: false,
    text: |result, _| Ok(card(result)),
};
