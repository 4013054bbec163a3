//! Processes that work on a module, from the command's side: started concurrently, read with a deadline, and ended.
//! Each supervises the process that loads the module, and ends every process that the library starts.

use std::{
    ffi::OsString,
    io::{self, ErrorKind, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use ipcmark_machine::mark::{self, Mark};
use ipcmark_transport::{Error, plain, remedy_in};
use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::Signal,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::MODULE_COMMAND;

/// The time limit for loading a module and answering: all are examined concurrently, on a machine that may be busy.
const DEADLINE: Duration = Duration::from_secs(15);

/// The time limit for a process to end what the library started.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// The interval, in milliseconds, for checking if a process has ended, which no descriptor reports.
const LOOK_EVERY: u16 = 5;

/// More bytes than any honest answer has, and more of a library's error output than anyone reads.
const MOST_BYTES: usize = 1 << 20;

/// The answer of each process, or the reason why there is none.
pub(crate) fn answers<T: DeserializeOwned>(
    mut processes: Vec<io::Result<ModuleProcess>>,
) -> Vec<Result<T, String>> {
    let deadline = Instant::now() + DEADLINE;
    while Instant::now() < deadline {
        let started = processes.iter_mut().filter_map(|process| process.as_mut().ok());
        let mut running: Vec<&mut ModuleProcess> =
            started.filter(|process| process.status.is_none()).collect();
        if running.is_empty() {
            break;
        }
        wait_a_little(&running);
        running.iter_mut().for_each(|process| process.look());
    }
    let started = processes.iter_mut().filter_map(|process| process.as_mut().ok());
    started.for_each(ModuleProcess::close);
    let concluded = processes.into_iter().map(|process| match process {
        Ok(process) => process.answer(),
        Err(error) => Err(Error::scarce("start", "a process for it", error).to_string()),
    });
    concluded.collect()
}

/// The answer of one process.
pub(crate) fn answer<T: DeserializeOwned>(words: &[OsString]) -> Result<T, String> {
    let mut answers = answers(vec![ModuleProcess::start(words)]);
    answers.pop().unwrap_or_else(|| Err("there was no process".into()))
}

/// Sleeps until one of them writes something, or for a short time.
fn wait_a_little(running: &[&mut ModuleProcess]) {
    let mut wanted: Vec<PollFd<'_>> = running
        .iter()
        .flat_map(|process| process.open())
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    // An error of poll only shortens the sleep.
    let _ = poll(&mut wanted, PollTimeout::from(LOOK_EVERY));
}

/// A process that works on a module.
pub(crate) struct ModuleProcess {
    child: Child,
    /// The process may run while this is open.
    stdin: Option<ChildStdin>,
    answer: NonBlockingPipe<ChildStdout>,
    words: NonBlockingPipe<ChildStderr>,
    status: Option<ExitStatus>,
}

impl ModuleProcess {
    /// Starts this executable again with [`MODULE_COMMAND`] followed by the words.
    pub(crate) fn start(words: &[OsString]) -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("ipcmark").arg(MODULE_COMMAND).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env(mark::VARIABLE, Mark::new().text());
        // Its own process group: the terminal's signals are for the command.
        let mut child = command.process_group(0).spawn()?;
        let (Some(answer), Some(words)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        let (answer, words) = (NonBlockingPipe::new(answer)?, NonBlockingPipe::new(words)?);
        Ok(Self { stdin: child.stdin.take(), child, answer, words, status: None })
    }

    fn open(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let answer = (!self.answer.ended).then(|| self.answer.pipe.as_fd());
        answer.into_iter().chain((!self.words.ended).then(|| self.words.pipe.as_fd()))
    }

    /// Reads its output and checks if it has ended.
    fn look(&mut self) {
        let status = self.child.try_wait().ok().flatten();
        // Read after the status check, so that nothing written before the end is missed.
        self.answer.fill();
        self.words.fill();
        self.status = status;
    }

    /// Tells the process to end.
    fn close(&mut self) {
        self.stdin = None;
    }

    fn answer<T: DeserializeOwned>(mut self) -> Result<T, String> {
        let Some(status) = self.status else {
            self.end();
            let seconds = DEADLINE.as_secs();
            return Err(self.with_words(format!("it did not answer within {seconds} s")));
        };
        match (status.signal().and_then(|signal| Signal::try_from(signal).ok()), status.code()) {
            (Some(signal), _) => {
                Err(self.with_words(format!("it was killed by {signal} when it was tried")))
            }
            (None, Some(0)) => {
                self.read().map_err(|e| self.with_words(format!("its answer is no answer: {e}")))
            }
            (None, _) => Err(self.with_words(format!("it ended when it was tried ({status})"))),
        }
    }

    /// Waits until the process has ended what the library started, and has ended itself. Kills it after the time limit.
    fn end(&mut self) {
        let deadline = Instant::now() + ENDS_WITHIN;
        while self.child.try_wait().is_ok_and(|status| status.is_none()) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The answer. The library could write to the same pipe, so its texts are made safe for a terminal.
    fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        let mut answer: Value = serde_json::from_slice(&self.answer.bytes)?;
        make_plain(&mut answer);
        serde_json::from_value(answer)
    }

    /// The reason, with the last line that the library wrote and, if that names a shortage, its remedy.
    fn with_words(&self, reason: String) -> String {
        let text = String::from_utf8_lossy(&self.words.bytes);
        let last = text.lines().rev().map(plain).find(|line| !line.is_empty()).unwrap_or_default();
        let shown: String = last.chars().take(200).collect();
        match (shown.as_str(), remedy_in(&last)) {
            ("", _) => reason,
            (shown, None) => format!("{reason}; its standard error ends with: {shown}"),
            (shown, Some(remedy)) => {
                format!("{reason}; its standard error ends with: {shown}; {remedy}")
            }
        }
    }
}

/// Makes every text in it safe for a terminal.
fn make_plain(value: &mut Value) {
    match value {
        Value::String(text) => *text = plain(text),
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Object(fields) => fields.values_mut().for_each(make_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A pipe read without waiting.
struct NonBlockingPipe<P> {
    pipe: P,
    bytes: Vec<u8>,
    ended: bool,
}

impl<P: AsFd + Read> NonBlockingPipe<P> {
    fn new(pipe: P) -> io::Result<Self> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self { pipe, bytes: Vec::new(), ended: false })
    }

    /// Reads what is available, bounded against a library that never stops writing.
    fn fill(&mut self) {
        let mut bytes = [0; 65536];
        for _ in 0..16 {
            match self.pipe.read(&mut bytes) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    self.bytes.extend(&bytes[..n]);
                    let surplus = self.bytes.len().saturating_sub(MOST_BYTES);
                    self.bytes.drain(..surplus);
                    continue;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => {}
            }
            return;
        }
    }
}
