//! A scenario: the engine runs a plan, and the test looks for leftovers of the run.

use std::{
    fs,
    io::Write,
    os::unix::net::UnixStream,
    thread,
    time::{Duration, Instant},
};

use ipcmark_engine::{
    Length, Observer, Plan, PlannedRow, PlannedSession, Register, Registry, RunOptions, Slot,
    Trials,
};
use ipcmark_faulty::{Fault, Faulty, queue};
use ipcmark_results::{Load, RunResult, Touch};
use ipcmark_transport::{Collect, Error, Wait};
use nix::{
    mqueue::{MQ_OFlag, mq_open},
    sys::{
        prctl,
        stat::Mode,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
};

use crate::scenario::{HEALTHY, SCENARIOS, pattern, round_trips};

/// More trials than an interrupted run completes.
pub const TRIALS: u32 = 1000;

/// The outcome of a run.
pub struct Outcome {
    /// The engine's result.
    pub result: RunResult,
    /// Processes and names that are left.
    pub left: Vec<String>,
}

/// The transports of all scenarios, and a healthy one.
pub fn registry() -> Registry {
    let faulty = SCENARIOS.iter().map(|scenario| (scenario.name, scenario.fault));
    let all = faulty.chain([(HEALTHY, Fault::None)]);
    all.map(|(name, fault)| Register.item(Faulty::new(name, "faulty", fault))).collect()
}

/// The moment at which the user interrupts a run.
#[derive(Clone, Copy, PartialEq)]
pub enum Interrupt {
    /// Never.
    Never,
    /// Before it begins.
    AtOnce,
    /// A while after it began to measure.
    Measuring,
    /// After the first recorded trial, of [`TRIALS`].
    AfterATrial,
}

/// Runs the transports of these names side by side, one row each. Each request of a row may take `timeout` beyond
/// its expected time.
pub fn play(names: &[&str], sandbox: bool, interrupt: Interrupt, timeout: Duration) -> Outcome {
    // Orphans of the run become children of this process.
    prctl::set_child_subreaper(true).expect("a process can adopt");
    let registry = registry();
    let trials = if interrupt == Interrupt::AfterATrial { TRIALS } else { 1 };
    let plan = plan(&registry, names, trials);
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

fn plan(registry: &Registry, names: &[&str], trials: u32) -> Plan {
    let place = |name: &&str| {
        let found = registry.iter().position(|candidate| candidate.definition().name == **name);
        found.unwrap_or_else(|| panic!("there is no transport {name}"))
    };
    let session = |name| PlannedSession {
        transport: place(name),
        wait: Wait::Block,
        library_version: None,
        options: Default::default(),
    };
    let row = |session: usize| {
        let pattern = pattern(names[session]);
        let slot = Slot { pattern, payload: 64, touch: Touch::All, load: Load::Closed };
        PlannedRow { session, slot, verdict: None }
    };
    Plan {
        trace: None,
        rows: (0..names.len()).map(row).collect(),
        sessions: names.iter().map(session).collect(),
        subscribers: 1,
        silent: 0,
        pairs: 1,
        buffer_bytes: 0,
        trials: Trials::Fixed(trials),
        length: Some(Length::RoundTrips(round_trips(names))),
        first_trial: 1,
        has_final: false,
        seed: 1,
    }
}

/// Interrupts the run at the chosen moment, if any.
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

    fn progress(&mut self, _: &str, _: f64) {
        if self.interrupt == Interrupt::Measuring {
            self.interrupt_after(Duration::from_millis(500));
        }
    }

    fn recorded(&mut self, result: &RunResult) -> Result<(), Error> {
        result.check().map_err(|cause| Error::new("check", "the result", cause))?;
        if self.interrupt == Interrupt::AfterATrial && !result.cases.is_empty() {
            self.interrupt_after(Duration::ZERO);
        }
        Ok(())
    }
}

/// The names in the file system that carry the run's id.
fn left_names(id: &str) -> Vec<String> {
    let places = ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"];
    let entries = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let paths = entries.map(|entry| entry.path().display().to_string());
    // Queues can be opened by name even if the system does not list them.
    let queues = (1..=2).map(|number| queue(&format!("ipcmark-{id}-{number}")));
    let queues = queues
        .filter(|queue| mq_open(queue.as_str(), MQ_OFlag::O_RDONLY, Mode::empty(), None).is_ok());
    paths.filter(|path| path.contains(id)).chain(queues).collect()
}

/// The live processes that the run has started. A process that is exiting gets time to end.
fn left_processes() -> Vec<String> {
    let time_limit = Instant::now() + Duration::from_secs(60);
    loop {
        while matches!(
            waitpid(None, Some(WaitPidFlag::WNOHANG)),
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..))
        ) {}
        let children = children();
        if children.is_empty() || Instant::now() > time_limit {
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
