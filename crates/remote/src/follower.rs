//! The follower's command: it connects to a leader and does for its worker what a keeper does.

use std::{
    net::{SocketAddr, TcpStream},
    os::{fd::AsFd, unix::net::UnixStream},
    path::Path,
    thread,
    time::Duration,
};

use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use ipcmark_engine::{KeeperProcess, KeeperReport, Order, WorkerSpec};
use ipcmark_fdpass::FrameSocket;
use ipcmark_machine::placement::{self, Pinning};

use crate::{
    LOOK, LeaderAddress,
    greeting::Greeting,
    is_interrupted,
    listener::{connect_here, set_patience},
    records::{IN_LINE, PATIENCE, Records},
    secret::Secret,
    tunnel,
};

/// How often a leader that is not there yet is looked for.
const RETRY: Duration = Duration::from_millis(100);

/// A follower's command.
pub struct Follower<'a> {
    /// Where the leader is.
    pub leader: LeaderAddress,
    /// The processor of the worker, where the leader is on another host and cannot choose.
    pub pinning: Pinning,
    /// Whether it answers nothing that is measured.
    pub is_silent: bool,
    /// Readable as soon as the user wants to stop.
    pub interrupt: &'a UnixStream,
}

/// How a follower's service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The leader has had so many sessions and is gone.
    Sessions(u64),
    /// The user wants to stop.
    Interrupted,
}

impl Follower<'_> {
    /// Looks for a leader until there is one, and serves it until it is gone. `found` is called when
    /// there is one.
    pub fn serve(&self, found: &mut dyn FnMut()) -> Result<Served, Error> {
        let Some(leader) = self.connect()? else { return Ok(Served::Interrupted) };
        found();
        let mut sessions = 0;
        while let Some(bytes) = self.next(&leader)? {
            let done = match order(&bytes)? {
                Order::Start { .. } => {
                    sessions += 1;
                    self.session(&leader, &bytes)
                }
                // A session that ended by itself, before the leader knew.
                Order::End => say(&leader, &KeeperReport::Ended),
                _ => Ok(()),
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

    fn connect(&self) -> Result<Option<FrameSocket>, Error> {
        loop {
            let leader = match &self.leader {
                LeaderAddress::Socket(path) => self.connect_here(path)?,
                LeaderAddress::Tcp(address, secret) => self.connect_there(address, secret)?,
            };
            if leader.is_some() || is_interrupted(self.interrupt) {
                return Ok(leader);
            }
            thread::sleep(RETRY);
        }
    }

    fn connect_here(&self, path: &Path) -> Result<Option<FrameSocket>, Error> {
        let object = format!("the leader at {}", path.display());
        let fd = match connect_here(path) {
            Ok(fd) => fd,
            Err(Errno::ENOENT | Errno::ECONNREFUSED | Errno::EAGAIN) => return Ok(None),
            Err(errno) => return Err(Error::os("connect to", object, errno)),
        };
        set_patience(&fd, IN_LINE)?;
        let leader = FrameSocket::from(fd);
        leader.send(&Greeting::own(self.is_silent), &[])?;
        Greeting::check(&leader.receive()?.0, "leader")?;
        set_patience(&leader, Duration::ZERO)?;
        Ok(Some(leader))
    }

    fn connect_there(
        &self,
        address: &SocketAddr,
        secret: &Secret,
    ) -> Result<Option<FrameSocket>, Error> {
        let Ok(stream) = TcpStream::connect_timeout(address, PATIENCE) else { return Ok(None) };
        let records = Records::connected(stream, secret, &Greeting::own(self.is_silent))?;
        tunnel::start(records).map(Some)
    }

    /// The leader's next frame; none where it is gone, or the user wants to stop.
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

    /// One session: everything the leader orders goes to a keeper, everything that says goes back.
    fn session(&self, leader: &FrameSocket, start: &[u8]) -> Result<(), Error> {
        let mut keeper = KeeperProcess::start()?;
        keeper.frames.send(start, &[])?;
        loop {
            let mut wanted = [
                PollFd::new(leader.as_fd(), PollFlags::POLLIN),
                PollFd::new(keeper.frames.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut wanted, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                other => other.map_err(|e| Error::os("wait for", "a session", e))?,
            };
            let [ordered, said, interrupted] = wanted.map(|fd| fd.any().unwrap_or(false));
            if interrupted {
                return Ok(());
            }
            if said {
                match keeper.frames.receive() {
                    Ok((word, _)) => leader.send(&word, &[])?,
                    // The leader sees its workers end, and says so.
                    Err(_) => return Ok(()),
                }
            }
            if ordered && self.pass_on(leader, &mut keeper)? {
                return Ok(());
            }
        }
    }

    /// Passes an order on; true after the last, when nothing of the session is left.
    fn pass_on(&self, leader: &FrameSocket, keeper: &mut KeeperProcess) -> Result<bool, Error> {
        let Ok((mut bytes, fds)) = leader.receive() else { return Ok(true) };
        let is_last = match order(&bytes)? {
            Order::End => true,
            Order::Spawn { workers, transport }
                if matches!(self.leader, LeaderAddress::Tcp(..)) =>
            {
                let cpu = placement::choose_one(&self.pinning, false)?;
                let workers =
                    workers.into_iter().map(|worker| WorkerSpec { cpu, ..worker }).collect();
                bytes = serde_json::to_vec(&Order::Spawn { workers, transport })
                    .map_err(|e| Error::new("write", "an order", e))?;
                false
            }
            _ => false,
        };
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        keeper.frames.send(&bytes, &fds)?;
        if is_last {
            keeper.end();
            say(leader, &KeeperReport::Ended)?;
        }
        Ok(is_last)
    }
}

fn is_ready(frames: &FrameSocket, patience: Duration) -> bool {
    let mut wanted = [PollFd::new(frames.as_fd(), PollFlags::POLLIN)];
    let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::ZERO);
    let _ = poll(&mut wanted, patience);
    wanted[0].any().unwrap_or(false)
}

fn order(bytes: &[u8]) -> Result<Order, Error> {
    serde_json::from_slice(bytes).map_err(|e| Error::new("understand", "the leader's order", e))
}

fn say(leader: &FrameSocket, word: &KeeperReport) -> Result<(), Error> {
    let bytes = serde_json::to_vec(word).map_err(|e| Error::new("write", "a word", e))?;
    leader.send(&bytes, &[])
}
