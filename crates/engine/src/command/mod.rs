//! The parts that run in the command itself: it makes the plan, starts a keeper for each session, sends requests to
//! the workers and turns their reports into rows. It takes no part in a measurement.

mod background;
mod carrier;
mod cleaner_process;
mod environment;
mod followers;
mod keeper_process;
mod measured;
mod options;
mod pace;
mod pairs;
mod plan;
mod receiver;
mod record;
mod request;
mod round;
mod row_reports;
mod run;
mod schedule;
mod session;
mod sessions;
mod stderr_tail;
mod symptoms;
mod turns;
mod verdicts;

pub use cleaner_process::CleanerProcess;
pub(crate) use cleaner_process::{CLEANER, DISMISSED};
pub use followers::{FollowerKeeper, FollowerSource};
pub use keeper_process::{KEEPER_COMMAND, KeeperProcess};
pub(crate) use measured::{Reports, TrialFacts};
pub use options::RunOptions;
pub use plan::{Plan, PlannedRow, PlannedSession};
pub use request::{FEWEST_TRIALS, FollowerLocation, PlanRequest, Slot, Trials, Waits};
pub(crate) use row_reports::RowReports;
pub use run::{Observer, run, unmeasured};
