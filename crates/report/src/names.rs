//! Names of rows and titles of groups.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_results::{
    Arrivals, Between, Group, GroupKey, Identity, Load, Pattern, Row, RunResult, Span, Touch,
    caveats,
    stats::{Comparison, Verdict},
};

use crate::{plain::plain, units};

/// The name of a row: the transport with its settings, and the payload if its group has several.
pub fn row(row: &Row) -> String {
    let identity = &row.case.identity;
    match GroupKey::of(identity).payload {
        Some(_) => transport(identity),
        None => {
            let size = size(identity.payload_bytes, identity.load);
            format!("{} {size}{}", plain(&identity.transport), settings(&identity.options))
        }
    }
}

/// The name, with a mark if there is a footnote.
pub fn marked(row: &Row) -> String {
    let name = self::row(row);
    if caveats(row).is_empty() { name } else { format!("{name} !") }
}

/// The name of a row outside its group: `tcp (latency · 64 B · all · spin)`.
pub fn alone(identity: &Identity) -> String {
    let Identity { pattern, touch, wait, .. } = identity;
    let size = size(identity.payload_bytes, identity.load);
    let others = pairs(identity.pairs).into_iter().chain(load(identity.load));
    let ends = identity.between.as_ref().map(between);
    let others: String = others.chain(ends).map(|part| format!(" · {part}")).collect();
    format!("{} ({pattern} · {size} · {touch}{others} · {wait})", transport(identity))
}

/// The transport of a case, with its settings if they are not its defaults.
pub fn transport(identity: &Identity) -> String {
    let sends = if identity.n_sends { " n-sends" } else { "" };
    format!("{}{sends}{}", plain(&identity.transport), settings(&identity.options))
}

fn settings(options: &BTreeMap<String, String>) -> String {
    let setting =
        |(option, value): (&String, &String)| format!(" {}={}", plain(option), plain(value));
    options.iter().map(setting).collect()
}

/// Several followers as text, named by their role.
pub fn followers(pattern: Pattern, count: u32, silent: u32) -> Option<String> {
    match (pattern, silent) {
        _ if count < 2 => None,
        (Pattern::FanIn, _) => Some(format!("{count} publishers")),
        (_, 0) => Some(format!("{count} subscribers")),
        _ => Some(format!("{count} subscribers, {silent} of them silent")),
    }
}

/// Several pairs as text; the figures are those of one pair.
pub fn pairs(pairs: u32) -> Option<String> {
    (pairs > 1).then(|| format!("one of {pairs} pairs"))
}

/// Two ranks of a job as text: `node1/0 – node2/1`.
pub fn between(between: &Between) -> String {
    let Between { leader, follower } = between;
    plain(&format!("{leader} – {follower}"))
}

/// The way messages are offered, unless it is one after the other: `1,000/s`.
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

/// The bytes of a message, or of the largest if sizes differ.
fn size(payload_bytes: u64, load: Load) -> String {
    let bytes = units::size(payload_bytes);
    if load.has_sizes() { format!("up to {bytes}") } else { bytes }
}

/// The reach of a message as text, unless it is from process to process.
pub fn span(span: Span) -> Option<&'static str> {
    match span {
        Span::Process => None,
        Span::Thread => Some("one process"),
        Span::None => Some("no hop: the harness itself"),
    }
}

/// The titles of a result's groups: `latency · 64 B · spin`.
pub struct Titles {
    /// Payloads for which some case touches the head only.
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

    /// The part of a title that distinguishes a group from others between two processes: `64 B · spin`,
    /// `throughput · 64 B · spin`.
    pub fn short(&self, key: &GroupKey) -> String {
        let pattern = (key.pattern != Pattern::Latency).then(|| key.pattern.to_string());
        let mut parts: Vec<String> = pattern.into_iter().chain(self.payload(key)).collect();
        parts.extend(followers(key.pattern, key.subscribers, key.silent_subscribers));
        parts.extend(pairs(key.pairs));
        parts.extend(load(key.load));
        parts.push(key.wait.to_string());
        parts.extend(key.between.map(|(leader, follower)| format!("ranks {leader} – {follower}")));
        parts.join(" · ")
    }

    /// The payload of a group, with its touch if that differs between groups.
    pub fn payload(&self, key: &GroupKey) -> Vec<String> {
        let Some((bytes, touch)) = key.payload else { return Vec::new() };
        let touch = self.untouched.contains(&bytes).then(|| format!("touch {touch}"));
        std::iter::once(size(bytes, key.load)).chain(touch).collect()
    }

    /// The title of a group.
    pub fn title(&self, group: &Group) -> String {
        let GroupKey { pattern, span: distance, subscribers, silent_subscribers, wait, .. } =
            group.key;
        let pairs = pairs(group.key.pairs);
        let mut parts = vec![pattern.to_string()];
        parts.extend(self.payload(&group.key));
        parts.extend(followers(pattern, subscribers, silent_subscribers));
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
