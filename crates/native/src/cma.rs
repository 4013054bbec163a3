//! `cma`: cross-memory attach. The receiver copies the message directly from the sender's private memory.
//!
//! - Mechanism: the sender writes the message into one of its slots, ordinary private memory, and puts a notice with
//!   its address, length and number into a ring in shared memory. The receiver copies the message with one
//!   `process_vm_readv` and then releases the notice, which frees the slot: there are as many notices as slots.
//! - Kernel objects: a sealed memory file without a name for the notices; a futex while an end sleeps.
//! - Copies per message: one, by the kernel, from the sender's buffer into the receiver's.
//! - Blocks: on a futex, as `shm-futex`; polling for a notice takes no system call.
//! - Limits: the kernel must let the processes trace each other (Yama, capabilities, seccomp), and both must be in one
//!   PID namespace.

use std::{borrow::Cow, collections::BTreeMap};

use ipcmark_transport::{
    Availability, Capabilities, Carrier, DeclaredCarrier, Definition, Endpoint, Error, NOTICES,
    OptionSpec, Rendezvous, Settings, Step, Transport, Wait,
};

use crate::{
    buffer::Buffer,
    peer::PeerId,
    random,
    shared::{
        self,
        duplex::{self, Duplex, Futex},
        region::{Region, sealed},
        ring,
    },
    traceable::Traceable,
};

mod copy;
mod permission;

use copy::{OBJECT, OPERATION, copy};

/// The options.
static OPTIONS: [OptionSpec; 1] = [OptionSpec::new(
    "depth",
    "2..1024",
    "64, or as many messages as 64 KiB hold and at least 4",
    "messages that a sender has room for before the receiver must have copied the first",
)];

/// The transport.
pub struct Cma;

/// One end.
pub struct CmaEndpoint {
    notices: Duplex<Futex>,
    peer: libc::pid_t,
    /// Messages of this end until the peer has copied them.
    slots: Vec<Buffer>,
    next: usize,
    /// Length of the message on loan.
    len: usize,
    sent: u64,
    received: u64,
    /// The taken message.
    incoming: Buffer,
    taken: usize,
    payload: usize,
    _traceable: Traceable,
}

/// The address, length and number of a message. It comes from the peer: only length and number can be checked here,
/// because the address is valid only in the peer, where the kernel checks it.
#[derive(Clone, Copy)]
struct Notice {
    address: u64,
    len: u64,
    number: u64,
}

impl Notice {
    const BYTES: usize = 24;

    #[inline]
    fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (at, word) in [self.address, self.len, self.number].into_iter().enumerate() {
            bytes[at * 8..(at + 1) * 8].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Copies the bytes out of shared memory before checking them, because the peer could change them there.
    #[inline]
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; Self::BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| bytes[at * 8..].first_chunk().copied().map(u64::from_ne_bytes);
        Some(Self { address: word(0)?, len: word(1)?, number: word(2)? })
    }

    /// The length, if the notice has this number and a valid length.
    #[inline]
    fn len(&self, number: u64, payload: usize) -> Option<usize> {
        let len = usize::try_from(self.len).ok()?;
        (self.number == number && shared::is_length(len, payload)).then_some(len)
    }
}

impl Transport for Cma {
    type Endpoint = CmaEndpoint;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        permission::probe()
    }

    fn open(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<CmaEndpoint, Error> {
        let payload = settings.payload;
        let slots: Vec<Buffer> = (0..depth(settings)).map(|_| Buffer::new(payload)).collect();
        let traceable = Traceable::allow();
        // The number stays in place until both ends have met, after each has read the other's.
        let proof = Box::new(random::number()?);
        let peer = introduce(peers, &proof)?;
        let notices = open_notices(settings, peers, slots.len())?;
        Ok(CmaEndpoint {
            notices,
            peer,
            slots,
            next: 0,
            len: 0,
            sent: 0,
            received: 0,
            incoming: Buffer::new(payload),
            taken: 0,
            payload,
            _traceable: traceable,
        })
    }
}

/// The number of messages that a sender has room for.
fn depth(settings: &Settings) -> usize {
    let usual = ((64 << 10) / settings.payload).clamp(4, 64);
    settings.number("depth").map_or(usual, |depth| depth as usize)
}

/// Opens the two rings of notices. Each notice takes the smallest record size, so that a ring holds exactly `depth`.
fn open_notices(
    settings: &Settings,
    peers: &mut dyn Rendezvous,
    depth: usize,
) -> Result<Duplex<Futex>, Error> {
    let capacity = ring::least(Notice::BYTES) / 2 * depth;
    let options = BTreeMap::from([("capacity".to_owned(), capacity.to_string())]);
    let settings = Settings { payload: Notice::BYTES, options, ..settings.clone() };
    let len = duplex::size(&settings)?;
    let region = Region::share(settings.role, peers, len, || sealed(NOTICES, len))?;
    Duplex::open(&settings, peers, region, Futex::new(settings.wait))
}

/// Exchanges process ids. The peer could send the id of any process, whose memory must not be read on its behalf. So
/// the process must run this executable and hold an unguessable number at the address that the peer sent.
fn introduce(peers: &mut dyn Rendezvous, proof: &u64) -> Result<libc::pid_t, Error> {
    let own = PeerId::own();
    let at = (&raw const *proof).expose_provenance() as u64;
    peers.send(0, &own.to_bytes(), &[])?;
    peers.send(0, &[at.to_ne_bytes(), proof.to_ne_bytes()].concat(), &[])?;
    let peer = PeerId::from_bytes(&peers.receive(0)?.0)?;
    own.check_namespace(&peer, OPERATION)?;
    let said = peers.receive(0)?.0;
    let words = said.first_chunk().zip(said.last_chunk()).filter(|_| said.len() == 16);
    let (at, number) = words.ok_or_else(|| {
        Error::new("receive", "the proof of the other process", "the frame has a wrong length")
    })?;
    let mut found = [0; 8];
    copy(peer.pid, u64::from_ne_bytes(*at), &mut found)?;
    if &found != number || !peer.is_this_program()? {
        let cause = format!("process {} is not the other end", peer.pid);
        return Err(Error::new(OPERATION, OBJECT, cause));
    }
    Ok(peer.pid)
}

impl Endpoint for CmaEndpoint {
    /// A loaned notice implies a free slot: the message `depth` notices earlier has been copied.
    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.len = len;
        self.notices.loan(Notice::BYTES)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        &mut self.slots[self.next][..self.len]
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        let address = self.slots[self.next].as_ptr().expose_provenance() as u64;
        let notice = Notice { address, len: self.len as u64, number: self.sent };
        self.notices.room().copy_from_slice(&notice.to_bytes());
        let step = self.notices.publish()?;
        if step == Step::Done {
            self.sent += 1;
            self.next = if self.next + 1 < self.slots.len() { self.next + 1 } else { 0 };
        }
        Ok(step)
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        if self.notices.take()? == Step::WouldBlock {
            return Ok(Step::WouldBlock);
        }
        let notice = Notice::from_bytes(self.notices.message());
        let notice = notice.ok_or_else(|| shared::corrupt("length"))?;
        let len = notice.len(self.received, self.payload);
        self.taken = len.ok_or_else(|| shared::corrupt("length or number"))?;
        copy(self.peer, notice.address, &mut self.incoming[..self.taken])?;
        self.received += 1;
        self.notices.release()?;
        Ok(Step::Done)
    }

    #[inline]
    fn message(&self) -> &[u8] {
        &self.incoming[..self.taken]
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("depth".to_owned(), format!("{} messages", self.slots.len()))])
    }

    fn parts_per_message(&self) -> Option<f64> {
        Some(1.0)
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("cma"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed(
        "process_vm_readv out of the sender's private memory; one copy a message",
    ),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: Capabilities::waiting(&[Wait::Spin, Wait::Block, Wait::Hybrid]),
};

/// The entry of `cma` in the list of transports.
pub const TRANSPORT: Cma = Cma;

#[cfg(all(test, not(loom)))]
mod tests;
