//! State that the command inherits from its parent: signals, timers, the umask, limits, descriptors, the working
//! directory, the environment. ipcmark sets the state that it relies on, and reports the state that affects the
//! figures.

use std::{
    fs, io,
    os::unix::{
        fs::PermissionsExt,
        process::{CommandExt, ExitStatusExt},
    },
    process::Command,
};

use crate::support::{
    Running, Verdict, end, ipcmark, ipcmark_under,
    processes::{await_named, await_that},
    processors, read, run, traces, works,
};
use ipcmark_results::{RunResult, Status};

ipcmark_harness::tests![
    ignored_signals_hide_no_child,
    blocked_signals_end_a_run,
    an_ignored_hangup_stays_ignored,
    an_alarm_ends_a_run_like_an_interrupt,
    any_umask_makes_usable_files,
    a_small_stack_is_enlarged,
    few_descriptors_are_raised_to_the_hard_limit,
    small_files_cost_the_result_file_alone,
    memory_that_is_a_file_names_its_limit,
    closed_descriptors_lose_no_result,
    workers_leave_the_working_directory,
    a_hostile_environment_changes_nothing,
    inherited_settings_that_affect_figures_are_noted,
    a_worker_ends_first_without_memory,
];

/// Sets some state of a command between fork and exec, with calls that are safe there.
fn with_state(mut command: Command, set: impl Fn() + Send + Sync + 'static) -> Command {
    // SAFETY: the closures of this file only make system calls.
    unsafe {
        command.pre_exec(move || {
            set();
            Ok(())
        });
    }
    command
}

fn ignore(signals: impl Iterator<Item = i32>) {
    for signal in signals {
        // SAFETY: the disposition runs no code; a signal that cannot be ignored is an error.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

fn block_all() {
    // SAFETY: the set is filled before it is used.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}

fn send(running: &Running, signal: i32) {
    // SAFETY: the process is a child that has not been waited for.
    unsafe { libc::kill(running.id(), signal) };
}

/// Starts an endless run, and returns once its workers exist.
fn endless(set: impl Fn() + Send + Sync + 'static) -> Running {
    let command = ipcmark("run -t pipe -w block -s 64 -d 1h --format json");
    let running = Running::start(&mut with_state(command, set));
    await_named(running.id(), "ipcmark-leader");
    running
}

#[track_caller]
fn assert_all_measured(result: &RunResult) {
    let failed = result.cases.iter().find(|case| case.status() == Status::Failed);
    assert!(failed.is_none(), "{failed:?}");
    assert!(result.cases.iter().any(|case| case.status() == Status::Ok));
}

fn ignored_signals_hide_no_child() {
    let all = || ignore(1..=libc::SIGRTMAX());
    let words = "run -t pipe,signal,uds-stream -s 64 -n 20 --format json";
    let ended = end(&mut with_state(ipcmark(words), all)).exits(0);
    assert_all_measured(&ended.result());
    // A library is examined in a child that is waited for.
    let list = "list --format json";
    let ignoring = end(&mut with_state(ipcmark(list), all)).exits(0);
    assert_eq!(ignoring.stdout, run(list).exits(0).stdout);
}

fn blocked_signals_end_a_run() {
    let running = endless(block_all);
    send(&running, libc::SIGINT);
    assert!(!running.end().exits(130).result().complete);
}

fn an_ignored_hangup_stays_ignored() {
    let running = endless(|| ignore([libc::SIGHUP, libc::SIGINT].into_iter()));
    let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
    let holds = |name: &str, signal: i32| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap() & (1 << (signal - 1)) != 0
    };
    for signal in [libc::SIGHUP, libc::SIGINT] {
        assert!(holds("SigIgn:", signal) && !holds("SigCgt:", signal), "{signal}: {status}");
        send(&running, signal);
    }
    send(&running, libc::SIGTERM);
    running.end().exits(143);
}

/// `alarm` before `exec` is a script's way to limit the time of a command without `timeout`.
fn an_alarm_ends_a_run_like_an_interrupt() {
    let running = endless(|| ());
    send(&running, libc::SIGALRM);
    assert!(!running.end().exits(142).result().complete);
}

fn any_umask_makes_usable_files() {
    for (mask, mode) in [(0, 0o664), (0o777, 0o600), (0o277, 0o600), (0o022, 0o644), (0o077, 0o600)]
    {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("result.json");
        let mut command = ipcmark("run -t fifo,uds-dgram,mmap-file,shm-ring -s 64 -n 20");
        command.args(["--sandbox", "off", "-o"]).arg(&file);
        // SAFETY: sets a number of the process.
        let set = move || unsafe {
            libc::umask(mask);
        };
        end(&mut with_state(command, set)).exits(0);
        let made = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(made, mode, "umask {mask:o} makes {made:o}, not {mode:o}");
        let result = read(&file);
        assert_all_measured(&result);
        assert_eq!(traces::names(&result.run.id), [""; 0]);
    }
}

/// `ipcmark` under `prlimit`, or the reason why it cannot be started so.
fn limited(limits: &[&str], words: &str) -> Result<Command, Verdict> {
    match works("prlimit", &[limits, &["true"]].concat()) {
        true => Ok(ipcmark_under("prlimit", limits, words)),
        false => Err(Verdict::Skipped(format!("prlimit cannot set {limits:?} here"))),
    }
}

fn a_small_stack_is_enlarged() -> Verdict {
    for limit in ["--stack=65536:65536", "--stack=65536:8388608"] {
        let words = "run -t pipe,shm-ring,signal -s 64,64k -n 50 --format json";
        let mut command = match limited(&[limit], words) {
            Ok(command) => command,
            Err(skipped) => return skipped,
        };
        let result = end(&mut command).exits(0).result();
        assert_all_measured(&result);
        let is_noted = result.notes.iter().any(|note| note.contains("ulimit -s"));
        assert_eq!(is_noted, limit.ends_with(":65536"), "{limit}: {:?}", result.notes);
    }
    Verdict::Holds
}

fn few_descriptors_are_raised_to_the_hard_limit() -> Verdict {
    match limited(&["--nofile=10:1024"], "run -t pipe,memfd -s 64 -n 50 --format json") {
        Ok(mut command) => assert_all_measured(&end(&mut command).exits(0).result()),
        Err(skipped) => return skipped,
    }
    Verdict::Holds
}

fn small_files_cost_the_result_file_alone() -> Verdict {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result.json");
    let mut command =
        match limited(&["--fsize=65536"], "run -t pipe,tcp,fifo -s 64,4k -n 50 --trials 5 -o") {
            Ok(command) => command,
            Err(skipped) => return skipped,
        };
    let ended = end(command.arg(&file)).exits(1);
    assert!(ended.stdout.contains("latency · 64 B · block"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("failed"), "{}", ended.stdout);
    let said = ended.stderr;
    assert!(said.contains(&format!("cannot write the result file {}", file.display())), "{said}");
    assert!(said.contains("File too large") && said.contains("ulimit -f unlimited"), "{said}");
    // The safe result stays: the last one that fitted, and no partial file next to it.
    assert!(!read(&file).complete);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    Verdict::Holds
}

fn memory_that_is_a_file_names_its_limit() -> Verdict {
    let mut command =
        match limited(&["--fsize=65536"], "run -t shm-slot -s 64k -n 50 --format json") {
            Ok(command) => command,
            Err(skipped) => return skipped,
        };
    let result = end(&mut command).exits(1).result();
    for case in &result.cases {
        let reason = case.reason().unwrap_or_default();
        assert!(reason.contains("File too large"), "{reason}");
        assert!(reason.contains("ulimit -f") && !reason.contains("enlarge /dev/shm"), "{reason}");
    }
    Verdict::Holds
}

fn closed_descriptors_lose_no_result() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result.json");
    let mut command = ipcmark("run -t pipe,signal,memfd -s 64 -n 50 -o");
    command.arg(&file);
    // `Running` keeps pipes at these descriptors; the command gets none.
    let mut command = with_state(command, || {
        for descriptor in 0..3 {
            // SAFETY: they are this process's own, and nothing in it uses them before exec.
            unsafe { libc::close(descriptor) };
        }
    });
    let ended = end(&mut command);
    assert_eq!((ended.status.code(), ended.status.signal()), (Some(0), None));
    let result = read(&file);
    assert!(result.complete);
    assert_all_measured(&result);
}

/// Libraries read the name of the working directory, and create files in it.
fn workers_leave_the_working_directory() {
    let directory = tempfile::tempdir().unwrap().keep();
    let mut command = ipcmark("run -t pipe -w block -s 64 -d 1h --format json");
    command.current_dir(&directory);
    // Removed between the change of directory and exec.
    let path = std::ffi::CString::new(directory.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the path is NUL-terminated.
    let remove = move || assert_eq!(unsafe { libc::rmdir(path.as_ptr()) }, 0);
    let running = Running::start(&mut with_state(command, remove));
    await_that("a worker is in the session's directory", || {
        let worker = await_named(running.id(), "ipcmark-leader").remove(0);
        let link = fs::read_link(format!("/proc/{}/cwd", worker.id)).ok()?;
        let name = link.to_string_lossy();
        (name.starts_with("/tmp") && !name.ends_with(" (deleted)")).then_some(())
    });
    send(&running, libc::SIGTERM);
    running.end().exits(143);
    assert!(!directory.exists());
}

fn a_hostile_environment_changes_nothing() {
    let listed: serde_json::Value =
        serde_json::from_str(&run("list fastdds-intra --format json").exits(0).stdout).unwrap();
    let threads = if listed[0]["available"] == true { ",fastdds-intra" } else { "" };
    let words = format!("run -t pipe,signal,tcp,shm-slot{threads} -s 64 -n 50 --format json");
    let mut command = ipcmark(&words);
    let modules = std::env::var_os("IPCMARK_MODULE_PATH");
    command.env_clear().envs(modules.map(|path| ("IPCMARK_MODULE_PATH", path)));
    command.envs([
        ("TMPDIR", "/nonexistent"),
        ("HOME", "/nonexistent"),
        ("XDG_RUNTIME_DIR", "relative"),
        ("LANG", "xx"),
        ("LC_ALL", "yy"),
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "full"),
        ("RUST_MIN_STACK", "1"),
        ("COLUMNS", "-5"),
        ("TERM", ""),
        ("PATH", ""),
    ]);
    let ended = end(&mut command).exits(0);
    assert_all_measured(&ended.result());
    assert_eq!(ended.stderr, "");
    let bare = end(ipcmark("run -t pipe -s 64 -n 50").env_clear()).exits(0);
    assert!(bare.stdout.contains("pipe"), "{}", bare.stdout);
}

/// A program that sets some state, its words, and the note about it.
const NOTED: [(&str, &[&str], &str); 5] = [
    ("nice", &["-n", "19"], "ipcmark runs at nice 19"),
    ("chrt", &["--idle", "0"], "scheduling policy SCHED_IDLE"),
    ("prlimit", &["--as=4294967296"], "4096 MiB of memory only (ulimit -v)"),
    ("env", &["MALLOC_ARENA_MAX=1"], "in the measured processes too: MALLOC_ARENA_MAX."),
    ("taskset", &["--cpu-list", "CPU"], "share 1 processor"),
];

fn inherited_settings_that_affect_figures_are_noted() -> Verdict {
    let cpu = processors()[0].to_string();
    let mut missing = Vec::new();
    for (program, its_words, note) in NOTED {
        let its_words: Vec<&str> =
            its_words.iter().map(|word| if *word == "CPU" { cpu.as_str() } else { word }).collect();
        if !works(program, &[&its_words[..], &["true"]].concat()) {
            missing.push(program);
            continue;
        }
        let words = "run -t pipe -w block -s 64 -n 50 --format json";
        let result = end(&mut ipcmark_under(program, &its_words, words)).exits(0).result();
        assert!(result.notes.iter().any(|said| said.contains(note)), "{note}: {:?}", result.notes);
    }
    match missing.is_empty() {
        true => Verdict::Holds,
        false => Verdict::Skipped(format!("not here, so not tried: {}", missing.join(", "))),
    }
}

fn a_worker_ends_first_without_memory() -> Verdict {
    let running = endless(|| ());
    let score = |id: i32| -> io::Result<i32> {
        let text = fs::read_to_string(format!("/proc/{id}/oom_score_adj"))?;
        Ok(text.trim().parse().expect("a number"))
    };
    let worker = await_named(running.id(), "ipcmark-leader").remove(0);
    let (command, worker) = (score(running.id()).unwrap(), score(worker.id).unwrap());
    send(&running, libc::SIGTERM);
    running.end().exits(143);
    assert!(worker >= 500 && worker >= command, "{worker} {command}");
    Verdict::Holds
}
