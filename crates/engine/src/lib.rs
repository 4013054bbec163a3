//! The engine: sessions of a leader and its followers, their sandbox, the measured loops, the clock, the recorder
//! and the costs. It knows no transport by name.
//!
//! The command makes a [`Plan`] from a [`PlanRequest`] and passes it to [`run`]. For each session it starts a
//! *keeper*: a fresh copy of the executable, started with [`KEEPER_COMMAND`]. The keeper creates the namespaces and
//! forks the *workers*; on that word the executable must call [`keep`] with the same transports. The command itself
//! takes no part in a measurement: it sleeps until a worker reports, a deadline passes or the user interrupts.

mod buffers;
mod command;
#[doc(hidden)]
pub mod fuzzing;
mod keeper;
mod leftovers;
mod patterns;
mod registry;
mod wire;
mod worker;

pub use command::{
    CleanerProcess, FEWEST_TRIALS, FollowerKeeper, FollowerLocation, FollowerSource,
    KEEPER_COMMAND, KeeperProcess, Observer, Plan, PlanRequest, PlannedRow, PlannedSession,
    RunOptions, Slot, Trials, Waits, run, unmeasured,
};
pub use ipcmark_machine::placement::Pinning;
pub use keeper::keep;
pub use leftovers::{RunDirectory, clean};
pub use registry::{AnyTransport, Register, Registry};
pub use wire::{
    Counting, Isolation, KeeperReport, Length, MOST_RECORDED, Order, PathOptions, PlainText, Trace,
    WorkerSpec,
};
