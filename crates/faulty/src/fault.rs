//! What can be wrong with a transport.

use ipcmark_transport::Role;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Nothing, and it says that its ends take turns.
    TakesTurns,
    /// Something happens to messages that are published.
    Message(Side, Ill, Which),
    /// As [`Fault::Message`], and the transport says that it is unreliable.
    Unreliable(Side, Ill, Which),
    /// A process does something at some moment.
    Process(Side, Moment, Act),
    /// Both directions are one queue.
    OneQueue,
    /// All sessions share their queues.
    SharedBySessions,
    /// What does not go into a full queue is thrown away.
    DropsWhenFull,
    /// A full queue is an error.
    FailsWhenFull,
    /// Nothing ever arrives.
    NeverDelivers,
    /// A file appears in `/dev/shm` when an end opens, and stays.
    LeavesAFile,
    /// A file is in `/dev/shm` as long as an end is open.
    NeedsAFile,
    /// The buffers are touched for the first time while messages flow.
    UntouchedBuffers,
    /// It says that it has loans, and copies.
    ClaimsLoans,
    /// It says that it is unreliable, and sleeps for what never comes.
    ClaimsToWake,
    /// Its name is not one.
    Misnamed,
    /// It cannot run on this machine.
    Absent,
}

/// One of the two ends, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The leader's.
    Leader,
    /// The follower's.
    Follower,
    /// Either of them.
    Both,
}

/// What happens to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ill {
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
    /// It is written over the message that is taken.
    Overwriting,
    /// Memory is allocated for it.
    Allocating,
}

/// To which messages it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// To the one with this number, counted from 1 on each side.
    At(u32),
    /// From this one on.
    From(u32),
    /// To one in so many.
    Every(u32),
    /// To those with more bytes.
    Longer(usize),
    /// To those with one of these flags in their heads.
    Flagged(u32),
}

/// When a process does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// While its end opens.
    Open,
    /// While it takes the message with this number.
    Take(u32),
    /// While it publishes the message with this number.
    Publish(u32),
    /// While it publishes or takes the first message after so many with this flag in their heads.
    After(u32, u32),
    /// While it sleeps, once the last of so many messages with this flag has been answered.
    Asleep(u32, u32),
    /// When its end is dropped.
    Drop,
    /// When its end is dropped and the other one is gone.
    DropAlone,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reports an error.
    Fail,
    /// Panics.
    Panic,
    /// Exits.
    Exit,
    /// Is sent this signal.
    Signal(i32),
    /// Does nothing more.
    Hang,
    /// Writes a line.
    Print,
    /// Writes a hundred thousand lines to both streams and exits.
    Chatter,
    /// Writes from a second thread without end.
    ChatterOn,
    /// Writes without end and does nothing else.
    ChatterAndHang,
    /// Starts a process of its own that would live for long.
    Start,
    /// Makes names wherever names can be made, and is killed.
    Litter,
    /// Leaves a descriptor open.
    LeakDescriptor,
    /// Leaves a thread at work.
    LeakThread,
    /// Leaves a mapping.
    LeakMemory,
}

impl Side {
    /// Whether `role` is on this side.
    pub fn has(self, role: Role) -> bool {
        match self {
            Side::Leader => role.is_leader(),
            Side::Follower => !role.is_leader(),
            Side::Both => true,
        }
    }
}

impl Which {
    /// Whether it is the message with this number and these bytes.
    pub fn is(self, number: u32, message: &[u8]) -> bool {
        match self {
            Which::At(at) => number == at,
            Which::From(first) => number >= first,
            Which::Every(count) => number.is_multiple_of(count),
            Which::Longer(len) => message.len() > len,
            Which::Flagged(flag) => is_flagged(message, flag),
        }
    }
}

/// Whether the head of a message has this flag.
pub(crate) fn is_flagged(message: &[u8], flag: u32) -> bool {
    let flags = message[8..12].try_into().expect("four bytes");
    u32::from_ne_bytes(flags) & flag != 0
}
