//! Single cases through the command itself, as a user starts it.

use std::{
    fs, mem,
    path::PathBuf,
    process::{Command, Stdio},
    time::Instant,
};

use ipcmark_results::RunResult;
use ipcmark_transport::Wait;

/// The path of the command.
const IPCMARK: &str = env!("CARGO_BIN_EXE_ipcmark");

/// The time and memory of a command that only prints.
pub(crate) struct CommandCost {
    pub ms: f64,
    pub peak_mib: f64,
}

/// Runs the command with these arguments and discards its output.
pub(crate) fn answer(words: &[&str]) -> CommandCost {
    let begun = Instant::now();
    let (out, err) = (Stdio::null(), Stdio::null());
    let command = Command::new(IPCMARK).args(words).stdout(out).stderr(err).spawn();
    let pid = command.expect("the command starts").id() as libc::pid_t;
    // SAFETY: zeros are a valid `rusage`; the child is this process's own, and nothing else waits
    // for it.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        assert_eq!(libc::wait4(pid, &mut 0, 0, &mut usage), pid, "the command ends");
        usage
    };
    CommandCost {
        ms: begun.elapsed().as_secs_f64() * 1e3,
        peak_mib: usage.ru_maxrss as f64 / 1024.0,
    }
}

/// The size of the command, in MiB.
pub(crate) fn size_mib() -> f64 {
    fs::metadata(IPCMARK).expect("the command is there").len() as f64 / f64::from(1 << 20)
}

/// The median round trip that `ipcmark run` measures.
pub(crate) fn run_p50_ns(name: &str, wait: Wait) -> f64 {
    p50_ns(Command::new(IPCMARK).arg("run"), name, wait)
}

/// The median round trip that `ipcmark leader` measures with `ipcmark follower`.
pub(crate) fn by_hand_p50_ns(name: &str, wait: Wait) -> f64 {
    let socket = PathBuf::from(format!("/tmp/ipcmark-bench-{}.sock", std::process::id()));
    let mut follower = Command::new(IPCMARK)
        .args(["follower", "--socket"])
        .arg(&socket)
        .stderr(Stdio::null())
        .spawn()
        .expect("the follower starts");
    let p50 = p50_ns(Command::new(IPCMARK).args(["leader", "--socket"]).arg(&socket), name, wait);
    follower.wait().expect("the follower ends");
    p50
}

fn p50_ns(command: &mut Command, name: &str, wait: Wait) -> f64 {
    command.args(["-t", name, "-w", wait.as_str(), "-s", "64"]);
    command.args(["-d", "200ms", "--trials", "1", "--format", "json"]);
    let output = command.stderr(Stdio::null()).output().expect("the command runs");
    let result: RunResult = serde_json::from_slice(&output.stdout).expect("a result");
    let case = &result.cases[0];
    match case.trials() {
        [trial] => trial.times_ns.p50 as f64,
        _ => panic!("{name} {wait}: {:?}", case.reason()),
    }
}
