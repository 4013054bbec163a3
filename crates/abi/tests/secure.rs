//! What `fastdds-secure` promises: a peer without certificates never matches.

use std::{
    io,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::net::UnixDatagram,
    },
    path::Path,
    process::{self, ExitCode},
    time::Duration,
};

use ipcmark_abi::{Found, MODULE_COMMAND};
use ipcmark_transport::{
    Availability, Collect, Error, Rendezvous, Role, Settings, Transport, Wait,
};
use nix::{
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, Pid, fork},
};

/// Longer than ends look for one another.
const WATCHDOG: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(MODULE_COMMAND) {
        ipcmark_abi::serve();
    }
    let found = Found::look(&[]);
    let opening = openings(&found);
    let secure = opening.iter().find(|opening| opening.name == "fastdds-secure");
    if let Some(reason) = secure.and_then(|opening| opening.unavailable.as_ref()) {
        println!("secure: not run: {reason}");
        return ExitCode::SUCCESS;
    }
    // What both have opens, so that the third would open if certificates did not count.
    expect(&opening, "fastdds-secure", "fastdds-secure", true);
    expect(&opening, "fastdds-udp", "fastdds-udp", true);
    expect(&opening, "fastdds-secure", "fastdds-udp", false);
    ExitCode::SUCCESS
}

type Open = dyn Fn(&Settings, &mut dyn Rendezvous) -> Result<(), Error>;

/// How to open one end of a transport, and why that cannot be done.
struct Opening {
    name: String,
    unavailable: Option<String>,
    open: Box<Open>,
}

struct Openings;

impl Collect for Openings {
    type Item = Opening;

    fn item<T: Transport>(&mut self, transport: T) -> Opening {
        let unavailable = match transport.probe() {
            Availability::Available { .. } => None,
            Availability::Unavailable { reason, .. } => Some(reason),
        };
        Opening {
            name: transport.definition().name.to_string(),
            unavailable,
            open: Box::new(move |settings, peers| transport.open(settings, peers).map(drop)),
        }
    }
}

fn openings(found: &Found) -> Vec<Opening> {
    ipcmark_abi::modules(&mut Openings, found)
}

/// Opens a leader's and a follower's end in processes of their own; both find the other, or neither.
fn expect(openings: &[Opening], leader: &str, follower: &str, meets: bool) {
    let directory = std::env::temp_dir().join(format!("ipcmark-secure-{}", process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let (one, other) = UnixDatagram::pair().expect("a pair of sockets");
    let ends = [(leader, Role::Leader, one), (follower, Role::Follower(0), other)];
    let children = ends.map(|(name, role, socket)| {
        let opening = openings.iter().find(|opening| opening.name == name).expect("it is known");
        child(opening, &settings(role, &directory), socket)
    });
    let ended = children.map(|child| waitpid(child, None).expect("a child ends"));
    let _ = std::fs::remove_dir_all(&directory);
    for (status, role) in ended.iter().zip(["leader", "follower"]) {
        let WaitStatus::Exited(_, status) = status else { panic!("the {role}: {status:?}") };
        assert_eq!(*status == 0, meets, "{leader} leads, {follower} follows: the {role}");
    }
    println!("{leader} leads, {follower} follows: {}", if meets { "they meet" } else { "never" });
}

fn child(opening: &Opening, settings: &Settings, socket: UnixDatagram) -> Pid {
    socket.set_read_timeout(Some(WATCHDOG)).expect("a timeout");
    // SAFETY: this process has one thread: libraries are loaded in children only.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let outcome = (opening.open)(settings, &mut Peer(socket));
            if let Err(error) = &outcome {
                eprintln!("  {error}");
            }
            process::exit(i32::from(outcome.is_err()))
        }
    }
}

fn settings(role: Role, directory: &Path) -> Settings {
    Settings {
        role,
        wait: Wait::Block,
        payload: 1000,
        subscribers: 1,
        name: format!("ipcmark-secure-{}", process::id()),
        directory: directory.into(),
        address: None,
        options: Default::default(),
    }
}

/// The way to the other process: a socket that keeps frames apart. A peer that is gone sends nothing.
struct Peer(UnixDatagram);

impl Rendezvous for Peer {
    fn peers(&self) -> usize {
        1
    }

    fn send(&mut self, _: usize, bytes: &[u8], _: &[BorrowedFd<'_>]) -> Result<(), Error> {
        self.0.send(bytes).map(drop).map_err(|error| failed("send", error))
    }

    fn receive(&mut self, _: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        let mut frame = vec![0; 4096];
        let len = self.0.recv(&mut frame).map_err(|error| failed("receive", error))?;
        frame.truncate(len);
        Ok((frame, Vec::new()))
    }
}

fn failed(operation: &str, error: io::Error) -> Error {
    Error::os(operation, "a frame", error)
}
