//! Random signals at random moments to random processes of random runs: no hang, no panic, no surviving process,
//! nothing left behind, no torn file, and at most one row lost per signal. `make torture N=10000` sends many.

use std::{
    collections::BTreeMap, env, fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command,
    thread, time::Duration,
};

use ipcmark_harness::is_isolated;
use ipcmark_results::Status;
use libc::{
    SIGABRT, SIGALRM, SIGBUS, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSEGV, SIGSTOP,
    SIGTERM, SIGUSR1,
};
use tempfile::TempDir;

use crate::support::{
    Ended, IPCMARK, Running, Verdict, ipcmark, ipcmark_under, is_root, listed,
    processes::{self, Process, await_that, descendants},
    traces, works,
};

ipcmark_harness::tests![a_random_signal_costs_at_most_one_row_and_leaves_nothing];

/// "RUNS SEED": the number of runs, and the seed that chooses them.
const CHOICE: &str = "IPCMARK_TORTURE";

/// The default number of runs, limited by the time for a test.
const FEW: u64 = 10;

const SIGNALS: [i32; 12] = [
    SIGKILL, SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGSEGV, SIGBUS, SIGABRT, SIGQUIT, SIGUSR1, SIGALRM,
    SIGSTOP,
];

/// Another signal, which must have no effect: no process dies of a closed pipe.
const HARMLESS: [i32; 1] = [SIGPIPE];

const NOBODY: u32 = 65534;

fn a_random_signal_costs_at_most_one_row_and_leaves_nothing() -> Verdict {
    if !is_isolated() {
        return Verdict::Skipped("what is left is seen where nobody else leaves anything".into());
    }
    let chosen = env::var(CHOICE).unwrap_or_default();
    let mut numbers = chosen.split_whitespace().map(|word| word.parse().expect("a number"));
    let (runs, seed) =
        (numbers.next().unwrap_or(FEW), numbers.next().unwrap_or(u64::from(std::process::id())));
    let transports = listed::available();
    let mut random = Random(seed);
    let mut told = BTreeMap::new();
    for number in 0..runs {
        let attempt = Attempt::choose(&mut random, &transports);
        let what = format!("run {number} of seed {seed}: {attempt:?}");
        *told.entry(attempt.run_once(&mut random, &what)).or_insert(0) += 1;
    }
    told.iter().for_each(|(outcome, count)| println!("torture: {count} {outcome}"));
    Verdict::Holds
}

/// SplitMix64: its choices depend only on its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// One run, and the signal to one of its processes.
#[derive(Debug)]
struct Attempt {
    words: String,
    /// True if the run belongs to another user.
    is_nobodys: bool,
    signal: i32,
    moment: Duration,
}

/// The outcome of a run.
struct Outcome {
    ended: Ended,
    file: PathBuf,
    _directory: TempDir,
}

impl Attempt {
    fn choose(random: &mut Random, transports: &[String]) -> Self {
        let number = 1 + random.below(3);
        let chosen: Vec<_> = (0..number).map(|_| random.one_of(transports).as_str()).collect();
        let sandbox = random.one_of(&["auto", "off"]);
        let size = random.one_of(&["64", "4k", "64,100k"]);
        let signal = match random.below(SIGNALS.len() + 1) {
            0 => HARMLESS[0],
            at => SIGNALS[at - 1],
        };
        let chosen = chosen.join(",");
        Self {
            words: format!("run -t {chosen} -s {size} -n 50 --trials 1 --sandbox {sandbox}"),
            is_nobodys: random.below(2) == 0 && is_root() && works("setpriv", &["--version"]),
            signal,
            moment: Duration::from_millis(random.below(1500) as u64),
        }
    }

    fn command(&self) -> Command {
        if !self.is_nobodys {
            return ipcmark(&self.words);
        }
        let (uid, gid) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
        ipcmark_under("setpriv", &[&uid, &gid, "--clear-groups"], &self.words)
    }

    /// Runs it, sends the signal and checks the invariants; returns a description of the process that was hit.
    fn run_once(&self, random: &mut Random, what: &str) -> String {
        let before = traces::everything();
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let file = directory.path().join("result.json");
        let running = Running::start(self.command().arg("-o").arg(&file));
        thread::sleep(self.moment);
        let victim = self.hit(&running, random);
        let ended = running.end();
        await_that(&format!("all end, {what}"), || survivors().is_empty().then_some(()));
        let outcome = Outcome { ended, file, _directory: directory };
        outcome.check(victim.as_deref(), self.signal, what);
        drop(outcome);
        let mut left = traces::everything();
        left.retain(|path| !before.contains(path) && !traces::is_semaphore_in_the_making(path));
        left.extend(traces::system_v());
        assert_eq!(left, [""; 0], "{what}, {victim:?}");
        victim.unwrap_or_else(|| "none".into())
    }

    /// Sends the signal to one of its processes, unless all have ended; returns the name of that process.
    fn hit(&self, running: &Running, random: &mut Random) -> Option<String> {
        let command = Process::read(running.id()).into_iter();
        let all: Vec<Process> = command.chain(descendants(running.id())).collect();
        let all: Vec<&Process> = all.iter().filter(|process| process.now().is_some()).collect();
        let victim = *all.get(random.below(all.len().max(1)))?;
        // A child that has not executed its program yet has the command's handlers, and the pipe that they write to.
        let words = |id: i32| std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let is_command = victim.id == running.id() || words(victim.id) == words(running.id());
        victim.send(self.signal);
        if self.signal == SIGSTOP {
            // A stopped process is detected by its silence, which takes as long as the timeout.
            thread::sleep(Duration::from_millis(random.below(300) as u64));
            victim.send(SIGCONT);
        }
        Some(if is_command { "command".into() } else { victim.name.clone() })
    }
}

impl Outcome {
    fn check(&self, victim: Option<&str>, signal: i32, what: &str) {
        let Ended { status, stdout, stderr } = &self.ended;
        let what = format!("{what}, {victim:?}: {status}\nstdout: {stdout}\nstderr: {stderr}");
        assert!(!stdout.contains("panicked") && !stderr.contains("panicked"), "{what}");
        let is_hit = victim == Some("command");
        assert!(is_hit || status.code().is_some_and(|code| code < 2), "{what}");
        if !self.file.exists() {
            assert!(is_hit, "there is no result: {what}");
            return;
        }
        let result =
            ipcmark_results::read(&self.file).unwrap_or_else(|why| panic!("{why}: {what}"));
        let failed = result.cases.iter().filter(|case| case.status() == Status::Failed).count();
        assert!(failed <= 1, "{failed} rows: {what}");
        let does_harm = signal != SIGSTOP && !HARMLESS.contains(&signal);
        assert!(result.complete || (is_hit && does_harm), "it is not complete: {what}");
    }
}

/// The surviving processes of an ended run: those of the command's own program, under any name, and daemons.
fn survivors() -> Vec<Process> {
    let program = fs::canonicalize(IPCMARK).expect("it is there");
    let is_ours = |process: &Process| {
        let own = fs::read_link(format!("/proc/{}/exe", process.id));
        own.is_ok_and(|own| own == program) || process.name == "iox-roudi"
    };
    processes::all().into_iter().filter(is_ours).collect()
}
