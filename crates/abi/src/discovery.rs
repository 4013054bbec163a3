//! Finds modules and asks each, in a process of its own, what it offers.

use std::{
    fs,
    io::{self, ErrorKind, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::{MODULE_COMMAND, examine::Answer, found::Asked};

/// How long a module may take to load and to say what it offers.
const DEADLINE: Duration = Duration::from_secs(5);

/// How often to look whether a process has ended, which no descriptor tells.
const LOOK_EVERY: u16 = 5;

/// More than any honest answer has, and than anyone reads of a library's complaints.
const MOST_BYTES: usize = 1 << 20;

/// The environment variable with directories of modules.
const PATH_VARIABLE: &str = "IPCMARK_MODULE_PATH";

/// The files that may be modules: those named first, then those in the directories of
/// `$IPCMARK_MODULE_PATH`, then those beside the command.
pub(crate) fn files(named: &[PathBuf]) -> Vec<PathBuf> {
    let variable = std::env::var_os(PATH_VARIABLE).unwrap_or_default();
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join("modules")));
    let directories = std::env::split_paths(&variable).chain(beside);
    let mut files: Vec<PathBuf> =
        named.iter().map(|file| fs::canonicalize(file).unwrap_or_else(|_| file.clone())).collect();
    for directory in directories.filter(|directory| !directory.as_os_str().is_empty()) {
        for file in objects(&directory) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    files
}

/// The shared objects in a directory, by name.
fn objects(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let objects = paths.filter(|path| path.extension().is_some_and(|end| end == "so"));
    let mut objects: Vec<PathBuf> =
        objects.filter_map(|path| fs::canonicalize(path).ok()).collect();
    objects.sort();
    objects
}

/// Asks every file what it offers, all at once.
pub(crate) fn ask(files: Vec<PathBuf>) -> Vec<Asked> {
    let asked = files.into_iter().map(|file| {
        let process = Process::start(&file);
        (file, process)
    });
    let mut asked: Vec<(PathBuf, io::Result<Process>)> = asked.collect();
    let deadline = Instant::now() + DEADLINE;
    loop {
        let mut running: Vec<&mut Process> = asked
            .iter_mut()
            .filter_map(|(_, process)| process.as_mut().ok())
            .filter(|process| process.status.is_none())
            .collect();
        if running.is_empty() || Instant::now() >= deadline {
            break;
        }
        wait_a_little(&running);
        running.iter_mut().for_each(|process| process.look());
    }
    asked.into_iter().map(|(path, process)| Asked { path, answer: conclude(process) }).collect()
}

fn conclude(process: io::Result<Process>) -> Answer {
    match process {
        Ok(process) => process.answer(),
        Err(error) => Err(format!("cannot start a process to look at it: {error}")),
    }
}

/// Sleeps until one of them says something, or for a moment.
fn wait_a_little(running: &[&mut Process]) {
    let mut wanted: Vec<PollFd<'_>> = running
        .iter()
        .flat_map(|process| process.open())
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    // An error of poll is no more than a shorter sleep.
    let _ = poll(&mut wanted, PollTimeout::from(LOOK_EVERY));
}

/// A process that looks at a module.
struct Process {
    child: Child,
    answer: Tap<ChildStdout>,
    words: Tap<ChildStderr>,
    status: Option<ExitStatus>,
}

impl Process {
    fn start(file: &Path) -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("ipcmark").arg(MODULE_COMMAND).arg("examine").arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that whatever the library starts ends with it.
        let mut child = command.process_group(0).spawn()?;
        let (Some(answer), Some(words)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        Ok(Self { child, answer: Tap::new(answer)?, words: Tap::new(words)?, status: None })
    }

    fn open(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let answer = (!self.answer.ended).then(|| self.answer.pipe.as_fd());
        answer.into_iter().chain((!self.words.ended).then(|| self.words.pipe.as_fd()))
    }

    /// Reads what it said and sees whether it has ended.
    fn look(&mut self) {
        let status = self.child.try_wait().ok().flatten();
        // After the look, so that nothing said before the end is missed.
        self.answer.fill();
        self.words.fill();
        self.status = status;
    }

    fn answer(mut self) -> Answer {
        let group = Pid::from_raw(self.child.id().cast_signed());
        // What the library started lives in the group, even where the process itself has ended.
        let _ = killpg(group, Signal::SIGKILL);
        let Some(status) = self.status else {
            let _ = self.child.wait();
            let seconds = DEADLINE.as_secs();
            return Err(self.with_words(format!("it did not answer within {seconds} s")));
        };
        match (status.signal().and_then(|signal| Signal::try_from(signal).ok()), status.code()) {
            (Some(signal), _) => {
                Err(self.with_words(format!("it was killed by {signal} while it was loaded")))
            }
            (None, Some(0)) => serde_json::from_slice(&self.answer.bytes)
                .unwrap_or_else(|e| Err(self.with_words(format!("its answer is no answer: {e}")))),
            (None, _) => Err(self.with_words(format!("it ended while it was loaded ({status})"))),
        }
    }

    /// The reason, with the last line that the library wrote.
    fn with_words(&self, reason: String) -> String {
        let text = String::from_utf8_lossy(&self.words.bytes);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let last: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
        if last.is_empty() { reason } else { format!("{reason}; its last words: {last}") }
    }
}

/// A pipe read without waiting.
struct Tap<P> {
    pipe: P,
    bytes: Vec<u8>,
    ended: bool,
}

impl<P: AsFd + Read> Tap<P> {
    fn new(pipe: P) -> io::Result<Self> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self { pipe, bytes: Vec::new(), ended: false })
    }

    /// Reads what is there; of a library that never stops, only so much.
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
