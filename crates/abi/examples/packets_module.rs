//! The transport of docs/adding-a-transport.md as a module in Rust.

use ipcmark_transport::Collect;

#[path = "../../../docs/examples/packets.rs"]
mod packets;

fn transports<C: Collect>(collect: &mut C) -> Vec<C::Item> {
    vec![collect.item(packets::TRANSPORT)]
}

ipcmark_contract::export!("example", "1.0", transports);
