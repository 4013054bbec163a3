//! Restricted machines: few descriptors, no namespaces, small queues, a small `/dev/shm`. A row
//! that does not fit has a remedy; the others are measured.
//!
//! Limits are set for the command only, in its own namespaces where they apply to the whole
//! machine.

use crate::support::{
    Verdict, end, ipcmark_under, is_root,
    namespaces::{lacking, namespaces, unshared},
    outcome, traces, works,
};
use ipcmark_results::{RunResult, Status};

ipcmark_harness::tests![
    a_shortage_of_descriptors_is_reported,
    a_shortage_of_processes_is_reported,
    without_namespaces_everything_is_measured,
    a_small_dev_shm_fails_only_larger_rows,
    small_message_queues_carry_large_messages,
    queues_that_are_not_allowed_have_their_remedy,
    segments_that_are_not_allowed_have_their_remedy,
];

fn a_shortage_of_descriptors_is_reported() -> Verdict {
    if !works("prlimit", &["--nofile=64", "true"]) {
        return Verdict::Skipped("there is no prlimit".into());
    }
    for count in 6..26 {
        let limit = format!("--nofile={count}");
        let words = "run -t pipe,memfd -w block -s 64 -d 1ms --format json";
        let ended = end(&mut ipcmark_under("prlimit", &[&limit], words));
        let said = match ended.code() {
            0 => continue,
            1 if ended.stdout.is_empty() => ended.stderr,
            1 => reasons(&ended.result()),
            code => panic!("{limit}: status {code}: {}", ended.stderr),
        };
        assert!(said.contains("Too many open files"), "{limit}: {said}");
        assert!(said.contains("ulimit -n"), "{limit}: {said}");
    }
    Verdict::Holds
}

fn reasons(result: &RunResult) -> String {
    result.cases.iter().filter_map(|case| case.reason()).collect::<Vec<_>>().join("\n")
}

fn a_shortage_of_processes_is_reported() -> Verdict {
    // The limit does not apply to root, and counts all processes of the user.
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    if !is_root() || !works("setpriv", &[&user[..], &["prlimit", "--nproc=1", "true"]].concat()) {
        return Verdict::Skipped("only root can become a user without processes".into());
    }
    let words = [&user[..], &["prlimit", "--nproc=1"]].concat();
    let mut command = ipcmark_under("setpriv", &words, "run -t pipe -s 64 -d 1ms");
    let Ok(output) = command.current_dir("/").output() else { panic!("setpriv ran before") };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("Permission denied") {
        return Verdict::Skipped("an ordinary user cannot reach the build's directory".into());
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("temporarily unavailable") && said.contains("ulimit -u"), "{said}");
    Verdict::Holds
}

fn without_namespaces_everything_is_measured() -> Verdict {
    let own = ["--user", "--map-root-user"];
    let setup = "for kind in user mnt pid ipc net; do \
                 echo 0 > /proc/sys/user/max_${kind}_namespaces || exit 1; done";
    if let Some(skipped) = lacking(&own, setup) {
        return skipped;
    }
    let words = "run -t os -w block -s 4k -d 5ms --format json";
    let result = unshared(&own, setup, words).exits(0).result();
    let failed = result.cases.iter().find(|case| case.status() == Status::Failed);
    assert!(failed.is_none(), "{failed:?}");
    assert!(result.cases.iter().filter(|case| case.status() == Status::Ok).count() > 10);
    assert_eq!(result.environment.sandbox, "off: refused by the system");
    let notes: Vec<_> = result.notes.iter().filter(|note| note.contains("No sandbox")).collect();
    assert_eq!(notes.len(), 1, "it is said once: {notes:?}");
    assert!(notes[0].contains("cannot make namespaces") && notes[0].contains("user namespaces"));
    assert_eq!(traces::names(&result.run.id), [""; 0]);
    Verdict::Holds
}

fn a_small_dev_shm_fails_only_larger_rows() -> Verdict {
    let own = namespaces("--mount");
    let setup = "mount -t tmpfs -o size=1m tmpfs /dev/shm";
    if let Some(skipped) = lacking(&own, setup) {
        return skipped;
    }
    let words = "run -t shm-slot,shm-futex,memfd,pipe -w block -s 1M -d 5ms --touch all \
                 --sandbox off --format json";
    let result = unshared(&own, setup, words).exits(1).result();
    for name in ["shm-slot", "shm-futex"] {
        let (status, reason) = outcome(&result, name);
        assert_eq!(status, "failed", "{name}");
        assert!(reason.contains("No space left on device"), "{name}: {reason}");
        assert!(reason.contains("enlarge /dev/shm"), "{name}: {reason}");
        assert!(!reason.contains("SIGBUS"), "{name}: {reason}");
    }
    for name in ["memfd", "pipe"] {
        assert_eq!(outcome(&result, name), ("ok", ""));
    }
    Verdict::Holds
}

/// Runs both kinds of message queues with the limits of a private IPC namespace.
fn with_limits(setup: &str, code: i32) -> Result<RunResult, Verdict> {
    let own = namespaces("--ipc");
    match lacking(&own, setup) {
        Some(skipped) => Err(skipped),
        None => {
            let words = "run -t posix-mq,sysv-mq,sysv-shm,pipe -w block -s 64k -d 5ms \
                         --sandbox off --format json";
            Ok(unshared(&own, setup, words).exits(code).result())
        }
    }
}

fn small_message_queues_carry_large_messages() -> Verdict {
    let setup = "cd /proc/sys && echo 512 > kernel/msgmax && echo 1024 > kernel/msgmnb && \
                 echo 128 > fs/mqueue/msgsize_max && echo 2 > fs/mqueue/msg_max && cd /";
    let result = match with_limits(setup, 0) {
        Ok(result) => result,
        Err(skipped) => return skipped,
    };
    for name in ["posix-mq", "sysv-mq"] {
        assert_eq!(outcome(&result, name), ("ok", ""));
    }
    Verdict::Holds
}

fn queues_that_are_not_allowed_have_their_remedy() -> Verdict {
    let setup = "echo 0 > /proc/sys/kernel/msgmni && echo 1 > /proc/sys/fs/mqueue/queues_max";
    let result = match with_limits(setup, 1) {
        Ok(result) => result,
        Err(skipped) => return skipped,
    };
    let (status, reason) = outcome(&result, "sysv-mq");
    assert!(status == "failed" && reason.contains("raise kernel.msgmni"), "{status}: {reason}");
    // On some systems root may exceed the number of POSIX queues.
    let (status, reason) = outcome(&result, "posix-mq");
    assert!(status == "ok" || reason.contains("raise fs.mqueue.queues_max"), "{status}: {reason}");
    assert_eq!(outcome(&result, "pipe"), ("ok", ""));
    Verdict::Holds
}

fn segments_that_are_not_allowed_have_their_remedy() -> Verdict {
    let result = match with_limits("echo 4096 > /proc/sys/kernel/shmmax", 1) {
        Ok(result) => result,
        Err(skipped) => return skipped,
    };
    let (status, reason) = outcome(&result, "sysv-shm");
    assert!(status == "failed" && reason.contains("raise kernel.shmmax"), "{status}: {reason}");
    assert_eq!(outcome(&result, "pipe"), ("ok", ""));
    Verdict::Holds
}
