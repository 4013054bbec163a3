//! What can be wrong with a transport.

use ipcmark_transport::Role;

/// A fault.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Nothing.
    None,
    /// Something happens to messages that one side publishes.
    Message(Side, Ill, Which),
    /// As [`Fault::Message`], and the transport says that it is unreliable.
    Unreliable(Side, Ill, Which),
    /// Both directions are one queue.
    OneQueue,
    /// One side does something at some moment.
    Process(Side, Moment, Act),
}

/// One of the two ends.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// The leader's.
    Leader,
    /// The follower's.
    Follower,
}

/// What happens to a message.
#[derive(Clone, Copy, Debug)]
pub enum Ill {
    /// A byte behind the head changes.
    Corrupted,
    /// It is never sent.
    Lost,
    /// It is sent twice.
    Doubled,
    /// It is sent after the next one.
    Overtaken,
    /// Its last byte is missing.
    Cut,
    /// It is sent a quarter of a second late.
    Late,
}

/// To which messages it happens.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// To the one with this number, counted from 1 on each side.
    At(u32),
    /// From this one on.
    From(u32),
    /// To one in so many.
    Every(u32),
    /// To those with one of these flags in their heads.
    Flagged(u32),
}

/// When a process does something.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// While its end opens.
    Open,
    /// While it takes the message with this number.
    Take(u32),
    /// When its end is dropped.
    Drop,
}

/// What a process does.
#[derive(Clone, Copy, Debug)]
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
    /// Writes a hundred thousand lines to both streams and reports an error.
    Chatter,
    /// Writes from a second thread without end.
    ChatterOn,
    /// As [`Act::ChatterOn`], and does nothing else.
    ChatterAndHang,
    /// Starts a process of its own that would live for long.
    Start,
    /// Makes names wherever names can be made, and is killed.
    Litter,
}

/// In verification: 32 messages one by one, then 64 in a row.
pub const VERIFYING: u32 = 10;
/// Within the 64 messages in a row.
pub const IN_A_BURST: u32 = 50;
/// The first of the follower's messages in a row.
pub const FIRST_OF_A_BURST: u32 = 34;
/// After verification and warm-up.
pub const MEASURING: u32 = 600;
/// The flag of the last message of a case.
pub const LAST: u32 = 1 << 6;

impl Side {
    /// Whether `role` is this side.
    pub fn is(self, role: Role) -> bool {
        role.is_leader() == matches!(self, Side::Leader)
    }
}

impl Which {
    /// Whether it is the message with this number and these bytes.
    pub fn is(self, number: u32, message: &[u8]) -> bool {
        match self {
            Which::At(at) => number == at,
            Which::From(first) => number >= first,
            Which::Every(count) => number.is_multiple_of(count),
            Which::Flagged(wanted) => {
                let flags = message[8..12].try_into().expect("four bytes");
                u32::from_ne_bytes(flags) & wanted != 0
            }
        }
    }
}
