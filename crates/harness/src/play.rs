//! The process of a test: this executable again; a variable names the test to run.

use std::{
    env,
    fs::File,
    io::{self, Read, Seek, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use libtest_mimic::{Completion, Failed};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::{
    Test, Verdict,
    namespaces::{die_with_parent, enter},
    visible,
};

/// The variable that names the test; empty for the probe.
const NAME: &str = "IPCMARK_TEST_NAME";

/// A variable that is set where namespaces are refused.
const SHARED: &str = "IPCMARK_TEST_SHARED";

/// A variable that names the file to which each test adds its seconds, its seconds of processor time and its name.
const TIMES: &str = "IPCMARK_TEST_TIMES";

/// A variable that makes a test fail at its first failure, without a second attempt.
const STRICT: &str = "IPCMARK_TEST_STRICT";

/// The exit status of a skipped test; the last line of its output is the reason.
const SKIPPED: u8 = 77;

/// The watchdog's time in seconds: a test that takes longer hangs.
const WATCHDOG: u32 = 1200;

/// The name of the test to run, if this process is that of a test.
pub fn part() -> Option<String> {
    let name = env::var(NAME).ok()?;
    // SAFETY: this process has one thread, so nothing reads the environment meanwhile, and it runs no
    // handlers.
    unsafe {
        env::remove_var(NAME);
        // Temporary files must be in a directory that the namespaces provide.
        env::remove_var("TMPDIR");
        // A shell starts background jobs with these ignored, and the processes of a test would inherit that.
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::alarm(WATCHDOG);
    }
    Some(name)
}

/// Runs the test `name` in namespaces of its own, unless they are refused.
pub fn body(tests: Vec<Test>, name: &str) -> ExitCode {
    if env::var_os(SHARED).is_none()
        && let Err(refusal) = enter(&visible::paths())
    {
        eprintln!("{refusal}");
        return ExitCode::FAILURE;
    }
    if name.is_empty() {
        return ExitCode::SUCCESS;
    }
    let test = tests.into_iter().find(|test| test.name == name);
    let Some(test) = test else { panic!("there is no test {name}") };
    match catch_unwind(AssertUnwindSafe(test.body)) {
        Ok(Verdict::Holds) => ExitCode::SUCCESS,
        Ok(Verdict::Skipped(why)) => {
            eprintln!("\n{}", why.replace('\n', " "));
            SKIPPED.into()
        }
        Ok(Verdict::Fails(why)) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
        // The hook has already reported the panic.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Ok if the system allows the namespaces; the error is the reason why not.
pub fn probe() -> Result<(), String> {
    let (status, output, _) = run("", true).map_err(|e| format!("cannot start a process: {e}"))?;
    if status.success() {
        return Ok(());
    }
    // SAFETY: the harness has not started a thread yet.
    unsafe { env::set_var(SHARED, "1") };
    Err(output.trim().to_owned())
}

/// Runs a test in a process of its own. Unless `STRICT` is set, a test that fails is run a second time, which
/// is reported with the whole output of the first. A test that hangs is not run again.
pub fn start(name: &str, captures: bool) -> Result<Completion, Failed> {
    match attempt(name, captures) {
        Err(TestFailure::Fails(output)) if env::var_os(STRICT).is_none() => {
            eprintln!(
                "---- {name} failed, and is run again ----\n{output}\n---- end of {name} ----"
            );
            let again = attempt(name, captures)?;
            eprintln!("note: {name} failed at first and held when it was run again");
            Ok(again)
        }
        ended => Ok(ended?),
    }
}

/// The way in which a test failed.
enum TestFailure {
    Fails(String),
    Hangs(String),
    CannotStart(io::Error),
}

impl From<io::Error> for TestFailure {
    fn from(error: io::Error) -> Self {
        TestFailure::CannotStart(error)
    }
}

impl From<TestFailure> for Failed {
    fn from(fault: TestFailure) -> Self {
        match fault {
            TestFailure::Fails(output) | TestFailure::Hangs(output) => output.into(),
            TestFailure::CannotStart(error) => error.into(),
        }
    }
}

fn attempt(name: &str, captures: bool) -> Result<Completion, TestFailure> {
    let begun = Instant::now();
    let (status, output, work) = run(name, captures)?;
    note_time(name, begun.elapsed(), work)?;
    match status.code() {
        Some(0) => Ok(Completion::Completed),
        Some(code) if code == i32::from(SKIPPED) => {
            let why = output.lines().next_back().unwrap_or("see its output");
            Ok(Completion::ignored_with(why))
        }
        _ if status.signal() == Some(libc::SIGALRM) => {
            Err(TestFailure::Hangs(format!("{output}\nno end within {WATCHDOG} s")))
        }
        _ => Err(TestFailure::Fails(format!("{output}\nthe test ended with {status}"))),
    }
}

/// Adds a line with the test's times to the file for that, if one is set.
fn note_time(name: &str, time: Duration, work: Duration) -> io::Result<()> {
    let Some(file) = env::var_os(TIMES) else { return Ok(()) };
    let mut file = File::options().create(true).append(true).open(file)?;
    let line = format!("{:.2} {:.2} {name}\n", time.as_secs_f64(), work.as_secs_f64());
    file.write_all(line.as_bytes())
}

/// The exit status, the output and the processor time of the test, including the processes that it waited
/// for.
fn run(name: &str, captures: bool) -> io::Result<(ExitStatus, String, Duration)> {
    let mut output = File::from(memfd_create("output", MFdFlags::MFD_CLOEXEC)?);
    let mut command = Command::new(env::current_exe()?);
    command.env(NAME, name).stdin(Stdio::null());
    if captures {
        command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    }
    // SAFETY: only a plain system call is made between fork and exec.
    unsafe { command.pre_exec(die_with_parent) };
    let (status, work) = wait(&command.spawn()?)?;
    let mut bytes = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut bytes)?;
    Ok((status, String::from_utf8_lossy(&bytes).into_owned(), work))
}

/// Waits for a child that nothing else waits for.
fn wait(child: &Child) -> io::Result<(ExitStatus, Duration)> {
    let mut status = 0;
    // SAFETY: all zeros are a valid `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both locations are ours, and the child has not been waited for.
        if unsafe { libc::wait4(child.id().cast_signed(), &mut status, 0, &mut usage) } != -1 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    Ok((ExitStatus::from_raw(status), time(usage.ru_utime) + time(usage.ru_stime)))
}
