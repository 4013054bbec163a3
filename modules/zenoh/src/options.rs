//! The options that users can set, and their values for an endpoint.

use std::collections::BTreeMap;

use ipcmark_transport::{OptionSpec, Settings};

use crate::session::Link;

/// The minimum and maximum number of unreleased messages.
const LEAST: usize = 3;
const MOST: usize = 64;

/// The options of a row over a socket.
pub static COPIED: [OptionSpec; 2] = [EXPRESS, depth_spec("what 8 MiB hold, from 3 to 64")];

/// The options of the row in shared memory.
pub static SHARED: [OptionSpec; 2] = [EXPRESS, depth_spec("what 1 MiB holds, from 3 to 64")];

/// The options of the row of queries.
pub static QUERY: [OptionSpec; 1] = [EXPRESS];

const EXPRESS: OptionSpec = OptionSpec::new(
    "express",
    "on|off",
    "on",
    "each message is sent at once, and waits for no others to be sent with",
);

/// The library's own channel holds 256.
const fn depth_spec(standard: &'static str) -> OptionSpec {
    OptionSpec::new("depth", "1..256", standard, "messages under way in a direction")
}

/// The memory limit of the unreleased messages. The library locks its shared memory; an ordinary user may lock 8 MiB.
fn bytes_under_way(link: Link) -> usize {
    if link == Link::Shm { 1 << 20 } else { 8 << 20 }
}

/// The limit of unreleased messages in each direction.
pub fn depth(link: Link, settings: &Settings) -> u64 {
    let standard = (bytes_under_way(link) / settings.payload).clamp(LEAST, MOST);
    settings.number("depth").unwrap_or(standard as u64)
}

/// True if messages are sent without waiting for others.
pub fn is_express(settings: &Settings) -> bool {
    !settings.is_set_to("express", "off")
}

/// The settings of the library, for the result.
pub fn noted(link: Link, settings: &Settings) -> BTreeMap<String, String> {
    let mut noted = noted_for_all(settings);
    noted.insert("messages under way".into(), depth(link, settings).to_string());
    noted
}

/// The settings of the library for the row of queries.
pub fn noted_of_queries(settings: &Settings) -> BTreeMap<String, String> {
    let mut noted = noted_for_all(settings);
    noted.insert("consolidation".into(), "none".into());
    noted
}

fn noted_for_all(settings: &Settings) -> BTreeMap<String, String> {
    let entry = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    [("congestion control", "block"), ("express", if is_express(settings) { "on" } else { "off" })]
        .map(entry)
        .into()
}
