//! `vmsplice`: the sender's own pages in a pipe, from which the receiver reads.
//!
//! - Mechanism: `vmsplice` puts references to the pages of a message into a pipe, `read` copies from them; one pipe for
//!   each direction.
//! - Kernel objects: two pipes; the leader creates them and sends the follower its two ends.
//! - Copies per message: one, by the receiver's `read`.
//! - Spin: an empty or full pipe returns EAGAIN. Block: `read` and `vmsplice` sleep.
//! - Limits: a page counts as a whole in a pipe, which holds 16 pages (64 KiB) or is enlarged like that of `pipe`. A
//!   page must not be written again before it was read, so the sender has more pages than its pipe holds.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    os::fd::{AsFd, OwnedFd},
};

use ipcmark_transport::{
    Capabilities, Carrier, DeclaredCarrier, Definition, Endpoint, Error, OptionSpec, Rendezvous,
    Settings, Step, Transport, Wait,
};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    unistd::pipe2,
};

use crate::{
    descriptors::{self, Descriptors},
    frame::{Framed, Link, refused},
};

mod pages;

use pages::{Pages, page_size};

const OBJECT: &str = "the pipe";

/// The options.
static OPTIONS: [OptionSpec; 1] = [descriptors::CAPACITY];

/// The transport.
pub struct Vmsplice;

/// One end.
pub struct VmspliceEndpoint {
    // Fields drop in this order: pages stay until the pipe is closed.
    write: OwnedFd,
    incoming: Framed<Incoming>,
    pages: Pages,
    /// The number of bytes of the loaned frame that are in the pipe.
    sent: usize,
    flags: libc::c_uint,
    messages: u64,
    parts: u64,
}

/// The pipe that an end reads from.
struct Incoming(OwnedFd);

impl Link for Incoming {
    fn write(&self, _: &mut [u8], _: usize) -> Result<usize, Errno> {
        Err(Errno::EBADF)
    }

    #[inline]
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        nix::unistd::read(&self.0, &mut frame[from..])
    }
}

impl Transport for Vmsplice {
    type Endpoint = VmspliceEndpoint;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<VmspliceEndpoint, Error> {
        let pipes = if settings.role.is_leader() { lead(settings, peers)? } else { follow(peers)? };
        descriptors::set_wait(pipes.read.as_fd(), settings.wait, OBJECT)?;
        let capacity = fcntl(&pipes.write, FcntlArg::F_GETPIPE_SZ)
            .map_err(|errno| Error::os("look at", OBJECT, errno))? as usize;
        Ok(VmspliceEndpoint {
            write: pipes.write,
            incoming: Framed::receiving(Incoming(pipes.read), OBJECT, settings)?,
            pages: Pages::new(capacity.div_ceil(page_size()), settings.payload),
            sent: 0,
            flags: if settings.wait == Wait::Spin { libc::SPLICE_F_NONBLOCK } else { 0 },
            messages: 0,
            parts: 0,
        })
    }
}

fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Descriptors, Error> {
    let make = || {
        let pipe =
            pipe2(OFlag::O_CLOEXEC).map_err(|errno| Error::scarce("create", OBJECT, errno))?;
        // The header of a frame is at the end of a page's first line.
        let settings = Settings { payload: settings.payload + pages::LEAD, ..settings.clone() };
        descriptors::fit_capacity(&pipe.1, &settings);
        Ok::<_, Error>(pipe)
    };
    let (their_read, write) = make()?;
    let (read, their_write) = make()?;
    peers.send(0, b"pipe", &[their_read.as_fd(), their_write.as_fd()])?;
    Ok(Descriptors { read, write })
}

fn follow(peers: &mut dyn Rendezvous) -> Result<Descriptors, Error> {
    let [read, write] = descriptors::receive(peers, OBJECT)?;
    Ok(Descriptors { read, write })
}

impl Endpoint for VmspliceEndpoint {
    #[inline(always)]
    fn pause(&self) {}

    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.pages.begin(len);
        Ok(Step::Done)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        self.pages.payload()
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        let len = self.pages.frame().len();
        while self.sent < len {
            match pages::splice(&self.write, &self.pages.frame()[self.sent..], self.flags) {
                Ok(count) => {
                    self.sent += count;
                    self.parts += 1;
                }
                Err(errno) => return refused(errno, "write to", OBJECT),
            }
        }
        self.sent = 0;
        self.messages += 1;
        self.pages.finish();
        Ok(Step::Done)
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        self.incoming.take()
    }

    #[inline]
    fn message(&self) -> &[u8] {
        self.incoming.message()
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.incoming.release()
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let capacity = fcntl(&self.write, FcntlArg::F_GETPIPE_SZ).unwrap_or(0);
        BTreeMap::from([
            ("capacity".to_owned(), format!("{capacity} bytes")),
            ("pages of each sender".to_owned(), self.pages.count().to_string()),
        ])
    }

    fn parts_per_message(&self) -> Option<f64> {
        Some(self.parts as f64 / self.messages.max(1) as f64)
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("vmsplice"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed(
        "the sender's own pages in a pipe, which the receiver reads; one copy a message",
    ),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: Capabilities::usual(),
};

/// The entry of `vmsplice` in the list of transports.
pub const TRANSPORT: Vmsplice = Vmsplice;

#[cfg(test)]
mod tests {
    use crate::testing::{
        one_way,
        queue::{ends, fill_and_drain},
        receive, send,
    };

    use super::*;

    crate::testing::queue::reliable_queue!(super::TRANSPORT);

    /// Each message arrives unchanged, although the sender writes the next ones at once.
    #[test]
    fn no_page_is_written_while_it_lies_in_the_pipe() {
        for wait in [Wait::Spin, Wait::Block] {
            let lengths: Vec<usize> = (0..3000).map(|at| 16 + at * 997 % 20_000).collect();
            one_way(&TRANSPORT, wait, 20_016, &lengths);
            one_way(&TRANSPORT, wait, 200_000, &[64; 500]);
        }
        fill_and_drain(&TRANSPORT, 40_000);
    }

    #[test]
    fn a_small_message_takes_a_page_of_the_pipe() {
        let (mut leader, mut follower) = ends(&TRANSPORT, Wait::Spin, 64);
        let slots = fcntl(&leader.write, FcntlArg::F_GETPIPE_SZ).unwrap() as usize / page_size();
        (0..slots).for_each(|seed| send(&mut leader, 64, seed));
        let _ = leader.loan(64).unwrap();
        assert_eq!(leader.publish().unwrap(), Step::WouldBlock);
        receive(&mut follower, 64, 0);
    }
}
