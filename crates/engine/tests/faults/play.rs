//! A scenario: the engine runs a plan, and what the run leaves is looked for.

use std::{
    fs,
    io::Write,
    os::unix::net::UnixStream,
    thread,
    time::{Duration, Instant},
};

use ipcmark_engine::{
    Budget, Observer, Plan, PlannedCase, PlannedSession, Register, Registry, RunOptions, Touch,
};
use ipcmark_faulty::{Fault, Faulty, queue};
use ipcmark_results::RunResult;
use ipcmark_transport::{Collect, Error, Pattern, Wait};
use nix::{
    mqueue::{MQ_OFlag, mq_open},
    sys::{
        prctl,
        stat::Mode,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
};

use crate::scenario::{HEALTHY, SCENARIOS};

/// Round trips of a case: the measurement is well under way at `MEASURING` of the scenarios.
const ROUND_TRIPS: u64 = 1000;

/// What came of a run.
pub struct Outcome {
    /// What the engine returned.
    pub result: RunResult,
    /// Processes and names that are still there.
    pub left: Vec<String>,
}

/// Every transport of every scenario, and one that is right.
pub fn registry() -> Registry {
    let faulty = SCENARIOS.iter().map(|scenario| (scenario.name, scenario.fault));
    let all = faulty.chain([(HEALTHY, Fault::None)]);
    all.map(|(name, fault)| Register.item(Faulty::new(name, "faulty", fault))).collect()
}

/// When the user interrupts a run.
#[derive(Clone, Copy, PartialEq)]
pub enum Interrupt {
    /// Never.
    Never,
    /// Before it begins.
    AtOnce,
    /// A while after the transport of this name began.
    During(&'static str),
}

/// Runs the transports of these names, one case each, in this order. A case may take `timeout` beyond its
/// expected length.
pub fn play(names: &[&str], sandbox: bool, interrupt: Interrupt, timeout: Duration) -> Outcome {
    // What a run leaves behind becomes a child of this process.
    prctl::set_child_subreaper(true).expect("a process can adopt");
    let registry = registry();
    let plan = plan(&registry, names);
    let options = RunOptions {
        command: names.iter().map(|name| (*name).to_owned()).collect(),
        sandbox,
        timeout,
        ..RunOptions::default()
    };
    let (readable, writer) = UnixStream::pair().expect("a pair of sockets");
    let mut user = User { interrupt, writer };
    if interrupt == Interrupt::AtOnce {
        user.interrupt_after(Duration::ZERO);
    }
    let result = ipcmark_engine::run(&registry, &plan, &options, &readable, &mut user)
        .unwrap_or_else(|error| panic!("the run broke off: {error}"));
    let left = left_names(&result.run.id).into_iter().chain(left_processes()).collect();
    Outcome { result, left }
}

fn plan(registry: &Registry, names: &[&str]) -> Plan {
    let case =
        PlannedCase { pattern: Pattern::Latency, payload: 64, touch: Touch::All, verdict: None };
    let place = |name: &&str| {
        let found = registry.iter().position(|candidate| candidate.definition().name == **name);
        found.unwrap_or_else(|| panic!("there is no transport {name}"))
    };
    let session = |name| PlannedSession {
        transport: place(name),
        wait: Wait::Block,
        trial: 1,
        library_version: None,
        options: Default::default(),
        cases: vec![case.clone()],
    };
    let sessions = names.iter().map(session).collect();
    Plan { sessions, subscribers: 1, silent: 0, budget: Budget::RoundTrips(ROUND_TRIPS), seed: 1 }
}

/// Interrupts the run, or does not.
struct User {
    interrupt: Interrupt,
    writer: UnixStream,
}

impl User {
    fn interrupt_after(&self, delay: Duration) {
        let mut writer = self.writer.try_clone().expect("a descriptor can be copied");
        thread::spawn(move || {
            thread::sleep(delay);
            writer.write_all(b"x").expect("the run has the other end");
        });
    }
}

impl Observer for User {
    fn begun(&mut self, _: &RunResult) {}

    fn starting(&mut self, name: &str, _: &PlannedSession, _: &PlannedCase) {
        if matches!(self.interrupt, Interrupt::During(wanted) if wanted == name) {
            self.interrupt_after(Duration::from_millis(500));
        }
    }

    fn finished(&mut self, _: &RunResult) -> Result<(), Error> {
        Ok(())
    }
}

/// The names in the file system that carry the run's id.
fn left_names(id: &str) -> Vec<String> {
    let places = ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"];
    let entries = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let paths = entries.map(|entry| entry.path().display().to_string());
    // Queues can be seen by name even where the system does not list them.
    let queues = (1..=2).map(|number| queue(&format!("ipcmark-{id}-{number}")));
    let queues = queues
        .filter(|queue| mq_open(queue.as_str(), MQ_OFlag::O_RDONLY, Mode::empty(), None).is_ok());
    paths.filter(|path| path.contains(id)).chain(queues).collect()
}

/// The processes that the run has started and that live on. One that is on its way out gets the
/// time to end.
fn left_processes() -> Vec<String> {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        while matches!(
            waitpid(None, Some(WaitPidFlag::WNOHANG)),
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..))
        ) {}
        let children = children();
        if children.is_empty() || Instant::now() > patience {
            return children;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn children() -> Vec<String> {
    let path = format!("/proc/self/task/{}/children", std::process::id());
    let numbers = fs::read_to_string(path).expect("the system lists children");
    let numbers = numbers.split_whitespace();
    numbers
        .map(|number| fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default())
        .collect()
}
