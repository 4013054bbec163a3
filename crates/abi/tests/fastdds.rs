//! Properties of the Fast DDS transports that conformance cannot show: a peer without certificates never matches
//! `fastdds-secure`, and an endpoint that was never closed does not disturb the next one in its process.

use std::{
    io, mem,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::net::UnixDatagram,
    },
    path::Path,
    process::{self, ExitCode},
    rc::Rc,
    time::Duration,
};

use ipcmark_abi::{ExaminedModules, MODULE_COMMAND};
use ipcmark_machine::leftovers;
use ipcmark_transport::{
    Availability, Collect, Endpoint, Error, Leftover, Rendezvous, Role, SessionName, Settings,
    Step, Transport, Wait,
};
use nix::{
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, Pid, fork},
};

/// The time in which endpoints find each other, even on a busy machine.
const MEET_WITHIN: Duration = Duration::from_secs(60);

/// The time after which endpoints that must not find each other give up.
const MISS_WITHIN: Duration = Duration::from_secs(8);

/// Longer than endpoints search for each other.
const WATCHDOG: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(MODULE_COMMAND) {
        ipcmark_abi::serve();
    }
    ipcmark_harness::isolate();
    let found = ExaminedModules::look(&[]);
    let opening = openings(&found);
    let secure = opening.iter().find(|opening| opening.name == "fastdds-secure");
    if let Some(reason) = secure.and_then(|opening| opening.unavailable.as_ref()) {
        println!("fastdds: not run: {reason}");
        return ExitCode::SUCCESS;
    }
    // The transports that both processes can open. Without the certificates' effect, the third would open too.
    expect(&opening, "fastdds-secure", "fastdds-secure", true);
    expect(&opening, "fastdds-udp", "fastdds-udp", true);
    expect(&opening, "fastdds-secure", "fastdds-udp", false);
    abandon(&opening, "fastdds-udp");
    abandon(&opening, "fastdds-secure");
    abandon(&opening, "fastdds-shm");
    sweep(&opening, "fastdds-shm");
    ExitCode::SUCCESS
}

type Operation = dyn Fn(&Settings, &mut dyn Rendezvous) -> Result<(), Error>;

/// The operations on one endpoint of a transport, and the reason if it is unavailable.
struct Opening {
    name: String,
    unavailable: Option<String>,
    /// Opens and closes an endpoint.
    open: Box<Operation>,
    /// Opens an endpoint with a small payload, leaks it, opens another with a larger payload, and publishes a message
    /// of that size.
    leave: Box<Operation>,
    leftovers: Box<dyn Fn() -> Result<Vec<Leftover>, Error>>,
}

struct Openings;

impl Collect for Openings {
    type Item = Opening;

    fn item<T: Transport>(&mut self, transport: T) -> Opening {
        let transport = Rc::new(transport);
        let (leaving, naming) = (Rc::clone(&transport), Rc::clone(&transport));
        let unavailable = match transport.probe() {
            Availability::Available { .. } => None,
            Availability::Unavailable { reason, .. } => Some(reason),
        };
        Opening {
            name: transport.definition().name.to_string(),
            unavailable,
            open: Box::new(move |settings, peers| transport.open(settings, peers).map(drop)),
            leave: Box::new(move |settings, peers| {
                let small = Settings { payload: 64, ..settings.clone() };
                mem::forget(leaving.open(&small, peers)?);
                let mut end = leaving.open(settings, peers)?;
                publish(&mut end, settings.payload)?;
                peers.meet()
            }),
            leftovers: Box::new(move || naming.leftovers(&[])),
        }
    }
}

fn publish(end: &mut impl Endpoint, payload: usize) -> Result<(), Error> {
    while end.loan(payload)? == Step::WouldBlock {}
    end.room().fill(1);
    while end.publish()? == Step::WouldBlock {}
    Ok(())
}

fn openings(found: &ExaminedModules) -> Vec<Opening> {
    ipcmark_abi::modules(&mut Openings, found)
}

/// Opens a leader's and a follower's endpoint in separate processes; both find each other, or neither does.
fn expect(openings: &[Opening], leader: &str, follower: &str, meets: bool) {
    let ends = [leader, follower].map(|name| &*of(openings, name).open);
    let within = if meets { MEET_WITHIN } else { MISS_WITHIN };
    for (done, role) in play(ends, within).iter().zip(["leader", "follower"]) {
        assert_eq!(*done, meets, "{leader} leads, {follower} follows: the {role}");
    }
    println!("{leader} leads, {follower} follows: {}", if meets { "they meet" } else { "never" });
}

/// Opens endpoints in processes that already have one which was never closed.
fn abandon(openings: &[Opening], name: &str) {
    let ends = [&*of(openings, name).leave; 2];
    assert_eq!(play(ends, MEET_WITHIN), [true; 2], "{name} beside ends that were left open");
    println!("{name} beside ends that were left open: it works");
}

/// The leftovers of unclosed endpoints in shared memory are named, and can be removed at once.
fn sweep(openings: &[Opening], name: &str) {
    let named = (of(openings, name).leftovers)().expect("the module names what is left");
    let outcome = leftovers::remove(&named);
    assert!(!outcome.done.is_empty() && outcome.faults.is_empty(), "{outcome:?}");
    let again = (of(openings, name).leftovers)().expect("the module names what is left");
    assert!(leftovers::remove(&again).done.is_empty(), "{again:?}");
    println!("{name} left {} files: they are removed", outcome.done.len());
}

fn of<'a>(openings: &'a [Opening], name: &str) -> &'a Opening {
    openings.iter().find(|opening| opening.name == name).expect("it is known")
}

/// Runs a leader's and a follower's action, each in a separate process; returns their success.
fn play(ends: [&Operation; 2], within: Duration) -> [bool; 2] {
    let directory = std::env::temp_dir().join(format!("ipcmark-fastdds-{}", process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let (one, other) = UnixDatagram::pair().expect("a pair of sockets");
    let children = [
        child(ends[0], &settings(Role::Leader, &directory, within), one),
        child(ends[1], &settings(Role::Follower(0), &directory, within), other),
    ];
    let ended = children.map(|child| waitpid(child, None).expect("a child ends"));
    let _ = std::fs::remove_dir_all(&directory);
    ended.map(|status| {
        let WaitStatus::Exited(_, status) = status else { panic!("a child: {status:?}") };
        status == 0
    })
}

fn child(play: &Operation, settings: &Settings, socket: UnixDatagram) -> Pid {
    socket.set_read_timeout(Some(WATCHDOG)).expect("a timeout");
    // SAFETY: this process has one thread: only children load libraries.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let outcome = play(settings, &mut Peer(socket));
            if let Err(error) = &outcome {
                eprintln!("  {error}");
            }
            // Without running the destructors of a library that is still active.
            // SAFETY: this process has nothing to flush or join.
            unsafe { nix::libc::_exit(i32::from(outcome.is_err())) }
        }
    }
}

fn settings(role: Role, directory: &Path, connect_within: Duration) -> Settings {
    Settings {
        role,
        wait: Wait::Block,
        payload: 1000,
        subscribers: 1,
        name: SessionName::new(format!("ipcmark-fastdds-{}", process::id())).unwrap(),
        directory: directory.into(),
        address: None,
        connect_within,
        options: Default::default(),
    }
}

/// The connection to the other process: a datagram socket, which preserves frames. A dead peer sends nothing.
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
