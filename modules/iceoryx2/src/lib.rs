//! `iceoryx2` and `iceoryx2-event`: samples of shared memory handed over by publish-subscribe.
//!
//! - Mechanism: a publisher and a subscriber on each side, one service for each direction; a lock-free queue of offsets
//!   between them, and the publisher's own memory for the samples.
//! - Fan-out: the leader's publisher has a queue to each follower, and its subscriber one from each.
//! - Kernel objects: shared memory and files whose names begin with the session's name; `iceoryx2-event` also has an
//!   event service for each direction.
//! - Copies a message: none.
//! - Blocks: `iceoryx2-event` sleeps in its listener, and without a free sample on a futex in memory of its own;
//!   `iceoryx2` only polls.
//! - Limits: a publisher has as many samples as the queue holds, so with a full queue no sample can be loaned, and
//!   nothing is ever discarded.

#[path = "../../shared/rust/counters.rs"]
mod counters;
mod endpoint;
mod node;
#[path = "../../shared/rust/room.rs"]
mod room;
#[path = "../../shared/rust/space.rs"]
mod space;
mod traces;

use std::borrow::Cow;

use iceoryx2::prelude::{LogLevel, set_log_level};
use ipcmark_transport::{
    Capabilities, Carrier, Collect, DeclaredCarrier, Definition, Error, Pattern, Rendezvous,
    Settings, Transport, Wait,
};

use counters::Counters;
use endpoint::Iceoryx2Endpoint;
use node::ServiceNode;
use traces::CloseSignal;

/// One of the two transports.
pub struct Iceoryx2 {
    definition: Definition,
}

impl Transport for Iceoryx2 {
    type Endpoint = Iceoryx2Endpoint;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Iceoryx2Endpoint, Error> {
        set_log_level(LogLevel::Fatal);
        space::check(node::bytes(settings))?;
        let close_signal = CloseSignal::new(settings, peers)?;
        let end = open_in_turn(settings, close_signal, peers)?;
        end.connect()?;
        peers.meet()?;
        Ok(end)
    }
}

/// The leader makes the services, then the followers open them: not concurrently. When all endpoints exist, each
/// connects to the others' ports.
fn open_in_turn(
    settings: &Settings,
    close_signal: CloseSignal,
    peers: &mut dyn Rendezvous,
) -> Result<Iceoryx2Endpoint, Error> {
    let leads = settings.role.is_leader();
    let sleeps = settings.wait != Wait::Spin;
    let rooms = sleeps.then(|| Counters::open(leads, peers)).transpose()?;
    let open = || {
        let node = ServiceNode::new(settings)?;
        Iceoryx2Endpoint::open(node, settings, close_signal, rooms)
    };
    if leads {
        let end = open()?;
        peers.meet()?;
        peers.meet()?;
        return Ok(end);
    }
    peers.meet()?;
    let end = open()?;
    peers.meet()?;
    Ok(end)
}

fn describe(name: &'static str, summary: &'static str, waits: &'static [Wait]) -> Iceoryx2 {
    let capabilities = Capabilities {
        loans: true,
        patterns: Cow::Borrowed(&[Pattern::Latency, Pattern::FanOut]),
        max_subscribers: node::MOST_FOLLOWERS,
        ..Capabilities::waiting(waits)
    };
    let definition = Definition {
        name: name.into(),
        family: "iceoryx2".into(),
        summary: summary.into(),
        carrier: DeclaredCarrier::Always(Carrier::SharedMemory),
        options: Cow::Borrowed(&node::OPTIONS),
        capabilities,
    };
    Iceoryx2 { definition }
}

/// Passes both transports to `collect`.
pub fn transports<C: Collect>(collect: &mut C) -> Vec<C::Item> {
    vec![
        collect.item(describe(
            "iceoryx2",
            "iceoryx2 publish-subscribe, polled: loans in shared memory, no copy, no daemon",
            &[Wait::Spin],
        )),
        collect.item(describe(
            "iceoryx2-event",
            "iceoryx2 publish-subscribe with events to sleep on: loans in shared memory, no copy",
            &[Wait::Block, Wait::Hybrid],
        )),
    ]
}

ipcmark_contract::export!("iceoryx2", "0.10.0", transports);
