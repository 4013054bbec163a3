//! `sysv-mq`: two System V message queues.
//!
//! - Mechanism: `msgsnd` into one queue, `msgrcv` from the other; one queue for each direction.
//! - Kernel objects: two message queues, made by the leader under random keys that begin with the
//!   letters `ip`. They are no descriptors and outlive their processes: each end removes the queue
//!   that it reads when it closes, and both if the other end is dead; what two killed ends left,
//!   [`leftovers::remove`] finds.
//! - Copies a message: two, into the kernel's message and out of it.
//! - Spin: IPC_NOWAIT. Block: both calls sleep. Nothing wakes a reader whose writer is gone, so an
//!   end sends an empty message before it closes; an end that is killed cannot.
//! - Limits: kernel.msgmax (8 KiB as a rule) bytes a message: larger ones are cut. kernel.msgmnb
//!   (16 KiB) bytes in a queue. The type that a message of the queue has to have carries the length
//!   of ours.

use std::borrow::Cow;

use ipcmark_transport::{
    Availability, Carrier, Definition, Error, OptionSpec, Rendezvous, Settings, Transport, Wait,
};
use libc::{c_int, c_long, pid_t};
use nix::errno::Errno;

use crate::{
    frame::{self, Framed, HEAD, Link},
    leftovers, limits, random,
};

const OBJECT: &str = "the message queue";

/// The type lies where the frame's length lies.
const _: () = assert!(size_of::<c_long>() == HEAD);

/// The type of every message of the queue that does not begin one of ours.
const CONTINUED: c_long = 1;

/// What users can set.
static OPTIONS: [OptionSpec; 1] = [OptionSpec::new(
    "queue-bytes",
    "1k..64M",
    "kernel.msgmnb",
    "bytes that a queue holds; more than kernel.msgmnb needs CAP_SYS_RESOURCE",
)];

/// The transport.
pub struct SysvMq;

impl Transport for SysvMq {
    type Endpoint = Framed<Queues>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn carrier(&self) -> Option<Carrier> {
        Some(Carrier::Kernel)
    }

    fn options(&self) -> &[OptionSpec] {
        &OPTIONS
    }

    fn probe(&self) -> Availability {
        limits::probe("kernel/msgmax", "the kernel has no System V message queues")
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error> {
        let link = if settings.role.is_leader() {
            lead(settings, peers)?
        } else {
            follow(settings, peers)?
        };
        Ok(Framed::new(link, OBJECT, settings))
    }

    /// A queue has no name, so this removes those of every dead session of this user.
    fn remove(&self, _: &str) -> Result<(), Error> {
        leftovers::remove().map(drop)
    }
}

fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Queues, Error> {
    let (outgoing, incoming) = (Queue::create(settings)?, Queue::create(settings)?);
    let own = std::process::id();
    let frame = format!("{} {} {own}", outgoing.id, incoming.id);
    peers.send(0, frame.as_bytes(), &[])?;
    let [peer] = receive(peers)?;
    Ok(Queues::new(incoming, outgoing, peer, settings))
}

fn follow(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Queues, Error> {
    let [incoming, outgoing, peer] = receive(peers)?;
    let (incoming, outgoing) =
        (Queue { id: incoming, remove: true }, Queue { id: outgoing, remove: true });
    peers.send(0, std::process::id().to_string().as_bytes(), &[])?;
    Ok(Queues::new(incoming, outgoing, peer, settings))
}

/// Receives `N` numbers.
fn receive<const N: usize>(peers: &mut dyn Rendezvous) -> Result<[c_int; N], Error> {
    let (frame, _) = peers.receive(0)?;
    let text = String::from_utf8_lossy(&frame);
    let numbers: Option<Vec<c_int>> = text.split(' ').map(|word| word.parse().ok()).collect();
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| Error::new("read", "the other end's numbers", format!("it sent {text}")))
}

/// A message queue.
struct Queue {
    id: c_int,
    /// Whether it is removed when it goes out of scope.
    remove: bool,
}

impl Queue {
    /// Makes a queue under a free key. A message through it at once lets the system's table name
    /// this process, so that the queue is not taken for one that a dead process left.
    fn create(settings: &Settings) -> Result<Self, Error> {
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
        loop {
            // SAFETY: plain numbers.
            let id = unsafe { libc::msgget(leftovers::key(random::number()?), flags) };
            match Errno::result(id) {
                Err(Errno::EEXIST) => {}
                Err(errno) => return Err(cannot_create(errno)),
                Ok(id) => {
                    let queue = Self { id, remove: true };
                    if let Some(bytes) = settings.number("queue-bytes") {
                        queue.resize(bytes).map_err(cannot_resize)?;
                    }
                    queue.mark().map_err(|errno| Error::os("try", OBJECT, errno))?;
                    return Ok(queue);
                }
            }
        }
    }

    fn resize(&self, bytes: u64) -> nix::Result<()> {
        // SAFETY: all zeros is a valid description, which the first call fills in and the second
        // takes its size from.
        unsafe {
            let mut description: libc::msqid_ds = std::mem::zeroed();
            Errno::result(libc::msgctl(self.id, libc::IPC_STAT, &mut description))?;
            description.msg_qbytes = bytes;
            Errno::result(libc::msgctl(self.id, libc::IPC_SET, &mut description)).map(drop)
        }
    }

    fn mark(&self) -> nix::Result<()> {
        let mut message = [CONTINUED, 0];
        // SAFETY: the message is a type and 8 bytes of text.
        unsafe {
            let at = message.as_mut_ptr().cast();
            Errno::result(libc::msgsnd(self.id, at, HEAD, libc::IPC_NOWAIT))?;
            Errno::result(libc::msgrcv(self.id, at.cast(), HEAD, 0, libc::IPC_NOWAIT)).map(drop)
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.remove {
            // SAFETY: removing takes no argument.
            unsafe { libc::msgctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
        }
    }
}

fn cannot_create(errno: Errno) -> Error {
    let error = Error::os("create", "a System V message queue", errno);
    match errno {
        Errno::ENOSPC => error.remedy("raise kernel.msgmni, or remove queues (ipcs -q, ipcrm)"),
        _ => error,
    }
}

fn cannot_resize(errno: Errno) -> Error {
    let error = Error::os("resize", OBJECT, errno);
    match errno {
        Errno::EPERM => error.remedy("raise kernel.msgmnb, or set fewer queue-bytes"),
        _ => error,
    }
}

/// The two queues of one end.
pub struct Queues {
    incoming: Queue,
    outgoing: Queue,
    /// Process of the other end.
    peer: pid_t,
    /// Bytes of one message of the queue.
    part: usize,
    flags: c_int,
}

impl Queues {
    fn new(incoming: Queue, outgoing: Queue, peer: pid_t, settings: &Settings) -> Self {
        let limit = |name| limits::read(name).unwrap_or(8192);
        let held = settings.number("queue-bytes").map(|bytes| bytes as usize);
        let part = limit("kernel/msgmax").min(held.unwrap_or_else(|| limit("kernel/msgmnb")));
        let flags = if settings.wait == Wait::Spin { libc::IPC_NOWAIT } else { 0 };
        Self { incoming, outgoing, peer, part, flags }
    }
}

impl Link for Queues {
    /// A message of the queue has its type right before its text: the length at the frame's start
    /// is the first one's type, and the type of a later one takes the place of bytes already sent.
    #[inline]
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let text = from.max(HEAD);
        let count = self.part.min(frame.len() - text);
        let message = &mut frame[text - HEAD..text + count];
        set_type(message, if from == 0 { type_of(message).to_le() } else { CONTINUED });
        // SAFETY: the message is a type and `count` bytes of text.
        let result =
            unsafe { libc::msgsnd(self.outgoing.id, message.as_ptr().cast(), count, self.flags) };
        Errno::result(result).map_err(removed).map(|_| text + count - from)
    }

    /// Beyond the frame's start the type is received over bytes that are put back afterwards.
    #[inline]
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let text = from.max(HEAD);
        let message = &mut frame[text - HEAD..];
        let before = type_of(message);
        // SAFETY: the message has room for a type and the rest as text.
        let count = unsafe {
            let (at, room) = (message.as_mut_ptr().cast(), message.len() - HEAD);
            libc::msgrcv(self.incoming.id, at, room, 0, self.flags)
        };
        let count = Errno::result(count).map_err(removed)? as usize;
        set_type(message, if from == 0 { type_of(message).to_le() } else { before });
        Ok(if count == 0 { 0 } else { text + count - from })
    }
}

/// What stands before the text, in this machine's byte order; a frame's length is little-endian.
#[inline]
fn type_of(message: &[u8]) -> c_long {
    let mut bytes = [0; HEAD];
    bytes.copy_from_slice(&message[..HEAD]);
    c_long::from_ne_bytes(bytes)
}

#[inline]
fn set_type(message: &mut [u8], kind: c_long) {
    message[..HEAD].copy_from_slice(&kind.to_ne_bytes());
}

/// A queue that the other end removed while we slept is EIDRM, one removed before is EINVAL.
#[cold]
fn removed(errno: Errno) -> Errno {
    if errno == Errno::EINVAL { Errno::EIDRM } else { errno }
}

impl Drop for Queues {
    /// What the other end has not read yet stays for it to read; it removes that queue when it
    /// closes. If it is dead, nobody else would.
    fn drop(&mut self) {
        let farewell = CONTINUED;
        // SAFETY: the message is a type without text.
        unsafe {
            libc::msgsnd(self.outgoing.id, (&raw const farewell).cast(), 0, libc::IPC_NOWAIT);
        }
        self.outgoing.remove = !leftovers::is_alive(self.peer);
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("sysv-mq"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("two System V message queues; two copies a message"),
    capabilities: frame::capabilities(),
};

/// `sysv-mq`, as it stands in the list.
pub const TRANSPORT: SysvMq = SysvMq;

#[cfg(test)]
mod tests {
    use ipcmark_transport::Endpoint;

    use super::*;
    use crate::testing::queue;

    queue::reliable_queue!(super::TRANSPORT);

    fn exists(id: c_int) -> bool {
        // SAFETY: the kernel fills the structure.
        unsafe {
            let mut state = std::mem::zeroed();
            libc::msgctl(id, libc::IPC_STAT, &mut state) == 0
        }
    }

    #[test]
    fn the_queues_are_gone_once_both_ends_are_closed() {
        let (leader, follower) = queue::ends(&SysvMq, Wait::Spin, 64);
        let ids = [leader.link().incoming.id, leader.link().outgoing.id];
        assert!(ids.iter().all(|id| exists(*id)));
        drop(follower);
        assert!(exists(ids[0]), "what the follower sent last can still be read");
        drop(leader);
        assert!(!ids.iter().any(|id| exists(*id)));
    }

    #[test]
    fn an_end_removes_both_queues_if_the_other_is_dead() {
        let (mut leader, follower) = queue::ends(&SysvMq, Wait::Spin, 64);
        let ids = [leader.link().incoming.id, leader.link().outgoing.id];
        std::mem::forget(follower);
        leader.link_mut().peer = queue::dead_process();
        assert_eq!(leader.take().unwrap(), ipcmark_transport::Step::WouldBlock);
        drop(leader);
        assert!(!ids.iter().any(|id| exists(*id)));
    }

    #[test]
    fn a_queue_of_a_living_process_is_no_leftover() {
        let (leader, follower) = queue::ends(&SysvMq, Wait::Spin, 64);
        TRANSPORT.remove("any").unwrap();
        assert!(exists(leader.link().incoming.id) && exists(follower.link().incoming.id));
    }
}
