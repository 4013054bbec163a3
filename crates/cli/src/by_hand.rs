//! `ipcmark leader` and `ipcmark follower`: one run in two terminals, for two users, in two
//! containers or on two hosts.

use std::{
    fs::DirBuilder,
    io::ErrorKind,
    net::{SocketAddr, ToSocketAddrs},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use ipcmark_engine::{
    Pinning,
    link::{Follower, Meeting, Secret, Served},
};
use ipcmark_transport::Error;
use nix::unistd::getuid;

use crate::{arguments::RunArguments, interrupts::Interrupts, output, registry, run};

/// Where a leader is found.
#[derive(Args, Default)]
pub(crate) struct LeaderPlace {
    /// Unix socket to wait for followers at; its permissions decide who may connect [default:
    /// leader.sock in a directory of this user's]
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    pub socket: Option<PathBuf>,

    /// Wait for followers on other hosts here; --secret is needed
    #[arg(long, value_name = "ADDRESS:PORT", requires = "secret")]
    pub listen: Option<String>,

    /// File with the secret that followers must know, one line of 16 characters or more
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
}

/// A leader: where it is found, and what it measures.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct LeaderArguments {
    #[command(flatten)]
    pub place: LeaderPlace,

    #[command(flatten)]
    pub run: RunArguments,
}

/// A follower: where its leader is. What is measured it is told.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct FollowerArguments {
    /// Unix socket of the leader [default: leader.sock in a directory of this user's]
    #[arg(long, value_name = "PATH", conflicts_with = "connect")]
    pub socket: Option<PathBuf>,

    /// Address of a leader on another host; --secret is needed
    #[arg(long, value_name = "ADDRESS:PORT", requires = "secret")]
    pub connect: Option<String>,

    /// File with the secret that the leader has too
    #[arg(long, value_name = "FILE", requires = "connect")]
    pub secret: Option<PathBuf>,

    /// Only listen: answer nothing that is measured. Other followers must answer
    #[arg(long)]
    pub silent: bool,

    /// Serve one leader after another until interrupted
    #[arg(long)]
    pub forever: bool,

    /// Processor to run on when the leader is on another host; otherwise the leader chooses
    #[arg(long, value_name = "CPU", requires = "connect")]
    pub cpu: Option<u32>,

    /// A module of transports to load beside those that are found
    #[arg(long, value_name = "PATH.so")]
    pub module: Vec<PathBuf>,
}

/// Waits for the followers and measures.
pub(crate) fn lead(place: &LeaderPlace, run: &RunArguments) -> Result<ExitCode, String> {
    let meeting = meeting(&place.socket, &place.listen, &place.secret)?;
    let registry = registry::look(&run.module)?;
    let ended = run::run(run, Some(&meeting), &registry);
    leave();
    ended
}

/// Serves one leader, or one after another.
pub(crate) fn follow(arguments: &FollowerArguments) -> Result<ExitCode, String> {
    let meeting = meeting(&arguments.socket, &arguments.connect, &arguments.secret)?;
    // Its keepers find the modules that this finds.
    registry::look(&arguments.module)?;
    let pinning = arguments.cpu.map_or(Pinning::Auto, |cpu| Pinning::Cpus(vec![cpu]));
    pinning.check(0).map_err(|error| error.to_string())?;
    let interrupts = Interrupts::catch().map_err(|e| format!("cannot catch signals: {e}"))?;
    let follower =
        Follower { meeting, pinning, is_silent: arguments.silent, interrupt: &interrupts.readable };
    let status = serve(&follower, arguments.forever, &interrupts);
    leave();
    Ok(status)
}

/// Takes away the directory that a meeting without a place of its own was in; one that is somebody's
/// still, and so not empty, stays.
fn leave() {
    let _ = std::fs::remove_dir(own_directory());
}

fn serve(follower: &Follower<'_>, forever: bool, interrupts: &Interrupts) -> ExitCode {
    loop {
        output::complain(format_args!("waiting for a leader at {}", follower.meeting));
        let served = follower.serve(&mut || output::complain("a leader is there"));
        match served {
            Ok(Served::Interrupted) => {
                return ExitCode::from(128 + interrupts.signal().unwrap_or(2));
            }
            Ok(Served::Sessions(sessions)) => {
                output::complain(format_args!("the leader has ended after {sessions} sessions"));
                if !forever {
                    return ExitCode::from(u8::from(sessions == 0));
                }
            }
            Err(error) => {
                output::complain(&error);
                if !forever {
                    return ExitCode::FAILURE;
                }
                // A leader of another version will still be of another version in a moment.
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
        }
    }
}

fn meeting(
    socket: &Option<PathBuf>,
    address: &Option<String>,
    secret: &Option<PathBuf>,
) -> Result<Meeting, String> {
    if let (Some(address), Some(secret)) = (address, secret) {
        let secret = Secret::read(secret).map_err(|error| error.to_string())?;
        return Ok(Meeting::At(resolved(address)?, secret));
    }
    if secret.is_some() {
        return Err(
            "--secret goes with the address of a leader: at a socket its permissions decide \
                    who may connect"
                .into(),
        );
    }
    match socket {
        Some(path) => Ok(Meeting::Here(path.clone())),
        None => own_socket().map(Meeting::Here).map_err(|error| error.to_string()),
    }
}

fn resolved(address: &str) -> Result<SocketAddr, String> {
    let fault = |why: String| format!("'{address}' is no address: {why}; write it as HOST:PORT");
    let mut found = address.to_socket_addrs().map_err(|error| fault(error.to_string()))?;
    found.next().ok_or_else(|| fault("nothing is known by that name".into()))
}

fn own_directory() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()) {
        Some(path) => Path::new(&path).join("ipcmark"),
        None => PathBuf::from(format!("/tmp/ipcmark_{}", getuid())),
    }
}

/// The socket that leader and follower of one user meet at, in a directory that nobody else can
/// write to.
fn own_socket() -> Result<PathBuf, Error> {
    let (user, directory) = (getuid().as_raw(), own_directory());
    let failed = |error| Error::os("create", directory.display().to_string(), error);
    match DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let metadata = directory.symlink_metadata().map_err(failed)?;
    if !metadata.is_dir() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
        let cause = "somebody else can write to it";
        return Err(Error::new("use", directory.display().to_string(), cause)
            .remedy("name another place with --socket, for both"));
    }
    Ok(directory.join("leader.sock"))
}
