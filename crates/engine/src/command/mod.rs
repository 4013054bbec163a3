//! What runs in the command itself: it makes the plan, starts a keeper for each session, asks the workers
//! and makes rows of what they report. It takes no part in a measurement.

mod carrier;
mod environment;
mod figures;
mod keeper_process;
mod plan;
mod run;
mod session;
pub(crate) mod stderr_tail;
mod symptoms;

pub use keeper_process::KEEPER_COMMAND;
pub(crate) use keeper_process::KeeperProcess;
pub use plan::{FollowerLocation, Plan, PlanRequest, PlannedCase, PlannedSession, expected_length};
pub use run::{Observer, RunOptions, run};
pub(crate) use session::SessionError;
