//! The messages between the processes of a run: orders to a keeper, requests to a worker, reports from both. Data
//! only.

mod blocks;
mod channel;
mod orders;
mod possible;
mod reports;
mod requests;
mod text;
mod trace;

pub(crate) use blocks::*;
pub(crate) use channel::{Channel, MAX_FRAME, MAX_REPORT, pair};
pub(crate) use orders::{COMMAND_FD, FOLLOWER_THREAD};
pub use orders::{Counting, Isolation, KeeperReport, Order, PathOptions, WorkerSpec};
pub(crate) use reports::*;
pub use requests::Length;
pub(crate) use requests::{CONNECT_TIMES, Opening, Pass, Reply, Request};
pub use text::PlainText;
pub use trace::{MOST_RECORDED, Trace};
