//! What users can set, and what an end makes of it.

use std::collections::BTreeMap;

use ipcmark_transport::{OptionSpec, Settings};

/// What the messages under way may take.
const BYTES_UNDER_WAY: usize = 8 << 20;

/// Fewest and most messages under way.
const LEAST: usize = 3;
const MOST: usize = 64;

/// What users can set.
pub static OPTIONS: [OptionSpec; 2] = [
    OptionSpec::new(
        "express",
        "on|off",
        "on",
        "each message is sent at once, and waits for no others to be sent with",
    ),
    // The library's own channel holds 256.
    OptionSpec::new(
        "depth",
        "1..256",
        "what 8 MiB hold, from 3 to 64",
        "messages under way in a direction",
    ),
];

/// How many messages can be under way in a direction.
pub fn depth(settings: &Settings) -> u64 {
    let standard = (BYTES_UNDER_WAY / settings.payload).clamp(LEAST, MOST);
    settings.number("depth").unwrap_or(standard as u64)
}

/// Whether messages go without waiting for others.
pub fn is_express(settings: &Settings) -> bool {
    !settings.is_set_to("express", "off")
}

/// What was set of the library, for the result.
pub fn noted(settings: &Settings) -> BTreeMap<String, String> {
    let entry = |(key, value): (&str, String)| (key.to_owned(), value);
    [
        ("congestion control", "block".into()),
        ("express", if is_express(settings) { "on" } else { "off" }.into()),
        ("messages under way", depth(settings).to_string()),
    ]
    .map(entry)
    .into()
}
