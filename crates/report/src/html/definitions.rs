//! The meaning of every word and figure of the report: one list, which all hints reference.

use serde::Serialize;

use crate::columns::COLUMNS;

/// A word and its meaning.
#[derive(Serialize)]
pub struct GlossaryEntry {
    /// The key by which hints refer to it; part of an `id`.
    pub key: String,
    /// The word as it is shown.
    pub word: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// The words that are not columns of the tables.
const WORDS: &[(&str, &str)] = &[
    (
        "½ round trip",
        "A round trip divided by two. It is not a one-way time: no clocks were compared between processes, and the \
        two halves can differ.",
    ),
    (
        "transport",
        "One way of moving messages between processes, with its settings where they are not its \
         defaults. A ! marks a row with a caveat: the note below its group gives the reason.",
    ),
    ("family", "The origin of the transport: os is the operating system, else the library."),
    (
        "pattern",
        "The shape of the traffic. latency is a ping-pong: one message in transit. one-way: from sender to receiver. \
         throughput: a stream. fan-out: one publication, an answer of each follower. fan-in: streams of several \
         publishers to one.",
    ),
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
    ("publishers", "Followers that stream to one leader, all at once."),
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
    (
        "percentile",
        "The share of round trips that took at most this long. A curve shows all samples of all \
         trials together and ends where they end: 1,000 samples carry p99.9 and no more. Each value is accurate to \
         one part in a thousand.",
    ),
    ("trials", "Independent repetitions, each in fresh processes. The intervals come from them."),
    (
        "distances",
        "How far the two processors are from one another, measured by probes between all blocks: the round trip of a \
        bare \
         cache line between the same two processes. On a virtual machine that changes several times a second. Rows are \
         compared at the distance with most blocks.",
    ),
    (
        "hiccups",
        "Gaps of 1 µs and more in threads that read the clock without a pause, while all rows slept: the processors did \
         other work, of the host, the kernel or other programs.",
    ),
    (
        "clock",
        "The clock that timed the run, what one reading costs, and its smallest step: no sample is \
         finer.",
    ),
    (
        "ratio",
        "The figure of the new result divided by that of the base. Below 1 \
         is less than before.",
    ),
    (
        "verdict",
        "slower or faster: the means differ at the level of 1 %. same: the 90 % interval of their ratio lies within \
        2 %. \
         cannot tell: neither is certain. Two files alone give no verdict, because a machine changes over time; \
         ipcmark compare takes \
         three runs a side, or measures two plans in turns.",
    ),
];

/// Every definition, in the order of the list.
pub fn all() -> Vec<GlossaryEntry> {
    let words = WORDS.iter().map(|(word, meaning)| definition(word, meaning));
    words.chain(COLUMNS.iter().map(|column| definition(column.label, column.meaning))).collect()
}

fn definition(word: &'static str, meaning: &'static str) -> GlossaryEntry {
    GlossaryEntry { key: key(word), word, meaning }
}

/// The form of a word in an `id`: `p99.9` is `p99-9`, `× floor` is `x-floor`.
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
