//! The possible faults of a transport.

use ipcmark_transport::Role;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// No fault, and it declares that its endpoints alternate.
    TakesTurns,
    /// A message that is published is mistreated.
    Message(FaultySide, MessageFault, AffectedMessages),
    /// The same as [`Fault::Message`], and the transport declares that it is unreliable.
    Unreliable(FaultySide, MessageFault, AffectedMessages),
    /// A process acts at some moment.
    Process(FaultySide, Moment, Act),
    /// Both directions are one queue.
    OneQueue,
    /// All sessions share their queues.
    SharedBySessions,
    /// Messages that do not fit into a full queue are dropped.
    DropsWhenFull,
    /// A message that waits for a receiver that does not run is dropped.
    DropsWhenStopped,
    /// A full queue is an error.
    FailsWhenFull,
    /// No message ever arrives.
    NeverDelivers,
    /// Opening an endpoint creates a file in `/dev/shm` that is never removed.
    LeavesAFile,
    /// A file exists in `/dev/shm` while an endpoint is open.
    NeedsAFile,
    /// The buffers are first touched while messages flow.
    UntouchedBuffers,
    /// It declares loans, but copies.
    ClaimsLoans,
    /// It declares that it is unreliable, but sleeps forever for lost messages.
    ClaimsToWake,
    /// Its name is invalid.
    Misnamed,
    /// Its endpoints do not find each other. They say so at once, with the time that they were given.
    NeverConnects,
    /// It cannot run on this machine.
    Absent,
}

/// One of the two endpoints, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultySide {
    /// The leader's endpoint.
    Leader,
    /// The follower's endpoint.
    Follower,
    /// Either endpoint.
    Both,
}

/// The mistreatment of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFault {
    /// Its last byte changes.
    Corrupted,
    /// It is never sent.
    Lost,
    /// It is sent twice.
    Doubled,
    /// It is sent after the next one.
    Overtaken,
    /// Its last byte is missing.
    Cut,
    /// Its length is rounded up to eight bytes.
    RoundedUp,
    /// It is sent a quarter of a second late.
    Late,
    /// It overwrites the message that is taken.
    Overwriting,
    /// Memory is allocated for it.
    Allocating,
}

/// The messages that are mistreated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffectedMessages {
    /// The message with this number, counted from 1 on each side.
    At(u32),
    /// All messages from this number on.
    From(u32),
    /// One message in this many.
    Every(u32),
    /// Messages with more bytes than this.
    Longer(usize),
    /// Messages with one of these flags in their heads.
    Flagged(u32),
}

/// The moment at which a process acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// While its endpoint opens.
    Open,
    /// While it takes the message with this number.
    Take(u32),
    /// While it publishes the message with this number.
    Publish(u32),
    /// While it publishes or takes the first message after this many with this flag in their heads.
    After(u32, u32),
    /// While it sleeps, after the last of this many messages with this flag has been answered.
    Asleep(u32, u32),
    /// When its endpoint is dropped.
    Drop,
    /// When its endpoint is dropped and the other one is gone.
    DropAlone,
}

/// The action of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reports an error.
    Fail,
    /// Panics.
    Panic,
    /// Exits.
    Exit,
    /// Receives this signal.
    Signal(i32),
    /// Hangs.
    Hang,
    /// Writes a line.
    Print,
    /// Writes a hundred thousand lines to both streams and exits.
    Chatter,
    /// Writes endlessly from a second thread.
    ChatterOn,
    /// Writes endlessly and does nothing else.
    ChatterAndHang,
    /// Starts a long-lived process.
    Start,
    /// Creates objects under names of every kind, and is killed.
    Litter,
    /// Leaves a descriptor open at the third time in this process, and at no other.
    KeepDescriptor,
    /// Leaves a descriptor open.
    LeakDescriptor,
    /// Leaves a thread running.
    LeakThread,
    /// Leaves a mapping.
    LeakMemory,
}

impl FaultySide {
    /// True if `role` is on this side.
    pub fn has(self, role: Role) -> bool {
        match self {
            FaultySide::Leader => role.is_leader(),
            FaultySide::Follower => !role.is_leader(),
            FaultySide::Both => true,
        }
    }
}

impl AffectedMessages {
    /// True for the message with this number and these bytes.
    pub fn is(self, number: u32, message: &[u8]) -> bool {
        match self {
            AffectedMessages::At(at) => number == at,
            AffectedMessages::From(first) => number >= first,
            AffectedMessages::Every(count) => number.is_multiple_of(count),
            AffectedMessages::Longer(len) => message.len() > len,
            AffectedMessages::Flagged(flag) => is_flagged(message, flag),
        }
    }
}

/// True if the head of a message has this flag.
pub(crate) fn is_flagged(message: &[u8], flag: u32) -> bool {
    let flags = message[8..12].try_into().expect("four bytes");
    u32::from_ne_bytes(flags) & flag != 0
}
