//! The measured loops: one file per pattern, built for each transport's own type, and the code that they share.
//!
//! [`message`] defines a message's content, [`steps`] sends and receives one, [`untimed`] runs what comes before a
//! measurement, [`working_set`] counts the buffers, [`marks`] records arrivals; [`blocks`], [`paced`], [`probe`] and
//! [`turns`] schedule the leader's work. A pattern is a type with [`PatternLoops`] and one line in the list.

mod bare;
mod blocks;
mod context;
mod cost_meter;
mod fan_in;
mod fan_out;
mod follower;
mod latency;
mod losses;
mod marks;
mod message;
mod one_way;
mod paced;
mod pacer;
mod probe;
#[cfg(test)]
mod scripted;
mod steps;
mod stream;
mod turns;
mod untimed;
mod working_set;

use ipcmark_transport::{Endpoint, Error, Pattern, Transport};

use ipcmark_results::Touch;

use crate::wire::{FollowerReport, LeaderReport, Pass};
pub(crate) use bare::Bare;
pub(crate) use context::{Command, LoopContext, PatternLoops, Turn};
pub(crate) use fan_out::Holding;
use fan_out::{FanOut, GatheredFanOut};
use message::{HeadOnly, WholeMessage};
pub(crate) use probe::ProbePages;

/// The list of patterns, and the dispatch to one of them. A type cannot be looked up at run time, because each
/// pattern builds its loops for each transport.
macro_rules! patterns {
    ($($pattern:ty),+ $(,)?) => {
        /// The leader's part of a case, with an endpoint of this transport.
        pub(crate) fn lead<T: Transport, E: Endpoint>(
            end: &mut E,
            pass: &Pass,
            context: LoopContext<'_>,
        ) -> Result<LeaderReport, Error> {
            $(if (T::FANS_OUT || !<$pattern>::LEADS_MANY) && pass.pattern == <$pattern>::PATTERN {
                return specialised!($pattern, lead, end, pass, context);
            })+
            Err(not_measured(pass.pattern))
        }

        /// A follower's part of a case; nothing if it has none.
        pub(crate) fn follow<T: Transport, E: Endpoint>(
            end: &mut E,
            pass: &Pass,
            context: LoopContext<'_>,
        ) -> Result<Option<FollowerReport>, Error> {
            $(if (T::FANS_OUT || !<$pattern>::FOLLOWS_AMONG_MANY) && pass.pattern == <$pattern>::PATTERN {
                return specialised!($pattern, follow, end, pass, context);
            })+
            Err(not_measured(pass.pattern))
        }
    };
}

/// Chooses the loop by compile-time parameters, so that no loop checks them.
macro_rules! specialised {
    ($pattern:ty, $part:ident, $end:expr, $pass:expr, $context:expr) => {
        match ($pass.touch, $context.reliable) {
            (Touch::Head, true) => <$pattern>::$part::<E, HeadOnly, true>($end, $pass, $context),
            (Touch::All, true) => <$pattern>::$part::<E, WholeMessage, true>($end, $pass, $context),
            (Touch::Head, false) if T::CAN_LOSE => {
                <$pattern>::$part::<E, HeadOnly, false>($end, $pass, $context)
            }
            (Touch::All, false) if T::CAN_LOSE => {
                <$pattern>::$part::<E, WholeMessage, false>($end, $pass, $context)
            }
            (_, false) => Err(cannot_lose()),
        }
    };
}

patterns![latency::Latency, one_way::OneWay, stream::Throughput, FanOut, fan_in::FanIn];

/// The leader's part of a fan-out in which each follower has an endpoint of its own. Such endpoints support no
/// other pattern, so no other loops are built for them.
pub(crate) fn lead_star<T: Transport, E: Holding>(
    star: &mut E,
    pass: &Pass,
    context: LoopContext<'_>,
) -> Result<LeaderReport, Error> {
    if pass.pattern != GatheredFanOut::PATTERN {
        return Err(not_measured(pass.pattern));
    }
    specialised!(GatheredFanOut, lead, star, pass, context)
}

fn not_measured(pattern: Pattern) -> Error {
    Error::new("measure", format!("the pattern {pattern}"), "this version has no loop for it")
}

/// A fault of the transport: it was unreliable although its type rules that out.
fn cannot_lose() -> Error {
    let cause = "its type says that it cannot lose messages (`Transport::CAN_LOSE`)";
    Error::new("measure", "an unreliable transport", cause)
}
