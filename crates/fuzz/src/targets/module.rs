//! A module's description in memory, and the answer of the process that has loaded it.

use std::sync::LazyLock;

use ipcmark_abi::fuzzing;
use serde_json::Value;

use crate::{edits, target::Target};

/// An answer.
static ANSWER: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../documents/answer.json")).expect("it is JSON")
});

fn run(data: &[u8]) {
    match data.split_first() {
        Some((0, description)) => fuzzing::description(description),
        Some((_, data)) => fuzzing::answer(&edits::document(&ANSWER, data)),
        None => {}
    }
}

pub const TARGET: Target = Target { name: "module", run };
