//! `sysv-mq`: two System V message queues.
//!
//! - Mechanism: `msgsnd` into one queue, `msgrcv` from the other; one queue per direction.
//! - Kernel objects: two message queues, created by the leader under keys derived from the session's
//!   name. They are not descriptors and outlive their processes: each end removes the queue that it
//!   reads when it closes, and both if the other end is dead; the queues of two killed ends are found
//!   by their keys.
//! - Copies per message: two, into the kernel's message and out of it.
//! - Spin: IPC_NOWAIT. Block: both calls sleep. Nothing wakes a reader whose writer is gone, so an
//!   end sends an empty message before it closes; a killed end cannot.
//! - Limits: kernel.msgmax (usually 8 KiB) bytes per message: larger ones are split. kernel.msgmnb
//!   (16 KiB) bytes in a queue. The mandatory type of a queue message carries the length of our
//!   message.

use std::borrow::Cow;

use ipcmark_transport::{
    Availability, BUFFERS, Capabilities, Carrier, DeclaredCarrier, Definition, Error, Leftover,
    OptionSpec, Rendezvous, SessionName, Settings, Transport, Wait,
};
use libc::{c_int, c_long, key_t, pid_t};
use nix::errno::Errno;

use crate::{
    frame::{Framed, HEAD, Link},
    limits, peer, system_v,
};

const OBJECT: &str = "the message queue";

/// The type has the place of the frame's length.
const _: () = assert!(size_of::<c_long>() == HEAD);

/// The type of every queue message that continues one of ours.
const CONTINUED: c_long = 1;

/// The options.
static OPTIONS: [OptionSpec; 2] = [
    OptionSpec::new(
        "queue-bytes",
        "1k..64M",
        "kernel.msgmnb",
        "bytes that a queue holds; more than kernel.msgmnb needs CAP_SYS_RESOURCE",
    ),
    BUFFERS,
];

/// The transport.
pub struct SysvMq;

impl Transport for SysvMq {
    const CYCLES: bool = true;
    type Endpoint = Framed<Queues>;

    fn definition(&self) -> &Definition {
        &DEFINITION
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
        Framed::new(link, OBJECT, settings)
    }

    fn leftovers(&self, sessions: &[SessionName]) -> Result<Vec<Leftover>, Error> {
        Ok(sessions.iter().flat_map(|session| keys(session)).map(Leftover::SystemVQueue).collect())
    }
}

/// The keys of a session's two queues: the leader's outgoing one, then its incoming one.
fn keys(session: &str) -> [key_t; 2] {
    [system_v::key(session, 0), system_v::key(session, 1)]
}

fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Queues, Error> {
    let [to, fro] = keys(&settings.name);
    let (outgoing, incoming) = (Queue::create(to, settings)?, Queue::create(fro, settings)?);
    send_number(peers)?;
    Ok(Queues::new(incoming, outgoing, receive_number(peers)?, settings))
}

fn follow(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Queues, Error> {
    // The leader sends its number after creating the queues.
    let peer = receive_number(peers)?;
    let [to, fro] = keys(&settings.name);
    let (incoming, outgoing) = (Queue::open(to)?, Queue::open(fro)?);
    send_number(peers)?;
    Ok(Queues::new(incoming, outgoing, peer, settings))
}

/// Sends the process id to the other end.
fn send_number(peers: &mut dyn Rendezvous) -> Result<(), Error> {
    peers.send(0, std::process::id().to_string().as_bytes(), &[])
}

fn receive_number(peers: &mut dyn Rendezvous) -> Result<pid_t, Error> {
    let (frame, _) = peers.receive(0)?;
    let number = std::str::from_utf8(&frame).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Error::new("read", "the other process's number", "it sent something else"))
}

/// A message queue.
struct Queue {
    id: c_int,
    /// True if the queue is removed on drop.
    remove: bool,
}

impl Queue {
    /// Creates a queue under an unused key.
    fn create(key: key_t, settings: &Settings) -> Result<Self, Error> {
        let queue = Self::get(key, libc::IPC_CREAT | libc::IPC_EXCL | 0o600)
            .map_err(|errno| cannot_create(key, errno))?;
        if let Some(bytes) = settings.number("queue-bytes") {
            queue.resize(bytes).map_err(cannot_resize)?;
        }
        Ok(queue)
    }

    /// Opens an existing queue.
    fn open(key: key_t) -> Result<Self, Error> {
        Self::get(key, 0).map_err(|errno| Error::os("open", described(key), errno))
    }

    fn get(key: key_t, flags: c_int) -> nix::Result<Self> {
        // SAFETY: plain numbers.
        let id = unsafe { libc::msgget(key, flags) };
        Errno::result(id).map(|id| Self { id, remove: true })
    }

    fn resize(&self, bytes: u64) -> nix::Result<()> {
        // SAFETY: all zeros is a valid description, which the first call fills in and the second
        // reads the size from.
        unsafe {
            let mut description: libc::msqid_ds = std::mem::zeroed();
            Errno::result(libc::msgctl(self.id, libc::IPC_STAT, &mut description))?;
            description.msg_qbytes = bytes;
            Errno::result(libc::msgctl(self.id, libc::IPC_SET, &mut description)).map(drop)
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.remove {
            // SAFETY: removal takes no argument.
            unsafe { libc::msgctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
        }
    }
}

fn described(key: key_t) -> String {
    format!("the System V message queue with the key {key:#010x}")
}

fn cannot_create(key: key_t, errno: Errno) -> Error {
    let error = Error::os("create", described(key), errno);
    match errno {
        Errno::ENOSPC => error.remedy("raise kernel.msgmni, or remove queues (ipcs -q, ipcrm)"),
        Errno::EEXIST => error.remedy(format!("remove it (ipcrm -Q {key:#010x}), if it is yours")),
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
    /// The process at the other end.
    peer: pid_t,
    /// The size of one queue message in bytes.
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
    /// A queue message has its type directly before its text: for the first one, that is the length at the
    /// frame's start; for later ones, the type overwrites bytes already sent.
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

    /// After the frame's start, the received type overwrites bytes that are restored afterwards.
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

/// The type before the text, in this machine's byte order; a frame's length is little-endian.
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

/// Maps both errors of a removed queue to one: EIDRM if it was removed during the sleep, EINVAL if before.
#[cold]
fn removed(errno: Errno) -> Errno {
    if errno == Errno::EINVAL { Errno::EIDRM } else { errno }
}

impl Drop for Queues {
    /// Unread messages stay for the other end to read; it removes their queue when it closes. If it is
    /// dead, this end removes that queue too.
    fn drop(&mut self) {
        let close_message = CONTINUED;
        // SAFETY: the message is a type without text.
        unsafe {
            libc::msgsnd(self.outgoing.id, (&raw const close_message).cast(), 0, libc::IPC_NOWAIT);
        }
        self.outgoing.remove = !peer::is_alive(self.peer);
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("sysv-mq"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("two System V message queues; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: Capabilities::usual(),
};

/// The entry of `sysv-mq` in the list of transports.
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
    fn the_queues_are_removed_once_both_ends_are_closed() {
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
    fn a_key_in_use_is_refused() {
        let settings = crate::testing::settings(Wait::Spin, 64);
        let [key, _] = keys("ipcmark-taken");
        let _queue = Queue::create(key, &settings).unwrap();
        let error = Queue::create(key, &settings).err().unwrap().to_string();
        assert!(error.contains("File exists") && error.contains("ipcrm -Q 0x69"), "{error}");
    }

    #[test]
    fn the_queues_of_a_killed_session_are_known_by_their_keys() {
        let settings = crate::testing::settings(Wait::Spin, 64);
        let session = SessionName::new("ipcmark-left").unwrap();
        let named = TRANSPORT.leftovers(std::slice::from_ref(&session)).unwrap();
        assert_eq!(named, keys(&session).map(Leftover::SystemVQueue));
        let queue = Queue::create(keys(&session)[0], &settings).unwrap();
        assert_eq!(
            Queue::open(keys(&session)[0])
                .map(|mut other| {
                    other.remove = false;
                    other.id
                })
                .unwrap(),
            queue.id
        );
    }
}
