//! What the processes of a run say to one another: orders to a keeper, requests to a worker, reports of
//! both. Data only.

mod channel;
mod orders;
mod reports;
mod requests;

pub(crate) use channel::{Channel, pair};
pub(crate) use orders::COMMAND_FD;
pub use orders::{KeeperReport, Order, WorkerSpec};
pub(crate) use reports::*;
pub use requests::{Budget, Touch};
pub(crate) use requests::{Pass, Reply, Request};
