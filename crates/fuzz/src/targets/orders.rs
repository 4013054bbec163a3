//! An accepted leader's orders to a follower's command, and the command's reports.

use std::sync::LazyLock;

use ipcmark_engine::Registry;
use ipcmark_remote::fuzzing;
use serde_json::Value;

use crate::{edits, target::Target};

static REGISTRY: LazyLock<Registry> = LazyLock::new(ipcmark_registry::native);

/// The orders of a session.
static ORDERS: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../documents/orders.json")).expect("it is JSON")
});

fn run(data: &[u8]) {
    let document = edits::document(&ORDERS, data);
    match serde_json::from_slice(&document) {
        Ok(Value::Array(orders)) => {
            orders.iter().for_each(|order| fuzzing::order(order.to_string().as_bytes(), &REGISTRY))
        }
        _ => fuzzing::order(&document, &REGISTRY),
    }
}

pub const TARGET: Target = Target { name: "orders", run };
