//! The conformance suite for the transport of docs/adding-a-transport.md.

use std::process::ExitCode;

use ipcmark_transport::Collect;

#[path = "../../../docs/examples/packets.rs"]
mod packets;

fn main() -> ExitCode {
    ipcmark_conformance::main(|suites| vec![suites.item(packets::TRANSPORT)])
}
