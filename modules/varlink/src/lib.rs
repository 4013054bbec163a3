//! `varlink`: messages as calls of Varlink and their replies, by the crate zlink, over a Unix domain socket.
//!
//! - Mechanism: a connection of the library at either end, in a tokio runtime that the endpoint's own thread drives.
//!   A message is a string in a JSON object, base64, followed by a NUL byte.
//! - Kernel objects: a Unix stream connection; a socket in the session's directory during set-up; an epoll set and an
//!   eventfd on each side; no thread of the library.
//! - Copies a message: five: encoded as base64, into the library's JSON, into the kernel, out of it, decoded. The
//!   library reads the string where it was received.
//! - Blocks: in epoll_wait(2) within the runtime.
//! - Limits: two ends on one host. Calls and replies alternate. The library works only within the endpoint's calls.

mod connection;
mod endpoint;
mod message;
#[path = "../../shared/rust/unix_socket.rs"]
mod unix_socket;

use std::borrow::Cow;

use ipcmark_transport::{
    Capabilities, Carrier, Collect, DeclaredCarrier, Definition, Error, Rendezvous, Settings,
    Transport,
};

use endpoint::VarlinkEndpoint;

/// Calls and replies.
pub struct Varlink(Definition);

impl Transport for Varlink {
    type Endpoint = VarlinkEndpoint;

    fn definition(&self) -> &Definition {
        &self.0
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<VarlinkEndpoint, Error> {
        VarlinkEndpoint::open(settings, peers)
    }
}

/// Passes the transport to `collect`.
pub fn transports<C: Collect>(collect: &mut C) -> Vec<C::Item> {
    let definition = Definition {
        name: "varlink".into(),
        family: "varlink".into(),
        summary: "calls of Varlink and their replies by zlink over a Unix domain socket, payloads as base64 in JSON"
            .into(),
        carrier: DeclaredCarrier::Always(Carrier::Kernel),
        options: Cow::Borrowed(&[]),
        capabilities: Capabilities { alternating: true, ..Capabilities::usual() },
    };
    vec![collect.item(Varlink(definition))]
}

ipcmark_contract::export!("varlink", "zlink 0.8.0", transports);
