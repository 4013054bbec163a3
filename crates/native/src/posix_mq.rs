//! `posix-mq`: two POSIX message queues.
//!
//! - Mechanism: `mq_send` into one queue, `mq_receive` from the other; one queue per direction.
//! - Kernel objects: two message queues. On Linux a queue is a descriptor, so the leader removes
//!   the names at once and sends the descriptors: nothing remains after a crash.
//! - Copies per message: two, into the kernel's message and out of it.
//! - Spin: the descriptors do not block; an empty or full queue returns EAGAIN. Block: both calls
//!   sleep. A closed queue does not wake the other end, so an end sends an empty message before it
//!   closes; a killed end cannot.
//! - Limits: fs.mqueue.msgsize_max (usually 8 KiB) bytes per message: larger ones are split.
//!   fs.mqueue.msg_max (10) messages per queue, fewer where RLIMIT_MSGQUEUE requires it.

use std::{
    borrow::Cow,
    os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd},
};

use ipcmark_transport::{
    Availability, BUFFERS, Capabilities, Carrier, DeclaredCarrier, Definition, Error, Leftover,
    OptionSpec, Rendezvous, SessionName, Settings, Transport, Wait,
};
use nix::{
    errno::Errno,
    mqueue::{MQ_OFlag, MqAttr, mq_open, mq_unlink},
    sys::stat::Mode,
};

use crate::{
    descriptors,
    frame::{Framed, HEAD, Link},
    limits,
};

const OBJECT: &str = "the message queue";

/// The options.
static OPTIONS: [OptionSpec; 2] = [
    OptionSpec::new(
        "depth",
        "1..65536",
        "fs.mqueue.msg_max, fewer where RLIMIT_MSGQUEUE asks for it",
        "messages that a queue holds; more than fs.mqueue.msg_max needs CAP_SYS_RESOURCE",
    ),
    BUFFERS,
];

/// The transport.
pub struct PosixMq;

impl Transport for PosixMq {
    const CYCLES: bool = true;
    type Endpoint = Framed<Queues>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        limits::probe("fs/mqueue/msg_max", "the kernel has no POSIX message queues")
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error> {
        let link = if settings.role.is_leader() {
            lead(settings, peers)?
        } else {
            let [read, write] = descriptors::receive(peers, OBJECT)?;
            Queues { read, write, part: part(settings) }
        };
        Framed::new(link, OBJECT, settings)
    }

    /// A process killed between creating a queue and removing its name leaves the queue behind.
    fn leftovers(&self, sessions: &[SessionName]) -> Result<Vec<Leftover>, Error> {
        let queues = sessions.iter().flat_map(|session| names(session));
        Ok(queues.map(Leftover::MessageQueue).collect())
    }
}

/// The names of a session's two queues, which exist only briefly.
fn names(session: &str) -> [String; 2] {
    [format!("/{session}-0"), format!("/{session}-1")]
}

fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Queues, Error> {
    let part = part(settings);
    let [to, fro] = names(&settings.name);
    let depth = settings.number("depth").map(|depth| depth as usize);
    let create = |name| match depth {
        Some(slots) => open(name, slots, part, settings.wait).map_err(|e| cannot_create(name, e)),
        None => create(name, part, settings.wait),
    };
    let write = create(&to)?;
    let read = create(&fro)?;
    peers.send(0, b"queues", &[write.as_fd(), read.as_fd()])?;
    Ok(Queues { read, write, part })
}

/// The size of one queue message in bytes: the whole frame, or as much as the system allows.
fn part(settings: &Settings) -> usize {
    let most = limits::read("fs/mqueue/msgsize_max").unwrap_or(8192);
    (settings.payload + HEAD).min(most)
}

/// Creates a queue with as many messages as this user may have, and removes its name again.
fn create(name: &str, part: usize, wait: Wait) -> Result<OwnedFd, Error> {
    let mut slots = limits::read("fs/mqueue/msg_max").unwrap_or(10);
    loop {
        match open(name, slots, part, wait) {
            // The user's memory for queues is used up: a shorter queue needs less.
            Err(Errno::EMFILE) if slots > 1 => slots /= 2,
            Err(errno) => return Err(cannot_create(name, errno)),
            Ok(queue) => return Ok(queue),
        }
    }
}

fn open(name: &str, slots: usize, part: usize, wait: Wait) -> nix::Result<OwnedFd> {
    let mut flags = MQ_OFlag::O_CREAT | MQ_OFlag::O_EXCL | MQ_OFlag::O_RDWR | MQ_OFlag::O_CLOEXEC;
    flags.set(MQ_OFlag::O_NONBLOCK, wait == Wait::Spin);
    let attributes = MqAttr::new(0, slots as i64, part as i64, 0);
    let queue = mq_open(name, flags, Mode::S_IRUSR | Mode::S_IWUSR, Some(&attributes))?;
    // SAFETY: the descriptor was just opened and nothing else owns it.
    let queue = unsafe { OwnedFd::from_raw_fd(queue.into_raw_fd()) };
    mq_unlink(name)?;
    Ok(queue)
}

fn cannot_create(name: &str, errno: Errno) -> Error {
    let error = Error::os("create", format!("the message queue {name}"), errno);
    match errno {
        Errno::EMFILE => error.remedy("raise the bytes for message queues (ulimit -q)"),
        Errno::ENOSPC => error.remedy("raise fs.mqueue.queues_max, or remove queues"),
        Errno::EINVAL => error.remedy("check fs.mqueue.msg_max and fs.mqueue.msgsize_max"),
        _ => error,
    }
}

/// The two queues of one end.
pub struct Queues {
    read: OwnedFd,
    write: OwnedFd,
    /// The size of one queue message in bytes.
    part: usize,
}

impl Link for Queues {
    #[inline]
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let part = &frame[from..frame.len().min(from + self.part)];
        // SAFETY: the part is valid memory of its length; on Linux a queue is a descriptor.
        let result =
            unsafe { libc::mq_send(self.write.as_raw_fd(), part.as_ptr().cast(), part.len(), 0) };
        Errno::result(result).map(|_| part.len())
    }

    #[inline]
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let room = &mut frame[from..];
        // SAFETY: the room is valid memory of its length; no priority is requested.
        let count = unsafe {
            let (at, len) = (room.as_mut_ptr().cast(), room.len());
            libc::mq_receive(self.read.as_raw_fd(), at, len, std::ptr::null_mut())
        };
        Errno::result(count).map(|count| count as usize)
    }

    /// The queue's largest message: `mq_receive` refuses a smaller buffer.
    fn slack(&self) -> usize {
        self.part
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        let long_ago = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: an empty message from a valid address; because the timeout is in the past, a full queue
        // does not block.
        unsafe { libc::mq_timedsend(self.write.as_raw_fd(), [].as_ptr(), 0, 0, &long_ago) };
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("posix-mq"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("two POSIX message queues; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: Capabilities::usual(),
};

/// The entry of `posix-mq` in the list of transports.
pub const TRANSPORT: PosixMq = PosixMq;

#[cfg(test)]
mod tests {
    use super::*;

    crate::testing::queue::reliable_queue!(super::TRANSPORT);

    #[test]
    fn a_refused_queue_names_the_limit() {
        let error = cannot_create("/x", Errno::EMFILE).to_string();
        assert!(error.contains("/x") && error.contains("ulimit -q"), "{error}");
        let error = cannot_create("/x", Errno::ENOSPC).to_string();
        assert!(error.contains("fs.mqueue.queues_max"), "{error}");
    }

    #[test]
    fn a_queue_of_too_large_messages_is_refused_with_a_remedy() {
        let name = format!("/ipcmark-large-{}", std::process::id());
        let error = create(&name, 1 << 30, Wait::Spin).unwrap_err().to_string();
        assert!(error.contains(&name) && error.contains("; "), "{error}");
    }

    #[test]
    fn the_names_of_a_killed_session_are_known() {
        let session = SessionName::new("ipcmark-1").unwrap();
        let [to, fro] = names(&session);
        let named = TRANSPORT.leftovers(&[session]).unwrap();
        assert_eq!(named, [Leftover::MessageQueue(to), Leftover::MessageQueue(fro)]);
    }
}
