//! What a pattern offers, and what its loops need to know of the world around them.

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_machine::pin::Pin;
use ipcmark_transport::{Endpoint, Error, Pattern, Span, Wait};

use super::{message::TouchPolicy, probe::ProbePages};
use crate::wire::{FollowerReport, LeaderReport, Pass, TurnLimit};

/// The loops of one pattern.
pub(crate) trait PatternLoops {
    /// Its name.
    const PATTERN: Pattern;
    /// Whether only a transport of which one publication reaches several followers has the leader's part.
    const LEADS_MANY: bool = false;
    /// The same of a follower's part.
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

/// What a loop needs to know of the transport and of the world around it.
pub(crate) struct LoopContext<'a> {
    /// Whether what was published always arrives.
    pub reliable: bool,
    /// Whether the ends take turns with each message, so that no burst can be sent.
    pub alternating: bool,
    pub span: Span,
    pub wait: Wait,
    /// A follower's own number.
    pub follower: u32,
    /// How many followers there are.
    pub subscribers: u32,
    /// The other ends.
    pub peers: &'a mut SocketRendezvous,
    /// The pages of the probes; none where the ends share no memory, and in all followers but the first.
    pub probe: Option<&'a mut ProbePages>,
    /// The processor of this thread, where it is pinned.
    pub pin: Option<&'a Pin>,
    /// Asked and told by the leader, between its turns.
    pub command: &'a mut dyn Command,
}

/// A turn, as the command gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// To be measured.
    Measured(TurnLimit),
    /// Beside the turn of this number of the pair that is measured, until the command ends it.
    Background(u32),
}

/// The command as a leader's loop sees it, between its turns only; in a background turn also between its slices.
pub(crate) trait Command {
    /// Tells what comes next, for the reason of a failure: "verifying".
    fn phase(&mut self, phase: &'static str) -> Result<(), Error>;
    /// Reports what a round trip takes about, then sleeps until the next turn; none where the case is over.
    fn next_turn(&mut self, round_trip_ns: f64) -> Result<Option<Turn>, Error>;
    /// Reports that a background turn has begun.
    fn background_runs(&mut self) -> Result<(), Error>;
    /// True once the command has ended the background turn.
    fn has_ended_background(&mut self) -> Result<bool, Error>;
}
