//! `zenoh-unix`, `zenoh-tcp`, `zenoh-shm`: messages published by one peer and subscribed to by the other, without a
//! router. `zenoh-query`: messages as queries of one peer, which the other one replies to.
//!
//! - Mechanism: a session of the library in each process, connected directly; a publisher and a subscriber on each
//!   side, one key expression for each direction. For `zenoh-query` a querier and a queryable.
//! - Kernel objects: a stream socket; the library's threads, which sleep in `epoll_wait` and on condition variables;
//!   `zenoh-shm` also segments of shared memory under names of the library's own.
//! - Copies a message: none for `zenoh-shm`. Else into a batch of the library, into the kernel, out of it; one more if
//!   it was split into batches of 64 KiB.
//! - Blocks: the receiver on a condition variable that one of the library's threads signals, a sender without room on a
//!   futex beside the counts of released messages, 100 ms at most; 10 ms for `zenoh-shm`, which may lose messages.
//! - Limits: unreleased messages are bounded in addition to the library, because its own bound closes the connection.
//!   Queries and replies alternate.

mod connection;
mod copied;
#[path = "../../shared/rust/counters.rs"]
mod counters;
mod flow;
mod options;
mod port;
mod query;
#[path = "../../shared/rust/room.rs"]
mod room;
mod session;
mod shm;
#[path = "../../shared/rust/space.rs"]
mod space;

use std::borrow::Cow;

use ipcmark_transport::{
    Capabilities, Carrier, Collect, DeclaredCarrier, Definition, Error, Leftover, Rendezvous,
    SessionName, Settings, Transport,
};

use connection::Connection;
use copied::CopiedEnd;
use query::QueryPort;
use session::Link;
use shm::ShmEnd;

/// Messages over a socket.
pub struct Copied {
    definition: Definition,
    link: Link,
}

impl Transport for Copied {
    type Endpoint = CopiedEnd<Connection>;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<CopiedEnd<Connection>, Error> {
        CopiedEnd::open(settings, options::noted(self.link, settings), || {
            let (connection, ()) = Connection::open(self.link, settings, peers, || Ok(()))?;
            Ok(connection)
        })
    }
}

/// Messages as queries and replies.
pub struct Queries {
    definition: Definition,
}

impl Transport for Queries {
    type Endpoint = CopiedEnd<QueryPort>;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<CopiedEnd<QueryPort>, Error> {
        let configuration = options::noted_of_queries(settings);
        CopiedEnd::open(settings, configuration, || QueryPort::open(settings, peers))
    }
}

/// Messages in shared memory.
pub struct Shared {
    definition: Definition,
}

impl Transport for Shared {
    type Endpoint = ShmEnd;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn open(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<ShmEnd, Error> {
        ShmEnd::open(settings, peers)
    }

    fn leftovers(&self, _sessions: &[SessionName]) -> Result<Vec<Leftover>, Error> {
        Ok(shm::leftovers())
    }
}

fn describe(name: &'static str, summary: &'static str, carrier: Carrier) -> Definition {
    Definition {
        name: name.into(),
        family: "zenoh".into(),
        summary: summary.into(),
        carrier: DeclaredCarrier::Always(carrier),
        options: Cow::Borrowed(&options::COPIED),
        capabilities: Capabilities::usual(),
    }
}

fn shared() -> Definition {
    let mut definition = describe(
        "zenoh-shm",
        "zenoh's loans in shared memory, no copy; a Unix socket and threads of the library say where",
        Carrier::SharedMemory,
    );
    definition.options = Cow::Borrowed(&options::SHARED);
    definition.capabilities.loans = true;
    // A message in transit is dropped if its watchdogs find it unconfirmed, as after a pause of the machine.
    definition.capabilities.reliable = false;
    // A session that opens removes the segments that nobody has locked, also those that another one is making.
    definition.capabilities.exclusive = true;
    definition
}

fn queries() -> Definition {
    let mut definition = describe(
        "zenoh-query",
        "queries of zenoh and their replies over a Unix domain socket, threads of the library each side",
        Carrier::Kernel,
    );
    definition.options = Cow::Borrowed(&options::QUERY);
    definition.capabilities.alternating = true;
    definition
}

/// Passes the transports to `collect`.
pub fn transports<C: Collect>(collect: &mut C) -> Vec<C::Item> {
    vec![
        collect.item(Copied {
            definition: describe(
                "zenoh-unix",
                "zenoh peer to peer over a Unix domain socket, threads of the library each side",
                Carrier::Kernel,
            ),
            link: Link::Unix,
        }),
        collect.item(Copied {
            definition: describe(
                "zenoh-tcp",
                "zenoh peer to peer over TCP, threads of the library each side",
                Carrier::Network,
            ),
            link: Link::Tcp,
        }),
        collect.item(Shared { definition: shared() }),
        collect.item(Queries { definition: queries() }),
    ]
}

ipcmark_contract::export!("zenoh", "1.10.2", transports);
