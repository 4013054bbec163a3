//! The engine: sessions of a leader and its followers, the sandbox around them, the loops that are
//! measured, the clock, the recorder and the costs. It knows no transport by name.
//!
//! The command makes a [`Plan`] of a [`Wish`] and hands it to [`run`]. For each session that starts
//! a *keeper*, a fresh copy of the executable told so by [`KEEPER_COMMAND`], which makes the
//! namespaces and forks the *workers*; the executable must call [`keep`] with the same transports
//! when it finds that word. The command itself takes no part in a measurement: it sleeps until a
//! worker reports, a deadline passes or the user interrupts.

mod candidate;
mod clock;
mod control;
mod costs;
mod environment;
mod evidence;
mod figures;
mod floor;
mod frames;
mod head;
mod hold;
mod host;
mod keeper;
mod leftovers;
pub mod link;
mod loops;
mod news;
mod offspring;
mod pass;
mod pattern;
mod placement;
mod plan;
mod run;
mod sandbox;
mod session;
mod tail;
mod worker;

pub use candidate::{Candidate, Register, Registry};
pub use hold::KEEPER_COMMAND;
pub use keeper::keep;
pub use leftovers::clean;
pub use loops::PATTERNS;
pub use pass::{Budget, Touch};
pub use placement::Pinning;
pub use plan::{Place, Plan, PlannedCase, PlannedSession, Wish, expected_length};
pub use run::{Manner, Observer, run};
