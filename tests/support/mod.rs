//! Shared code of the end-to-end tests: the real command with a watchdog, its result, its processes and its leftovers.

pub mod browser;
pub mod confined;
pub mod listed;
pub mod namespaces;
pub mod processes;
pub mod pty;
pub mod runs;
pub mod scene;
pub mod tracer;
pub mod traces;
pub mod watchdog;

use std::{
    env,
    io::Read,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

pub use ipcmark_harness::Verdict;
use ipcmark_results::{Case, EndRecord, RunResult, Trial};
use serde_json::Value;
use watchdog::WATCHDOG;

/// The command under test.
pub const IPCMARK: &str = env!("CARGO_BIN_EXE_ipcmark");

/// The time limit for a worker that does not answer, long enough that a busy machine fails no case.
pub const TIMEOUT: [&str; 2] = ["--timeout", "5m"];

/// A command that has ended.
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// A running command.
pub struct Running {
    child: Option<Child>,
    stdout: Output,
    stderr: Output,
}

/// The output of a command on one stream, read in a thread.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

/// A command line that is refused, with a sentence that contains these words.
#[track_caller]
pub fn refused(words: &str, said: &str) {
    let ended = run(words).exits(2);
    assert!(ended.stderr.contains(said), "{words}: {}", ended.stderr);
}

/// `ipcmark` with these words, split at blanks.
pub fn ipcmark(words: &str) -> Command {
    let mut command = Command::new(IPCMARK);
    command.args(patient(words));
    command
}

/// The words; for a command that measures, also a timeout that suits a busy machine, and a single trial if the case is
/// specified, unless they say otherwise.
fn patient(words: &str) -> Vec<&str> {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    let measures = words
        .first()
        .is_some_and(|word| ["run", "leader", "explain", "sweep", "advise"].contains(word))
        || words.contains(&"--run");
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(word));
    let is_run = words.first().is_some_and(|word| ["run", "leader"].contains(word));
    if is_run
        && has(&["-n", "-d", "--round-trips", "--duration"])
        && !has(&["--trials", "--budget", "--precision"])
    {
        words.splice(1..1, ["--trials", "1"]);
    }
    if measures && !words.contains(&TIMEOUT[0]) {
        // Directly after the command: the test may append the value of a flag at the end.
        words.splice(1..1, TIMEOUT);
    }
    words
}

/// The same, started by another program with its own words in front.
pub fn ipcmark_under(program: &str, its_words: &[&str], words: &str) -> Command {
    let mut command = Command::new(program);
    command.args(its_words).arg(IPCMARK).args(patient(words));
    command
}

/// Runs `ipcmark` with these words until it ends.
pub fn run(words: &str) -> Ended {
    end(&mut ipcmark(words))
}

/// Runs a command until it ends.
pub fn end(command: &mut Command) -> Ended {
    Running::start(command).end()
}

/// True if a program exists, and succeeds with these words.
pub fn works(program: &str, words: &[&str]) -> bool {
    let status = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

impl Running {
    /// Starts a command and reads its output.
    pub fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The tests' own settings of colours and columns are not under test.
        command.env_remove("NO_COLOR").env_remove("COLUMNS").env_remove("RUST_BACKTRACE");
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        let stdout = Output::of(child.stdout.take().expect("it is piped"));
        let stderr = Output::of(child.stderr.take().expect("it is piped"));
        Self { child: Some(child), stdout, stderr }
    }

    /// Its process id.
    pub fn id(&self) -> i32 {
        self.child.as_ref().expect("it runs").id() as i32
    }

    /// Waits until its standard error contains these words.
    #[track_caller]
    pub fn await_words(&self, words: &str) {
        processes::await_that(&format!("it says '{words}'"), || {
            String::from_utf8_lossy(&self.stderr.bytes()).contains(words).then_some(())
        });
    }

    /// True if it has ended.
    pub fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut().expect("it runs");
        child.try_wait().expect("it is a child").is_some()
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        let watchdog = Instant::now() + WATCHDOG;
        while !self.has_ended() {
            assert!(Instant::now() < watchdog, "the command hangs");
            thread::sleep(Duration::from_millis(5));
        }
        let mut child = self.child.take().expect("it runs");
        Ended {
            status: child.wait().expect("it has ended"),
            stdout: self.stdout.end(),
            stderr: self.stderr.end(),
        }
    }
}

impl Drop for Running {
    /// A failed test leaves no command behind.
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Output {
    fn of(mut stream: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = stream.read(&mut buffer) {
                read.lock().expect("nobody panics with it").extend(&buffer[..len]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().expect("nobody panics with it")
    }

    /// The complete output, once no writer is left.
    fn end(&mut self) -> String {
        self.reader.take().expect("it ends once").join().expect("a reader does not panic");
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

impl Ended {
    /// The exit status.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("it ended by {}", self.status))
    }

    /// The same, if the status is `code`; else fails and shows the output.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.status.code(),
            Some(code),
            "stdout: {}\nstderr: {}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// The result on standard output.
    #[track_caller]
    pub fn result(&self) -> RunResult {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e} in: {}\nstderr: {}", self.stdout, self.stderr))
    }
}

/// The result in a file, checked as the command itself checks it.
#[track_caller]
pub fn read(path: &Path) -> RunResult {
    let result = ipcmark_results::read(path).unwrap_or_else(|e| panic!("{e}"));
    let json = serde_json::to_value(&result).expect("a result is plain data");
    assert_valid(&json);
    result
}

/// Fails unless `json` conforms to the schema that `ipcmark schema` prints.
#[track_caller]
pub fn assert_valid(json: &Value) {
    let schema: Value = serde_json::from_str(&run("schema").exits(0).stdout).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> = schema.iter_errors(json).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// All ends of a trial, in the order of their processes.
pub fn ends(trial: &Trial) -> impl Iterator<Item = &EndRecord> {
    trial.session.processes.iter().flat_map(|process| &process.ends)
}

/// The only trial of a measured case.
#[track_caller]
pub fn only(case: &Case) -> &Trial {
    match case.trials() {
        [trial] => trial,
        trials => {
            let (name, number) = (&case.identity.transport, trials.len());
            panic!("{name} {} has {number} trials: {:?}", case.identity.wait, case.reason())
        }
    }
}

/// Status and reason of a transport's only case.
#[track_caller]
pub fn outcome<'a>(result: &'a RunResult, transport: &str) -> (&'a str, &'a str) {
    let mut cases = result.cases.iter().filter(|case| case.identity.transport == transport);
    let case = cases.next().unwrap_or_else(|| panic!("{transport} has no case"));
    assert!(cases.next().is_none(), "{transport} has several cases");
    (case.status().as_str(), case.reason().unwrap_or(""))
}

/// The processors that this process may run on.
pub fn processors() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").expect("the system has /proc");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let ranges = list.expect("the system lists them").trim().split(',');
    ranges.flat_map(range).collect()
}

fn range(text: &str) -> std::ops::RangeInclusive<u32> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    first.parse().expect("a number")..=last.parse().expect("a number")
}

/// True if this process is root.
pub fn is_root() -> bool {
    // SAFETY: only returns a number.
    unsafe { libc::geteuid() == 0 }
}
