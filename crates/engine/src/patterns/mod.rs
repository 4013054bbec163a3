//! The loops that are measured, one file a pattern, built for each transport's own type.

mod fan_out;
mod latency;
mod message;
mod payload;
mod steps;

use ipcmark_transport::{Endpoint, Error, Pattern, Span, Wait};

use crate::wire::{Costs, LeaderReport, Pass, Touch};
use message::{HeadOnly, TouchPolicy, WholeMessage};

/// What a loop needs to know of the transport and of the world around it.
pub(crate) struct LoopContext<'a> {
    /// Whether what was published always arrives.
    pub reliable: bool,
    /// Whether the ends take turns, so that no burst can be sent.
    pub alternating: bool,
    pub span: Span,
    pub wait: Wait,
    /// A follower's own number.
    pub follower: u32,
    /// How many followers there are.
    pub subscribers: u32,
    /// Asked from time to time by an end that waits for what may never come: whether to give up.
    pub stop: &'a mut dyn FnMut() -> bool,
    /// Told what comes now; never from a measured loop.
    pub tell: &'a mut dyn FnMut(Progress) -> Result<(), Error>,
}

/// What a leader tells between its passes.
pub(crate) enum Progress {
    Phase(&'static str),
    /// The measurement comes now and is expected to take so long.
    Measuring {
        expected_ns: u64,
    },
}

macro_rules! specialised {
    ($pass:ident, $around:ident, $run:ident($($argument:expr),*)) => {
        match ($pass.touch, $around.reliable) {
            (Touch::Head, true) => $run::<E, HeadOnly, true>($($argument),*),
            (Touch::Head, false) => $run::<E, HeadOnly, false>($($argument),*),
            (Touch::All, true) => $run::<E, WholeMessage, true>($($argument),*),
            (Touch::All, false) => $run::<E, WholeMessage, false>($($argument),*),
        }
    };
}

/// The leader's part of a case.
pub(crate) fn lead<E: Endpoint>(
    end: &mut E,
    pass: &Pass,
    around: &mut LoopContext<'_>,
) -> Result<LeaderReport, Error> {
    fn run<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        around: &mut LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        match pass.pattern {
            Pattern::Latency => latency::lead::<E, T, RELIABLE>(end, pass, around),
            Pattern::FanOut => fan_out::lead::<E, T, RELIABLE>(end, pass, around),
            other => Err(not_measured(other)),
        }
    }
    specialised!(pass, around, run(end, pass, around))
}

/// A follower's part of a case.
pub(crate) fn follow<E: Endpoint>(
    end: &mut E,
    pass: &Pass,
    around: &mut LoopContext<'_>,
) -> Result<Costs, Error> {
    fn run<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        around: &mut LoopContext<'_>,
    ) -> Result<Costs, Error> {
        match pass.pattern {
            Pattern::Latency | Pattern::FanOut => {
                latency::follow::<E, T, RELIABLE>(end, pass, around)
            }
            other => Err(not_measured(other)),
        }
    }
    specialised!(pass, around, run(end, pass, around))
}

/// The patterns that the loops of this version measure.
pub const PATTERNS: &[Pattern] = &[Pattern::Latency, Pattern::FanOut];

fn not_measured(pattern: Pattern) -> Error {
    Error::new("measure", format!("the pattern {pattern}"), "this version has no loop for it")
}
