//! `xdp`: frames between two AF_XDP sockets, each at one end of a virtual Ethernet pair.
//!
//! - Mechanism: an end copies a part of a message into a frame of its UMEM, puts the frame into its transmit ring and
//!   calls `sendto`; the kernel carries it over the pair to an XDP program, which redirects it into the receive ring of
//!   the other end.
//! - Kernel objects: a network namespace with nothing in it but the pair, two sockets, each with a UMEM and four rings,
//!   two XDP programs with a map each; a socket pair and a page of counters beside them. None has a name outside.
//! - Copies per message: four, out of and into the buffers of the ends, and twice in the kernel (a pair has only the
//!   copy mode).
//! - Spin: looks at the receive ring. Block: looks, then sleeps in `poll`.
//! - Limits: a frame carries 3456 bytes. The kernel drops frames for which there is no room, so an end never has
//!   more under way than there is room for: the receiver counts, in the page, the frames that it has released. Every
//!   frame has a number, and a gap is an error.

mod credit;
mod netlink;
mod program;
mod ring;
mod socket;
mod support;
mod wires;

use std::{borrow::Cow, cell::Cell};

use ipcmark_transport::{
    Availability, BUFFERS, Capabilities, Carrier, DeclaredCarrier, Definition, Error, OptionSpec,
    Rendezvous, Settings, Transport, Wait,
};
use nix::errno::Errno;

use self::{
    credit::Credit,
    socket::{FRAME, Xsk},
};
use crate::frame::{Framed, Link};

const OBJECT: &str = "the AF_XDP socket";

/// The options.
static OPTIONS: [OptionSpec; 1] = [BUFFERS];

/// The most frames that go out with one call; the kernel sends no more (TX_BATCH_SIZE).
const BATCH: usize = 32;

/// After so many looks in vain an end that polls asks whether the other end lives.
const LOOKS: u32 = 1 << 14;

/// The bytes before a part: addresses, which nobody reads, the kind of frame, and its number.
const HEAD: usize = 16;

/// The bytes of a message that a frame carries.
const PART: usize = FRAME - HEAD;

/// The transport.
pub struct Xdp;

/// One end of the pair.
pub struct XdpLink {
    // Fields drop in this order: the other end learns of the end by the credit's socket, once all is sent.
    xsk: Xsk,
    credit: Credit,
    sleeps: bool,
    /// Bytes of the message in frames that are in the transmit ring, as long as the kernel has not taken all of them.
    handed_over: Cell<usize>,
    looks: Cell<u32>,
}

impl XdpLink {
    /// Puts parts into the transmit ring, as far as there is room for them; returns how many bytes these are.
    #[inline]
    fn hand_over(&self, bytes: &[u8]) -> usize {
        let mut done = 0;
        for part in bytes.chunks(PART).take(BATCH) {
            if !self.credit.has_room() {
                break;
            }
            let number = self.credit.sent();
            if !self.xsk.put(&head(number), part) {
                break;
            }
            self.credit.add_sent();
            done += part.len();
        }
        done
    }

    /// There is no room at the other end.
    #[inline]
    fn wait_for_room(&self) -> Result<(), Errno> {
        if self.sleeps {
            return self.credit.sleep_for_room();
        }
        self.check_peer()?.then_some(()).ok_or(Errno::EPIPE)
    }

    /// There is no frame. False if there will be none any more.
    #[inline]
    fn wait_for_frame(&self) -> Result<bool, Errno> {
        if self.sleeps {
            return self.credit.sleep_for_frame(self.xsk.fd());
        }
        self.check_peer()
    }

    /// True unless the other end is closed, which is asked now and then.
    #[inline]
    fn check_peer(&self) -> Result<bool, Errno> {
        self.looks.set(self.looks.get().wrapping_add(1));
        if self.looks.get().is_multiple_of(LOOKS) { self.credit.is_peer_there() } else { Ok(true) }
    }
}

impl Link for XdpLink {
    #[inline]
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        if self.handed_over.get() == 0 {
            if !self.credit.has_room() {
                self.wait_for_room()?;
            }
            self.handed_over.set(self.hand_over(&frame[from..]));
        }
        if self.handed_over.get() == 0 || !self.xsk.send()? {
            return Err(Errno::EAGAIN);
        }
        Ok(self.handed_over.replace(0))
    }

    #[inline]
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let Some(got) = self.xsk.first() else {
            return if self.wait_for_frame()? { Err(Errno::EAGAIN) } else { Ok(0) };
        };
        let (number, part) = split(got).ok_or(Errno::EPROTO)?;
        if number != self.credit.received() {
            return Err(Errno::EPROTO);
        }
        let room = frame.get_mut(from..from + part.len()).ok_or(Errno::EMSGSIZE)?;
        room.copy_from_slice(part);
        let count = part.len();
        self.xsk.drop_first();
        self.credit.add_received();
        Ok(count)
    }
}

/// The head of the frame of this number.
#[inline]
fn head(number: u16) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[12..14].copy_from_slice(&program::KIND);
    head[14..].copy_from_slice(&number.to_ne_bytes());
    head
}

/// The number of a frame, and the part that it carries.
#[inline]
fn split(frame: &[u8]) -> Option<(u16, &[u8])> {
    let (head, part) = frame.split_first_chunk::<HEAD>()?;
    let is_part = (1..=PART).contains(&part.len()) && head[12..14] == program::KIND;
    is_part.then(|| (u16::from_ne_bytes([head[14], head[15]]), part))
}

impl Transport for Xdp {
    const CYCLES: bool = true;
    type Endpoint = Framed<XdpLink>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        support::probe()
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error> {
        let sleeps = settings.wait == Wait::Block;
        let credit = Credit::open(settings.role, sleeps, peers)?;
        let xsk = if settings.role.is_leader() {
            wires::lead(peers).map_err(support::explained)?
        } else {
            wires::follow(peers)?
        };
        peers.meet()?;
        let (handed_over, looks) = (Cell::new(0), Cell::new(0));
        Framed::new(XdpLink { xsk, credit, sleeps, handed_over, looks }, OBJECT, settings)
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("xdp"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("AF_XDP sockets at a virtual Ethernet pair; four copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: Capabilities::usual(),
};

/// `xdp`, as it stands in the list.
pub const TRANSPORT: Xdp = Xdp;

#[cfg(test)]
mod tests;
