//! `grpc-tonic-stream`, `grpc-tonic-unary`: messages by tonic, gRPC in Rust, over a Unix domain socket, as protobuf
//! messages with one field of bytes.
//!
//! - Mechanism: a channel and a server, each in a tokio runtime that the endpoint's own thread drives.
//! - Kernel objects: a Unix stream connection; a socket in the session's directory during set-up; an epoll set and an
//!   eventfd on each side; no thread of the library.
//! - Copies a message: four: serialised into a buffer of the library, into the kernel, out of it, and reassembled.
//! - Blocks: in epoll_wait(2) within the runtime.
//! - Limits: two ends on one host. Unary calls alternate. The library works only within the endpoint's calls.

mod connection;
mod endpoint;
mod room;
mod rpc;
mod stream;
mod unary;
#[path = "../../shared/rust/unix_socket.rs"]
mod unix_socket;
mod wire;

use std::{borrow::Cow, marker::PhantomData};

use ipcmark_transport::{
    Capabilities, Carrier, Collect, DeclaredCarrier, Definition, Error, Rendezvous, Settings,
    Transport,
};

use endpoint::{GrpcEndpoint, Port};
use stream::InStream;
use unary::Unary;

/// A row whose messages `P` carries.
pub struct GrpcTransport<P>(Definition, PhantomData<fn() -> P>);

impl<P: Port> Transport for GrpcTransport<P> {
    type Endpoint = GrpcEndpoint<P>;

    fn definition(&self) -> &Definition {
        &self.0
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<GrpcEndpoint<P>, Error> {
        GrpcEndpoint::open(settings, peers)
    }
}

fn row<P: Port>(name: &'static str, summary: &'static str, alternating: bool) -> GrpcTransport<P> {
    let definition = Definition {
        name: name.into(),
        family: "tonic".into(),
        summary: summary.into(),
        carrier: DeclaredCarrier::Always(Carrier::Kernel),
        options: Cow::Borrowed(&[]),
        capabilities: Capabilities { alternating, ..Capabilities::usual() },
    };
    GrpcTransport(definition, PhantomData)
}

/// Passes both transports to `collect`.
pub fn transports<C: Collect>(collect: &mut C) -> Vec<C::Item> {
    vec![
        collect.item(row::<InStream>(
            "grpc-tonic-stream",
            "a bidirectional stream of gRPC by tonic over a Unix domain socket, four copies",
            false,
        )),
        collect.item(row::<Unary>(
            "grpc-tonic-unary",
            "unary calls of gRPC by tonic over a Unix domain socket, four copies",
            true,
        )),
    ]
}

ipcmark_contract::export!("tonic", "0.14.9", transports);
