//! Followers by hand: the leader's command here, each follower's in another terminal, container,
//! for another user or on another host.
//!
//! The two commands *meet*: the leader waits at a Unix socket or a TCP address, followers connect to
//! it whenever they come. From then on the follower's command does for its worker what a keeper
//! does: it takes the same [orders](crate::wire::Order), with the descriptors of the worker's
//! channels. Over a Unix socket these are the real ones, so that a session by hand consists of the
//! same processes with the same channels between them as any other. Over TCP a [tunnel] carries what
//! is said on them, sealed with a secret that both know.

mod follow;
mod gate;
mod hello;
mod records;
mod secret;
mod tunnel;

use std::{
    cell::RefCell,
    net::{IpAddr, SocketAddr},
    os::{fd::AsFd, unix::net::UnixStream},
    path::PathBuf,
    rc::Rc,
    time::{Duration, Instant},
};

use ipcmark_transport::{Error, Role};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub use follow::{Follower, Served};
pub use secret::Secret;

use ipcmark_fdpass::FrameSocket;

use crate::{command::SessionError, wire::KeeperReport};
use gate::Gate;

/// How long a companion may take to end a session: longer than its keeper may.
const ENDS_WITHIN: Duration = Duration::from_secs(4);

/// How often somebody who waits for the other command looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Where leader and followers meet.
#[derive(Clone)]
pub enum Meeting {
    /// On this machine: a Unix socket, whose permissions decide who may connect.
    Here(PathBuf),
    /// Wherever this address is reached, by whoever knows the secret.
    At(SocketAddr, Secret),
}

impl std::fmt::Display for Meeting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Meeting::Here(path) => write!(f, "{}", path.display()),
            Meeting::At(address, _) => write!(f, "{address}"),
        }
    }
}

/// Addresses of two ends on different hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub leader: IpAddr,
    pub follower: IpAddr,
}

/// Where the others reach the end of this role, if they are on other hosts.
pub(crate) fn address(addresses: &[Addresses], role: Role) -> Option<IpAddr> {
    match role {
        Role::Leader => addresses.first().map(|addresses| addresses.leader),
        Role::Follower(number) => {
            addresses.get(number as usize).map(|addresses| addresses.follower)
        }
    }
}

/// A follower's command that has come.
pub struct Companion {
    frames: FrameSocket,
    /// Whether it answers nothing that is measured.
    is_silent: bool,
    /// Where the ends are, if they are on different hosts.
    pub(crate) addresses: Option<Addresses>,
}

impl Companion {
    /// The way to it, for one session.
    pub(crate) fn frames(&self) -> Result<FrameSocket, Error> {
        self.frames.try_clone()
    }

    /// Whether it has not gone, as far as is known.
    fn is_there(&self) -> bool {
        let mut wanted = [PollFd::new(self.frames.as_fd(), PollFlags::empty())];
        let _ = poll(&mut wanted, PollTimeout::ZERO);
        !wanted[0].any().unwrap_or(true)
    }
}

/// Listens on until a companion has ended its part of a session. One that does not is given up.
pub(crate) fn await_end(frames: &FrameSocket) {
    let deadline = Instant::now() + ENDS_WITHIN;
    while Instant::now() < deadline {
        let mut wanted = [PollFd::new(frames.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut wanted, PollTimeout::from(100_u8));
        if !wanted[0].any().unwrap_or(false) {
            continue;
        }
        let Ok((bytes, _)) = frames.receive() else { return };
        if matches!(serde_json::from_slice(&bytes), Ok(KeeperReport::Ended)) {
            return;
        }
    }
    frames.close();
}

/// The followers of a run by hand: those that have come, and the place where more can come.
pub struct Companions {
    gate: Gate,
    present: RefCell<Vec<Rc<Companion>>>,
    count: usize,
}

impl Companions {
    /// Waits for `count` followers where they meet. Nothing comes back where the user wants to stop.
    pub fn gather(
        meeting: &Meeting,
        count: u32,
        interrupt: &UnixStream,
    ) -> Result<Option<Self>, Error> {
        let companions =
            Self { gate: Gate::open(meeting)?, present: RefCell::default(), count: count as usize };
        let forever = Duration::from_secs(u64::from(u32::MAX));
        let complete = companions.complete(interrupt, forever);
        Ok(complete.is_some().then_some(companions))
    }

    /// Whether the ends are on different hosts.
    pub fn are_apart(&self) -> bool {
        self.gate.is_remote()
    }

    /// How many of those that have come only listen: the last of them.
    pub fn silent(&self) -> u32 {
        let present = self.present.borrow();
        present.iter().filter(|companion| companion.is_silent).count() as u32
    }

    /// The followers' commands; those that have gone are waited for again, or others in their place.
    pub(crate) fn all(
        &self,
        interrupt: &UnixStream,
        patience: Duration,
    ) -> Result<Vec<Rc<Companion>>, SessionError> {
        if self.complete(interrupt, patience).is_none() {
            if is_interrupted(interrupt) {
                return Err(SessionError::Interrupted);
            }
            let seconds = patience.as_secs_f64();
            let reason =
                format!("the follower's command is gone, and none came within {seconds} s");
            return Err(SessionError::Failed(reason));
        }
        Ok(self.present.borrow().clone())
    }

    /// Waits until everybody is there.
    fn complete(&self, interrupt: &UnixStream, patience: Duration) -> Option<()> {
        let deadline = Instant::now() + patience;
        let mut present = self.present.borrow_mut();
        present.retain(|companion| companion.is_there());
        while present.len() < self.count {
            if let Some(companion) = self.gate.next(LOOK) {
                present.push(Rc::new(companion));
            }
            if is_interrupted(interrupt) || Instant::now() >= deadline {
                return None;
            }
        }
        // Those who listen are the last, whenever they came.
        present.sort_by_key(|companion| companion.is_silent);
        Some(())
    }
}

/// Whether the user wants to stop.
fn is_interrupted(interrupt: &UnixStream) -> bool {
    let mut wanted = [PollFd::new(interrupt.as_fd(), PollFlags::POLLIN)];
    poll(&mut wanted, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
