//! The two ends of one run in two terminals, for two users, in two containers or on two hosts.

use std::{
    fs::DirBuilder,
    io::ErrorKind,
    net::{SocketAddr, ToSocketAddrs},
    os::unix::{
        fs::{DirBuilderExt, MetadataExt},
        net::UnixStream,
    },
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use ipcmark_engine::Pinning;
use ipcmark_remote::{AllowedUsers, Follower, LeaderAddress, Secret, Served};
use ipcmark_transport::Error;
use nix::unistd::getuid;

use crate::{
    arguments::{
        by_hand::{FollowerArguments, LeaderLocation},
        run::RunArguments,
    },
    definition::CommandOutcome,
    interrupts::Interrupts,
    measurement::{self, ByHandLeader},
    output, registry, transport_options,
};

/// Waits for the followers and measures.
pub(crate) fn lead(place: &LeaderLocation, run: &RunArguments) -> CommandOutcome {
    lead_within(place, run, None)
}

/// The same, with a limit on the time that the followers have to connect.
pub(crate) fn lead_within(
    place: &LeaderLocation,
    run: &RunArguments,
    time_limit: Option<Duration>,
) -> CommandOutcome {
    // That takes seconds, in which another command that leaves would remove the directory of the socket.
    let transports = registry::look(&run.module, &run.named())?;
    let _leaving = Leaving::of(&place.socket, &place.listen);
    let leader = ByHandLeader { address: address_of(place)?, time_limit, is_announced: true };
    measurement::measure(run, Some(&leader), &transports)
}

/// The address at which this leader listens.
pub(crate) fn address_of(place: &LeaderLocation) -> Result<LeaderAddress, String> {
    leader_address(&place.socket, &place.allow_user, &place.listen, &place.secret)
}

/// Serves one leader, or one after another.
pub(crate) fn follow(arguments: &FollowerArguments) -> CommandOutcome {
    follow_and_report(arguments, &|_| {})
}

/// The same; `served` is called with the transport of each session.
pub(crate) fn follow_and_report(
    arguments: &FollowerArguments,
    served: &dyn Fn(&str),
) -> CommandOutcome {
    let interrupts = Interrupts::catch().map_err(|error| error.to_string())?;
    let ended = |result: Result<Served, Error>| ending(result, arguments.forever, &interrupts);
    with_follower(arguments, served, &interrupts.readable, &|follower| loop {
        output::say(format_args!("waiting for a leader at {}", follower.leader));
        if let Some(status) = ended(follower.serve(&mut || output::say("a leader is there"))) {
            return status;
        }
    })
    .map_err(Into::into)
}

/// Serves one leader until `stop` is readable.
pub(crate) fn follow_until(
    arguments: &FollowerArguments,
    stop: &UnixStream,
) -> Result<Served, String> {
    let served = with_follower(arguments, &|_| {}, stop, &|follower| follower.serve(&mut || {}))?;
    served.map_err(|error| error.to_string())
}

fn with_follower<T>(
    arguments: &FollowerArguments,
    served: &dyn Fn(&str),
    stop: &UnixStream,
    serve: &dyn Fn(&Follower<'_>) -> T,
) -> Result<T, String> {
    let FollowerArguments { socket, allow_user, connect, secret, .. } = arguments;
    let _leaving = Leaving::of(socket, connect);
    let leader = leader_address(socket, allow_user, connect, secret)?;
    // The keepers find the modules that this finds.
    let registry = registry::look(&arguments.module, &[])?.registry;
    let paths = transport_options::local_paths(&arguments.set, &registry)?;
    let pinning = arguments.cpu.map_or(Pinning::Auto, |cpu| Pinning::Cpus(vec![cpu]));
    pinning.check(0, 1).map_err(|error| error.to_string())?;
    let follower = Follower {
        leader,
        registry: &registry,
        paths,
        pinning,
        is_silent: arguments.silent,
        terms: arguments.terms.clone(),
        served,
        interrupt: stop,
    };
    Ok(serve(&follower))
}

/// A command that uses the default socket. It removes the directory of the socket when it ends, in any way: that fails,
/// as it should, if another command has its socket there.
struct Leaving {
    uses_own_directory: bool,
}

impl Leaving {
    fn of(socket: &Option<PathBuf>, address: &Option<String>) -> Self {
        Self { uses_own_directory: socket.is_none() && address.is_none() }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if self.uses_own_directory {
            let _ = std::fs::remove_dir(own_directory());
        }
    }
}

/// The exit status after a leader; None if another leader is to be served.
fn ending(
    served: Result<Served, Error>,
    forever: bool,
    interrupts: &Interrupts,
) -> Option<ExitCode> {
    match served {
        Ok(Served::Interrupted) => Some(interrupts.exit_status()),
        Ok(Served::Sessions(sessions)) => {
            output::say(format_args!("the leader has ended after {sessions} sessions"));
            (!forever).then(|| ExitCode::from(u8::from(sessions == 0)))
        }
        Err(error) => {
            let failed = output::failed(&error);
            if forever {
                // A leader of another version will still be of another version in a moment.
                std::thread::sleep(Duration::from_secs(1));
            }
            (!forever).then_some(failed)
        }
    }
}

fn leader_address(
    socket: &Option<PathBuf>,
    allow_user: &[String],
    address: &Option<String>,
    secret: &Option<PathBuf>,
) -> Result<LeaderAddress, String> {
    if let (Some(address), Some(secret)) = (address, secret) {
        let secret = Secret::read(secret).map_err(|error| error.to_string())?;
        return Ok(LeaderAddress::Tcp(resolved(address)?, secret));
    }
    if secret.is_some() {
        return Err(
            "--secret is only for a TCP address: at a Unix socket the system identifies the peer's user"
                .into(),
        );
    }
    let users = AllowedUsers::named(allow_user).map_err(|error| error.to_string())?;
    let path = match socket {
        Some(path) => path.clone(),
        None => own_socket().map_err(|error| error.to_string())?,
    };
    Ok(LeaderAddress::Socket(path, users))
}

fn resolved(address: &str) -> Result<SocketAddr, String> {
    let fault =
        |why: String| format!("'{address}' is not an address: {why}; write it as HOST:PORT");
    let mut found = address.to_socket_addrs().map_err(|error| fault(error.to_string()))?;
    found.next().ok_or_else(|| fault("the host name does not resolve".into()))
}

/// In `$XDG_RUNTIME_DIR`, if that is this user's: after `su` it can be another's.
fn own_directory() -> PathBuf {
    let is_own = |path: &PathBuf| {
        path.is_absolute()
            && path.metadata().is_ok_and(|metadata| metadata.uid() == getuid().as_raw())
    };
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(is_own) {
        Some(path) => path.join("ipcmark"),
        None => PathBuf::from(format!("/tmp/ipcmark_{}", getuid())),
    }
}

/// The default socket of one user's leader and followers, in a directory that only this user can write
/// to.
fn own_socket() -> Result<PathBuf, Error> {
    let (user, directory) = (getuid().as_raw(), own_directory());
    let remedy = "choose another path with --socket, for both commands";
    let failed = |error| Error::os("create", directory.display().to_string(), error).remedy(remedy);
    match DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let metadata = directory.symlink_metadata().map_err(failed)?;
    let cause = match () {
        () if !metadata.is_dir() => "it is no directory",
        () if metadata.uid() != user => "it belongs to another user",
        () if metadata.mode() & 0o022 != 0 => "another user can write to it",
        () => return Ok(directory.join("leader.sock")),
    };
    Err(Error::new("use", directory.display().to_string(), cause).remedy(remedy))
}
