//! A process of a check: a new process of the test's own executable that runs one part.

use std::{fs::File, io, os::fd::AsFd, process::ExitCode, time::Duration};

use ipcmark_fdpass::{FrameSocket, SocketRendezvous};
use nix::{
    sys::{prctl::set_pdeathsig, signal::Signal},
    unistd::dup2_stdin,
};

use crate::{
    checks,
    context::CheckContext,
    failure::Failure,
    part::CheckPart,
    progress::{Phase, Progress},
    suite::Suite,
};

/// Far longer than the watchdog's limit: the watchdog ends processes that hang.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs the part described by `words`, and reports a failure on standard error.
pub fn run(suites: &[Suite], words: &[String]) -> ExitCode {
    match try_play(suites, words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn try_play(suites: &[Suite], words: &[String]) -> Result<(), Failure> {
    // The kernel kills this process when the test ends for any reason.
    set_pdeathsig(Signal::SIGKILL).map_err(|errno| Failure::new(errno.desc()))?;
    let part = CheckPart::read(words)?;
    let suite = suites
        .iter()
        .find(|suite| suite.definition().name == part.transport)
        .ok_or_else(|| Failure::new(format!("no transport {}", part.transport)))?;
    let progress = Progress::create(&part.progress())?;
    progress.phase(Phase::Starting);
    let check = checks::named(&part.check)
        .ok_or_else(|| Failure::new(format!("no check {}", part.check)))?;
    (check.run_process)(&mut CheckContext::new(suite, &part, rendezvous()?, progress))
}

/// The socket to the other process is standard input; it is moved to another descriptor, so that no
/// process started from here keeps it open.
fn rendezvous() -> Result<SocketRendezvous, Failure> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?).map_err(|errno| Failure::new(errno.desc()))?;
    let rendezvous = SocketRendezvous::new(vec![FrameSocket::from(socket)]);
    rendezvous.set_timeout(TIMEOUT)?;
    Ok(rendezvous)
}
