//! The followers of a run, from the leader's side.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    net::IpAddr,
    os::{fd::AsFd, unix::net::UnixStream},
    time::{Duration, Instant},
};

use ipcmark_engine::{FollowerKeeper, FollowerSource, PlainText};
use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::{
    LOOK, LeaderAddress,
    greeter::Greeter,
    greeting::Greeting,
    is_interrupted,
    listener::Listener,
    pending::{Accepted, Connection},
    tunnel::{self, TunnelSide},
};

/// A follower's command that serves this run.
struct ConnectedFollower {
    frames: FrameSocket,
    /// True if it does not answer measured messages.
    is_silent: bool,
    /// The options that it was started with.
    terms: BTreeMap<PlainText, PlainText>,
    /// The address at which it reached the leader, if it may be on another host.
    leader_address: Option<IpAddr>,
}

impl ConnectedFollower {
    fn new(accepted: Accepted) -> Result<Self, Error> {
        let (frames, leader_address) = match accepted.connection {
            Connection::Local(frames) => (frames, None),
            Connection::Remote(stream, leader) => {
                (tunnel::start(*stream, TunnelSide::Leader)?, Some(leader))
            }
        };
        let Greeting { is_silent, terms, .. } = accepted.greeting;
        Ok(Self { frames, is_silent, terms, leader_address })
    }

    /// A handle to its connection, for one session.
    fn keeper(&self) -> Result<FollowerKeeper, Error> {
        let frames = self.frames.try_clone()?;
        Ok(FollowerKeeper { frames, leader_address: self.leader_address })
    }

    /// True unless the peer is known to have closed the connection.
    fn is_connected(&self) -> bool {
        let mut wanted = [PollFd::new(self.frames.as_fd(), PollFlags::empty())];
        let _ = poll(&mut wanted, PollTimeout::ZERO);
        !wanted[0].any().unwrap_or(true)
    }
}

/// The followers of a run: the connected ones, and the listener for more.
pub struct RemoteFollowers {
    greeter: Greeter,
    address: String,
    is_remote: bool,
    connected: RefCell<Vec<ConnectedFollower>>,
    count: usize,
}

impl RemoteFollowers {
    /// Listens for the `count` followers of a run. Called while this process has one thread.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn listen(address: &LeaderAddress, count: u32) -> Result<Self, Error> {
        let listener = Listener::open(address)?;
        Ok(Self {
            address: listener.address.clone(),
            greeter: Greeter::start(listener)?,
            is_remote: matches!(address, LeaderAddress::Tcp(..)),
            connected: RefCell::default(),
            count: count as usize,
        })
    }

    /// The address for followers to connect to.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits until all followers are connected; false if the user interrupts.
    ///
    /// # Errors
    /// No follower can be accepted any more.
    pub fn gather(&self, interrupt: &UnixStream) -> Result<bool, Error> {
        let forever = Duration::from_secs(u64::from(u32::MAX));
        self.complete(interrupt, forever)
    }

    /// The same with a time limit; also false if the time is up.
    ///
    /// # Errors
    /// No follower can be accepted any more.
    pub fn gather_within(&self, interrupt: &UnixStream, most: Duration) -> Result<bool, Error> {
        self.complete(interrupt, most)
    }

    /// The number of connected followers that do not answer; they are the last ones.
    pub fn silent(&self) -> u32 {
        self.connected.borrow().iter().filter(|follower| follower.is_silent).count() as u32
    }

    /// Compares the followers' options with the leader's.
    ///
    /// # Errors
    /// An option of a follower has another value than the leader's; both are named.
    pub fn check_terms(&self, own: &BTreeMap<String, String>) -> Result<(), Error> {
        let connected = self.connected.borrow();
        let terms = connected.iter().flat_map(|follower| &follower.terms);
        for (option, value) in terms {
            let mine = own.get(&**option);
            if mine.is_none_or(|mine| *mine != **value) {
                let mine = mine
                    .map_or_else(|| "without it".into(), |mine| format!("with {option}={mine}"));
                let cause = format!("it was started with {option}={value}, and this end {mine}");
                return Err(Error::new("work with", "the other end", cause)
                    .remedy("say the same to both, or say it to this end only"));
            }
        }
        Ok(())
    }

    /// Waits until all followers are connected; false if the time is up or the user interrupts.
    fn complete(&self, interrupt: &UnixStream, time_limit: Duration) -> Result<bool, Error> {
        let deadline = Instant::now() + time_limit;
        let mut connected = self.connected.borrow_mut();
        connected.retain(ConnectedFollower::is_connected);
        while connected.len() < self.count {
            let accepted = self.greeter.next(LOOK)?;
            connected.extend(accepted.map(ConnectedFollower::new).transpose()?);
            connected.retain(ConnectedFollower::is_connected);
            if is_interrupted(interrupt) || Instant::now() >= deadline {
                break;
            }
        }
        // Silent followers are sorted last, in whatever order they connected.
        connected.sort_by_key(|follower| follower.is_silent);
        Ok(connected.len() == self.count)
    }
}

impl FollowerSource for RemoteFollowers {
    fn is_remote(&self) -> bool {
        self.is_remote
    }

    fn keepers(
        &self,
        interrupt: &UnixStream,
        time_limit: Duration,
    ) -> Result<Option<Vec<FollowerKeeper>>, Error> {
        if self.complete(interrupt, time_limit)? {
            let connected = self.connected.borrow();
            return connected
                .iter()
                .map(ConnectedFollower::keeper)
                .collect::<Result<_, _>>()
                .map(Some);
        }
        if is_interrupted(interrupt) {
            return Ok(None);
        }
        let cause = format!("it is gone, and no other came within {} s", time_limit.as_secs_f64());
        Err(Error::new("reach", "the follower's command", cause))
    }
}
