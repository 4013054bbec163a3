//! Converts the leader's orders and the reports to it from and to frames.

use ipcmark_engine::{KeeperReport, Order};
use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;

/// Decodes an order; any other content is an error, without details.
pub(super) fn order(bytes: &[u8]) -> Result<Order, Error> {
    serde_json::from_slice(bytes)
        .map_err(|_| Error::new("understand", "an order of the leader", "it has another form"))
}

pub(super) fn out_of_turn() -> Error {
    Error::new("obey", "an order of the leader", "it came out of turn")
}

pub(super) fn report(leader: &FrameSocket, report: &KeeperReport) -> Result<(), Error> {
    let bytes = serde_json::to_vec(report).map_err(|e| Error::new("write", "a report", e))?;
    leader.send(&bytes, &[])
}
