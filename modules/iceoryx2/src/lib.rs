//! `iceoryx2` and `iceoryx2-event`: samples of shared memory handed over by publish-subscribe.
//!
//! - Mechanism: a publisher and a subscriber each side, one service for each direction; a lock-free
//!   queue of places between them, and the publisher's own memory for the samples.
//! - Fan-out: the leader's publisher has a queue to each follower, and its subscriber one from each.
//! - Kernel objects: shared memory and files that begin with the session's name; `iceoryx2-event`
//!   has an event service for each direction beside it.
//! - Copies a message: none.
//! - Blocks: `iceoryx2-event` sleeps in its listener; `iceoryx2` only polls.
//! - Limits: a publisher has as many samples as the queue holds, so that a queue that is full is a
//!   sample that cannot be lent, and nothing is ever discarded.

mod end;
mod session;
mod traces;

use std::{borrow::Cow, path::Path};

use iceoryx2::prelude::{LogLevel, set_log_level};
use ipcmark_transport::{
    Capabilities, Carrier, Collect, DeclaredCarrier, Definition, Error, Pattern, Rendezvous,
    Settings, Transport, Wait,
};

use end::End;
use session::Session;
use traces::{CloseSignal, SHARED_MEMORY};

/// One of the two transports.
pub struct Iceoryx2 {
    definition: Definition,
}

impl Transport for Iceoryx2 {
    type Endpoint = End;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn open(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<End, Error> {
        set_log_level(LogLevel::Fatal);
        check_space(session::bytes(settings))?;
        let close_signal = CloseSignal::new(settings, peers)?;
        let end = open_in_turn(settings, close_signal, peers)?;
        end.connect()?;
        peers.meet()?;
        Ok(end)
    }
}

/// The leader makes the services, which followers then open: not all at once. When the last end is there, each looks
/// for the others' ports.
fn open_in_turn(
    settings: &Settings,
    close_signal: CloseSignal,
    peers: &mut dyn Rendezvous,
) -> Result<End, Error> {
    let open = |close_signal| End::open(Session::new(settings)?, settings, close_signal);
    if settings.role.is_leader() {
        let end = open(close_signal)?;
        peers.meet()?;
        peers.meet()?;
        return Ok(end);
    }
    peers.meet()?;
    let end = open(close_signal)?;
    peers.meet()?;
    Ok(end)
}

/// Writing to shared memory that cannot be backed raises SIGBUS.
fn check_space(bytes: usize) -> Result<(), Error> {
    let left = free_bytes(Path::new(SHARED_MEMORY));
    if left.is_none_or(|left| left >= bytes) {
        return Ok(());
    }
    let (needed, left) = ((bytes >> 20) + 1, left.unwrap_or(0) >> 20);
    let cause = format!("{needed} MiB are needed, and {left} are left");
    let error = Error::new("find room in", SHARED_MEMORY, cause);
    Err(error.remedy("enlarge it: mount -o remount,size=1G /dev/shm"))
}

fn free_bytes(path: &Path) -> Option<usize> {
    let path = std::ffi::CString::new(path.to_str()?).ok()?;
    // SAFETY: all zeros is a valid statvfs, and the call fills it in.
    let mut space: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a terminated path and room for the answer.
    let result = unsafe { libc::statvfs(path.as_ptr(), &mut space) };
    (result == 0).then_some(space.f_bavail as usize * space.f_frsize as usize)
}

fn describe(name: &'static str, summary: &'static str, waits: &'static [Wait]) -> Iceoryx2 {
    let capabilities = Capabilities {
        loans: true,
        patterns: Cow::Borrowed(&[Pattern::Latency, Pattern::FanOut]),
        max_subscribers: session::MOST_FOLLOWERS,
        ..Capabilities::waiting(waits)
    };
    let definition = Definition {
        name: name.into(),
        family: "iceoryx2".into(),
        summary: summary.into(),
        carrier: DeclaredCarrier::Always(Carrier::SharedMemory),
        options: Cow::Borrowed(&session::OPTIONS),
        capabilities,
    };
    Iceoryx2 { definition }
}

/// Hands both transports to `collect`.
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

ipcmark_abi::export!("iceoryx2", "0.10.0", transports);
