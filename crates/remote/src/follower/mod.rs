//! The follower's command: it connects to a leader and acts as the keeper of its worker.

mod directory;
mod order_check;
mod orders;
mod session;
mod spec;

use std::{os::fd::AsFd, thread, time::Duration};

use ipcmark_engine::{KeeperReport, Order};
use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::{
    LOOK,
    connect::{Attempt, LeaderConnection, connect_to},
    is_interrupted,
};
use order_check::OrderCheck;
use orders::{order, out_of_turn, report};
pub(crate) use session::admitted;
pub use spec::Follower;

/// The interval between attempts to reach a leader that is not there yet.
const RETRY: Duration = Duration::from_millis(100);

/// After this many consecutive connections closed without an answer, the listener is not a leader.
const MAX_DROPPED: u32 = 100;

/// The way in which a follower's service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The leader is gone after this many sessions.
    Sessions(u64),
    /// The user interrupted.
    Interrupted,
}

impl Follower<'_> {
    /// Waits for a leader, and serves it until it is gone. `found` is called when a leader was found.
    ///
    /// # Errors
    /// No leader can be served, or the leader's order is not allowed.
    pub fn serve(&self, found: &mut dyn FnMut()) -> Result<Served, Error> {
        let Some(connection) = self.connect()? else { return Ok(Served::Interrupted) };
        found();
        let LeaderConnection { frames: leader, origin } = connection;
        let mut order_check = OrderCheck::new(self, origin);
        let mut sessions = 0;
        while let Some(bytes) = self.next(&leader)? {
            let done = match order(&bytes)? {
                Order::Start { run, .. } => {
                    sessions += 1;
                    session::serve(self, &leader, &mut order_check, run)
                }
                // The session ended by itself before the leader knew.
                Order::End => report(&leader, &KeeperReport::Ended),
                Order::Inspect => Ok(()),
                Order::Gather { .. } | Order::Spawn { .. } => Err(out_of_turn()),
            };
            match done {
                Err(error) if error.is_peer_gone() => break,
                done => done?,
            }
        }
        match is_interrupted(self.interrupt) {
            true => Ok(Served::Interrupted),
            false => Ok(Served::Sessions(sessions)),
        }
    }

    fn connect(&self) -> Result<Option<LeaderConnection>, Error> {
        let mut dropped = 0;
        while !is_interrupted(self.interrupt) {
            match connect_to(&self.leader, self.is_silent, &self.terms, self.interrupt)? {
                Attempt::Connected(connection) => return Ok(Some(connection)),
                Attempt::Absent => dropped = 0,
                Attempt::Dropped => dropped += 1,
            }
            if dropped == MAX_DROPPED {
                let cause = "it closes every connection without an answer";
                return Err(Error::new("join", format!("the leader at {}", self.leader), cause)
                    .remedy(
                        "see that an ipcmark leader listens there, and who else connects to it",
                    ));
            }
            thread::sleep(RETRY);
        }
        Ok(None)
    }

    /// The leader's next frame; `None` if the leader is gone or the user interrupts.
    fn next(&self, leader: &FrameSocket) -> Result<Option<Vec<u8>>, Error> {
        loop {
            if is_interrupted(self.interrupt) {
                return Ok(None);
            }
            if is_ready(leader, LOOK) {
                return match leader.receive() {
                    Err(error) if error.is_peer_gone() => Ok(None),
                    frame => frame.map(|(bytes, _)| Some(bytes)),
                };
            }
        }
    }
}

fn is_ready(frames: &FrameSocket, time_limit: Duration) -> bool {
    let mut wanted = [PollFd::new(frames.as_fd(), PollFlags::POLLIN)];
    let time_limit = PollTimeout::try_from(time_limit).unwrap_or(PollTimeout::ZERO);
    let _ = poll(&mut wanted, time_limit);
    wanted[0].any().unwrap_or(false)
}
