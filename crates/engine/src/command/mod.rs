//! What runs in the command itself: it makes the plan, starts a keeper for each session, asks the workers
//! and makes rows of what they report. It takes no part in a measurement.

mod carrier;
mod environment;
mod figures;
mod followers;
mod keeper_process;
mod plan;
mod run;
mod session;
mod stderr_tail;
mod symptoms;

pub use followers::{FollowerKeeper, FollowerSource, HostAddresses};
pub use keeper_process::{KEEPER_COMMAND, KeeperProcess};
pub use plan::{FollowerLocation, Plan, PlanRequest, PlannedCase, PlannedSession, expected_length};
pub use run::{Observer, RunOptions, run};
