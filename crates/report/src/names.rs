//! Names of rows and titles of groups.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_results::{
    Arrivals, Between, Group, Identity, Key, Load, Pattern, Row, RunResult, Span, Touch, caveats,
    stats::{Comparison, Verdict},
};

use crate::{caveats::sentence, plain::plain, units};

/// The name of a row: the transport with its settings, and the payload where its group has several.
pub fn row(row: &Row) -> String {
    let identity = &row.case.identity;
    match Key::of(identity).payload {
        Some(_) => transport(identity),
        None => {
            let size = size(identity.payload_bytes, identity.load);
            format!("{} {size}{}", plain(&identity.transport), settings(&identity.options))
        }
    }
}

/// The name, with a mark where there is a footnote.
pub fn marked(row: &Row) -> String {
    let name = self::row(row);
    if caveats(row).is_empty() { name } else { format!("{name} !") }
}

/// The caveats of the rows of a group: each sentence once, behind its rows.
pub fn footnotes(group: &Group) -> Vec<String> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for row in &group.rows {
        for sentence in caveats(row).iter().map(sentence) {
            match notes.iter_mut().find(|(known, _)| *known == sentence) {
                Some((_, names)) => names.push(self::row(row)),
                None => notes.push((sentence, vec![self::row(row)])),
            }
        }
    }
    let all: Vec<String> = group.rows.iter().map(self::row).collect();
    notes.iter().map(|(sentence, names)| format!("{}: {sentence}", among(names, &all))).collect()
}

/// Most rows of a table are told by those that are left out, at most so many.
const MOST_LEFT_OUT: usize = 3;

/// Some rows of a table in words: their names, or that they are all rows, or all but a few.
fn among(names: &[String], all: &[String]) -> String {
    let others: Vec<&str> =
        all.iter().filter(|name| !names.contains(name)).map(String::as_str).collect();
    match others.len() {
        0 if all.len() > 1 => "all rows".into(),
        1..=MOST_LEFT_OUT if names.len() > 2 * MOST_LEFT_OUT => {
            format!("all rows but {}", others.join(", "))
        }
        _ => names.join(", "),
    }
}

/// A row that stands alone: `tcp (latency · 64 B · all · spin)`.
pub fn alone(identity: &Identity) -> String {
    let Identity { pattern, touch, wait, .. } = identity;
    let size = size(identity.payload_bytes, identity.load);
    let others = pairs(identity.pairs).into_iter().chain(load(identity.load));
    let ends = identity.between.as_ref().map(between);
    let others: String = others.chain(ends).map(|part| format!(" · {part}")).collect();
    format!("{} ({pattern} · {size} · {touch}{others} · {wait})", transport(identity))
}

/// The transport of a case, with its settings where they are not its defaults.
pub fn transport(identity: &Identity) -> String {
    let sends = if identity.n_sends { " n-sends" } else { "" };
    format!("{}{sends}{}", plain(&identity.transport), settings(&identity.options))
}

fn settings(options: &BTreeMap<String, String>) -> String {
    let setting =
        |(option, value): (&String, &String)| format!(" {}={}", plain(option), plain(value));
    options.iter().map(setting).collect()
}

/// Several followers in words.
pub fn followers(subscribers: u32, silent: u32) -> String {
    match silent {
        0 => format!("{subscribers} subscribers"),
        _ => format!("{subscribers} subscribers, {silent} of them silent"),
    }
}

/// Several pairs in words, of which the figures are one's.
pub fn pairs(pairs: u32) -> Option<String> {
    (pairs > 1).then(|| format!("one of {pairs} pairs"))
}

/// Two ranks of a job in words: `node1/0 – node2/1`.
pub fn between(between: &Between) -> String {
    let Between { leader, follower } = between;
    plain(&format!("{leader} – {follower}"))
}

/// The way messages are offered, where it is not one after the other: `1,000/s`.
pub fn load(load: Load) -> Option<String> {
    match load {
        Load::Closed => None,
        Load::Interval { .. } => Some(load.to_string()),
        Load::Rate { per_second, arrivals: Arrivals::Fixed } => {
            Some(format!("{}/s", units::count(per_second)))
        }
        Load::Rate { per_second, .. } => Some(format!("{}/s at random", units::count(per_second))),
        Load::Trace { messages, digest, .. } => {
            Some(format!("trace {digest:08x} of {} messages", units::count(messages)))
        }
    }
}

/// The bytes of a message, or of the largest where they have sizes of their own.
fn size(payload_bytes: u64, load: Load) -> String {
    let bytes = units::size(payload_bytes);
    if load.has_sizes() { format!("up to {bytes}") } else { bytes }
}

/// The reach of a message in words, where it is not from process to process.
pub fn span(span: Span) -> Option<&'static str> {
    match span {
        Span::Process => None,
        Span::Thread => Some("one process"),
        Span::None => Some("no hop: the harness itself"),
    }
}

/// The titles of a result's groups: `latency · 64 B · spin`.
pub struct Titles {
    /// Payloads of which some case touches the head only.
    untouched: BTreeSet<u64>,
}

impl Titles {
    /// The titles of the groups of this result.
    pub fn of(result: &RunResult) -> Self {
        Self::of_rows(result.cases.iter().map(|case| &case.identity))
    }

    /// The titles of the groups of these rows.
    pub fn of_rows<'a>(rows: impl Iterator<Item = &'a Identity>) -> Self {
        let untouched = rows.filter(|identity| identity.touch == Touch::Head);
        Self { untouched: untouched.map(|identity| identity.payload_bytes).collect() }
    }

    /// The part of a title that tells a group from others between two processes: `64 B · spin`, `throughput · 64 B · spin`.
    pub fn short(&self, key: &Key) -> String {
        let pattern = (key.pattern != Pattern::Latency).then(|| key.pattern.to_string());
        let mut parts: Vec<String> = pattern.into_iter().chain(self.payload(key)).collect();
        parts.extend(pairs(key.pairs));
        parts.extend(load(key.load));
        parts.push(key.wait.to_string());
        parts.extend(key.between.map(|(leader, follower)| format!("ranks {leader} – {follower}")));
        parts.join(" · ")
    }

    /// The payload of a group, with its touch where that is not the same in all groups.
    pub fn payload(&self, key: &Key) -> Vec<String> {
        let Some((bytes, touch)) = key.payload else { return Vec::new() };
        let touch = self.untouched.contains(&bytes).then(|| format!("touch {touch}"));
        std::iter::once(size(bytes, key.load)).chain(touch).collect()
    }

    /// The title of a group.
    pub fn title(&self, group: &Group) -> String {
        let Key { pattern, span: distance, subscribers, silent_subscribers, wait, .. } = group.key;
        let pairs = pairs(group.key.pairs);
        let mut parts = vec![pattern.to_string()];
        parts.extend(self.payload(&group.key));
        if subscribers > 1 {
            parts.push(followers(subscribers, silent_subscribers));
        }
        parts.extend(pairs);
        parts.extend(load(group.key.load));
        parts.push(wait.to_string());
        parts.extend(span(distance.0).map(Into::into));
        let row = group.rows.first();
        parts.extend(row.and_then(|row| row.case.identity.between.as_ref()).map(between));
        let trials = group.rows.iter().map(|row| row.trials.len()).max().unwrap_or(1);
        if trials > 1 {
            parts.push(format!("{trials} trials"));
        }
        parts.join(" · ")
    }
}

/// The word for a verdict.
pub fn verdict(comparison: &Comparison) -> &'static str {
    match comparison.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        Verdict::CannotTell { .. } => "cannot tell",
    }
}

#[cfg(test)]
mod tests {
    use super::among;

    #[test]
    fn many_rows_are_told_by_the_few_that_are_left_out() {
        let all: Vec<String> = (0..10).map(|number| format!("row{number}")).collect();
        assert_eq!(among(&all, &all), "all rows");
        assert_eq!(among(&all[..8], &all), "all rows but row8, row9");
        assert_eq!(among(&all[..2], &all), "row0, row1");
        assert_eq!(among(&all[..1], &all[..1]), "row0", "the only row has a name");
        assert_eq!(among(&all[..2], &all[..3]), "row0, row1", "names are shorter");
    }
}
