//! What the end-to-end tests share: the real command with a watchdog, its result, its processes and
//! what it leaves.

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
use ipcmark_results::{Case, RunResult, Trial};
use serde_json::Value;
use watchdog::WATCHDOG;

/// The command under test.
pub const IPCMARK: &str = env!("CARGO_BIN_EXE_ipcmark");

/// How long a run waits for a worker that does not answer, so that a busy machine fails no case.
pub const TIMEOUT: [&str; 2] = ["--timeout", "5m"];

/// A command that has ended.
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// A command that runs.
pub struct Running {
    child: Option<Child>,
    stdout: Output,
    stderr: Output,
}

/// What a command writes to a stream, read in a thread.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

/// A command line that is refused, with a sentence that has these words in it.
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

/// The words, and for one that measures a timeout that a busy machine keeps, and one trial where what it measures is
/// given, unless they say otherwise.
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
        // Right behind the command: a flag at the end may have its value added by the test.
        words.splice(1..1, TIMEOUT);
    }
    words
}

/// The same, started by another program with words of its own in front.
pub fn ipcmark_under(program: &str, its_words: &[&str], words: &str) -> Command {
    let mut command = Command::new(program);
    command.args(its_words).arg(IPCMARK).args(patient(words));
    command
}

/// Runs `ipcmark` with these words to its end.
pub fn run(words: &str) -> Ended {
    end(&mut ipcmark(words))
}

/// Runs a command to its end.
pub fn end(command: &mut Command) -> Ended {
    Running::start(command).end()
}

/// Whether a program is there, and works with these words.
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
    /// Starts a command and reads what it writes.
    pub fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What the tests' own environment says about colours and columns is not under test.
        command.env_remove("NO_COLOR").env_remove("COLUMNS").env_remove("RUST_BACKTRACE");
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        let stdout = Output::of(child.stdout.take().expect("it is piped"));
        let stderr = Output::of(child.stderr.take().expect("it is piped"));
        Self { child: Some(child), stdout, stderr }
    }

    /// Its process.
    pub fn id(&self) -> i32 {
        self.child.as_ref().expect("it runs").id() as i32
    }

    /// Waits until it has written these words to standard error.
    #[track_caller]
    pub fn await_words(&self, words: &str) {
        processes::await_that(&format!("it says '{words}'"), || {
            String::from_utf8_lossy(&self.stderr.bytes()).contains(words).then_some(())
        });
    }

    /// Whether it has ended.
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
    /// A test that failed leaves no command behind.
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

    /// All of it, once nobody is left who could write.
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

    /// The same, where it is `code`; else fails and shows what was written.
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

/// The result in a file, checked as the command itself checks one.
#[track_caller]
pub fn read(path: &Path) -> RunResult {
    let result = ipcmark_results::read(path).unwrap_or_else(|e| panic!("{e}"));
    let json = serde_json::to_value(&result).expect("a result is plain data");
    assert_valid(&json);
    result
}

/// Fails unless `json` is what the schema that `ipcmark schema` prints says.
#[track_caller]
pub fn assert_valid(json: &Value) {
    let schema: Value = serde_json::from_str(&run("schema").exits(0).stdout).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> = schema.iter_errors(json).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// The one trial of a case that was measured.
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

/// Status and reason of the one case of a transport.
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

/// Whether this process is root.
pub fn is_root() -> bool {
    // SAFETY: asks for a number only.
    unsafe { libc::geteuid() == 0 }
}
