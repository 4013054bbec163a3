//! An accepted leader's requests to a follower's worker.

use std::sync::LazyLock;

use ipcmark_engine::{Registry, fuzzing};
use serde_json::Value;

use crate::{edits, target::Target};

static REGISTRY: LazyLock<Registry> = LazyLock::new(ipcmark_registry::native);

static REQUESTS: LazyLock<Value> = LazyLock::new(fuzzing::requests_of_a_session);

fn run(data: &[u8]) {
    let Some((transport, data)) = data.split_first() else { return };
    let transport = &REGISTRY[usize::from(*transport) % REGISTRY.len()];
    fuzzing::requests(&edits::document(&REQUESTS, data), transport.as_ref());
}

pub const TARGET: Target = Target { name: "requests", run };
