//! The interface of a pattern, and the context of its loops.

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_machine::pin::Pin;
use ipcmark_transport::{Endpoint, Error, Pattern, Span, Wait};

use super::{message::TouchPolicy, probe::ProbePages};
use crate::wire::{FollowerReport, LeaderReport, Pass, TurnLimit};

/// The loops of one pattern.
pub(crate) trait PatternLoops {
    /// The pattern's name.
    const PATTERN: Pattern;
    /// True if the leader's part needs a transport whose publication reaches several followers.
    const LEADS_MANY: bool = false;
    /// True if the follower's part needs one.
    const FOLLOWS_AMONG_MANY: bool = false;

    /// The leader's part of a case.
    fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error>;

    /// A follower's part of a case.
    fn follow<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<Option<FollowerReport>, Error>;
}

/// The transport's properties and the environment that a loop needs.
pub(crate) struct LoopContext<'a> {
    /// True if every published message arrives.
    pub reliable: bool,
    /// True if the endpoints alternate with each message, so that no burst can be sent.
    pub alternating: bool,
    pub span: Span,
    pub wait: Wait,
    /// A follower's own number.
    pub follower: u32,
    /// The number of followers.
    pub subscribers: u32,
    /// Sockets to the other endpoints.
    pub peers: &'a mut SocketRendezvous,
    /// The probe pages; none if the endpoints share no memory, and in all followers but the first.
    pub probe: Option<&'a mut ProbePages>,
    /// This thread's processor, if the thread is pinned.
    pub pin: Option<&'a Pin>,
    /// True if system calls are counted: none is made that a block does not need.
    pub counts_calls: bool,
    /// The leader queries and reports to it between its turns.
    pub command: &'a mut dyn Command,
}

/// A turn, as the command assigns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A measured turn.
    Measured(TurnLimit),
    /// A background turn beside the measured pair's turn of this number, until the command ends it.
    Background(u32),
}

/// The command as a leader's loop sees it: between turns only, and in a background turn also between blocks.
pub(crate) trait Command {
    /// Reports the next phase, for the reason of a failure: "verifying".
    fn phase(&mut self, phase: &'static str) -> Result<(), Error>;
    /// Reports the approximate round-trip time, then sleeps until the next turn; none once the case is over.
    fn next_turn(&mut self, round_trip_ns: f64) -> Result<Option<Turn>, Error>;
    /// Reports that a background turn has begun.
    fn background_runs(&mut self) -> Result<(), Error>;
    /// True once the command has ended the background turn.
    fn has_ended_background(&mut self) -> Result<bool, Error>;
}
