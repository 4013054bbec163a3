//! A worker's replies to a leader, above all a follower's, and their evaluation.

use std::sync::LazyLock;

use ipcmark_engine::fuzzing;
use serde_json::Value;

use crate::{edits, target::Target};

static REPLIES: LazyLock<Value> = LazyLock::new(fuzzing::replies_of_a_session);

fn run(data: &[u8]) {
    fuzzing::replies(&edits::document(&REPLIES, data));
}

pub const TARGET: Target = Target { name: "replies", run };
