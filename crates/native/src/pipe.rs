//! `pipe`: two unnamed pipes.
//!
//! - Mechanism: `write` into one pipe, `read` from the other; one pipe for each direction.
//! - Kernel objects: two pipes; the leader creates them and sends the follower its two ends.
//! - Copies per message: two, into the pipe and out of it.
//! - Spin: the descriptors do not block; an empty or full pipe returns EAGAIN. Block: `read` and
//!   `write` sleep.
//! - Limits: a pipe holds 64 KiB. For larger payloads it is enlarged to hold one message, up to
//!   fs.pipe-max-size (usually 1 MiB), so that a writer waits as seldom as the system allows; a
//!   message that still does not fit passes in several parts.

use std::{borrow::Cow, os::fd::AsFd};

use ipcmark_transport::{
    Capabilities, Carrier, DeclaredCarrier, Definition, Error, Rendezvous, Settings, Transport,
};
use nix::{fcntl::OFlag, unistd::pipe2};

use crate::{
    descriptors::{self, Descriptors},
    frame::Framed,
};

const OBJECT: &str = "the pipe";

/// The transport.
pub struct Pipe;

impl Transport for Pipe {
    const CYCLES: bool = true;
    type Endpoint = Framed<Descriptors>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error> {
        let link = pipes(settings, peers)?;
        for fd in [&link.read, &link.write] {
            descriptors::set_wait(fd.as_fd(), settings.wait, OBJECT)?;
        }
        Framed::new(link, OBJECT, settings)
    }
}

/// Creates the pipes in the leader and sends the follower its ends.
pub fn pipes(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Descriptors, Error> {
    if settings.role.is_leader() { lead(settings, peers) } else { follow(peers) }
}

fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Descriptors, Error> {
    let make = || pipe2(OFlag::O_CLOEXEC).map_err(|errno| Error::os("create", OBJECT, errno));
    let (their_read, write) = make()?;
    let (read, their_write) = make()?;
    descriptors::fit_capacity(&write, settings);
    descriptors::fit_capacity(&read, settings);
    peers.send(0, b"pipe", &[their_read.as_fd(), their_write.as_fd()])?;
    Ok(Descriptors { read, write })
}

fn follow(peers: &mut dyn Rendezvous) -> Result<Descriptors, Error> {
    let [read, write] = descriptors::receive(peers, OBJECT)?;
    Ok(Descriptors { read, write })
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("pipe"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("two unnamed pipes; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&descriptors::OPTIONS),
    capabilities: Capabilities::usual(),
};

/// The entry of `pipe` in the list of transports.
pub const TRANSPORT: Pipe = Pipe;

#[cfg(test)]
mod tests {
    crate::testing::queue::reliable_queue!(super::TRANSPORT);
}
