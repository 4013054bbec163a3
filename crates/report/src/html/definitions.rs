//! What every word and figure of the report means: one list, to which all hints point.

use serde::Serialize;

use crate::columns::COLUMNS;

/// A word and its meaning.
#[derive(Serialize)]
pub struct Definition {
    /// What hints refer to it by; part of an `id`.
    pub key: String,
    /// The word as it is shown.
    pub word: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// The words that are no columns of the tables.
const WORDS: &[(&str, &str)] = &[
    (
        "½ round trip",
        "There and back, divided by two. It is not a one-way time: no clock was compared between \
         processes, and nothing here knows how the two halves differ.",
    ),
    (
        "transport",
        "One way of moving messages between processes, with its settings where they are not its \
         defaults. A ! says that something must be known of the row, and the sentence below its \
         group what: round trips were lost, something else than it says carried the messages, or \
         it should have slept and did not.",
    ),
    ("family", "Whose the transport is: os is what the operating system offers, else the library."),
    ("pattern", "The shape of the traffic. latency is a ping-pong: one message under way."),
    ("payload", "Bytes of one message, its head of 16 bytes included. Binary: 1 KiB is 1,024 B."),
    (
        "wait",
        "How a receiver waits. spin polls without sleeping and costs a core; block sleeps in the \
         kernel; hybrid polls for a while and then sleeps. They are never ranked together.",
    ),
    (
        "touch",
        "The bytes written and read within the timed part: head is the first 16, all is every byte.",
    ),
    ("subscribers", "Followers that answer one leader."),
    (
        "status",
        "ok: measured. failed: tried, and something went wrong. unavailable: it cannot run on this \
         machine. unsupported: the transport does not have what was asked for.",
    ),
    ("p90", "90 of 100 round trips took at most this long."),
    (
        "p99.99",
        "9,999 of 10,000 round trips took at most this long. With fewer samples than that it is \
         the longest of them.",
    ),
    ("mean", "Mean of all round trips of the sampled pass."),
    (
        "percentile",
        "The share of round trips that took at most this long. A curve shows all samples of all \
         trials together and ends where they end: 1,000 samples carry p99.9 and no more. Each \
         value is true to one part in a thousand.",
    ),
    (
        "trials",
        "Independent repetitions, each in fresh processes. Every figure of a row is the median over \
         its trials.",
    ),
    (
        "floor",
        "The least that a hop costs: two bare processes passing one cache line to and fro on the \
         processors that were used, without any transport. Median over the run.",
    ),
    (
        "clock",
        "The clock that timed the run, what one reading costs, and its smallest step: no sample is \
         finer.",
    ),
    (
        "ratio",
        "The figure of the new result divided by that of the base, medians over their trials. Below 1 \
         is less than before.",
    ),
    (
        "verdict",
        "slower or faster: no p50 of one result's trials reaches into the range of the other's, and \
         with so many trials that would happen by chance to at most one unchanged case in twenty. \
         within noise: at least three trials on each side, and each median lies within the range of \
         the other's trials. not known: neither can be said; more trials (--trials 5) help. It \
         knows nothing of what changed between the two runs as a whole: see the environment.",
    ),
];

/// Every definition, in the order of the list.
pub fn all() -> Vec<Definition> {
    let words = WORDS.iter().map(|(word, meaning)| definition(word, meaning));
    words.chain(COLUMNS.iter().map(|column| definition(column.label, column.meaning))).collect()
}

fn definition(word: &'static str, meaning: &'static str) -> Definition {
    Definition { key: key(word), word, meaning }
}

/// What stands in an `id` for a word: `p99.9` is `p99-9`, `× floor` is `x-floor`.
pub fn key(word: &str) -> String {
    let spoken = word.to_lowercase().replace('×', "x").replace('½', "half");
    let letter = |char: char| if char.is_ascii_alphanumeric() { char } else { '-' };
    spoken.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_is_one_of_its_own() {
        let all = all();
        let keys: BTreeSet<&str> = all.iter().map(|definition| definition.key.as_str()).collect();
        assert_eq!(keys.len(), all.len());
        assert!(keys.contains("half-round-trip") && keys.contains("p99-9"));
    }
}
