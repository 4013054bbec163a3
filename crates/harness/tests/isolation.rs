//! The harness's guarantees, tested from outside: this runs its executable again with tests that
//! make names, leave processes behind, fail and are skipped.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Output},
};

use ipcmark_harness::{Test, Verdict, is_isolated};

/// Makes a test fail at its first failure, without a second attempt.
const STRICT: &str = "IPCMARK_TEST_STRICT";

/// Set in the environment of the executable under test.
const INNER: &str = "IPCMARK_TEST_INNER";

fn main() -> ExitCode {
    match env::var_os(INNER) {
        Some(name) if name == "second" => {
            ipcmark_harness::main(vec![Test::new("fails_once", fails_once)])
        }
        Some(_) => ipcmark_harness::main(inner()),
        None => ipcmark_harness::main(outer()),
    }
}

fn inner() -> Vec<Test> {
    vec![
        Test::new("makes_names", makes_names),
        Test::new("makes_names_too", makes_names),
        Test::new("is_alone", is_alone),
        Test::new("leaves_a_process", leaves_a_process),
        Test::new("panics", panics),
        Test::new("is_killed", is_killed),
        Test::new("fails", || Verdict::Fails("the words of a failure".into())),
        Test::new("is_skipped", || Verdict::Skipped("the words of a skip".into())),
    ]
}

/// Makes the same names in every test: they would clash if tests saw each other.
fn makes_names() {
    for place in ["/tmp", "/var/tmp", "/dev/shm"] {
        fs::create_dir(Path::new(place).join("ipcmark-harness")).unwrap();
    }
    std::os::unix::net::UnixListener::bind("/tmp/ipcmark-harness/socket").unwrap();
    std::net::TcpListener::bind("127.0.0.1:7101").unwrap();
}

fn is_alone() {
    let ids = fs::read_dir("/proc").unwrap().flatten();
    let ids = ids.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    assert_eq!(ids.count(), 2, "this process and the one that reaps orphans");
    for place in ["/tmp", "/var/tmp", "/dev/shm"] {
        let kept = |path: &Path| env::current_exe().unwrap().starts_with(path);
        let mut names = fs::read_dir(place).unwrap().flatten().map(|entry| entry.path());
        assert!(names.all(|path| kept(&path)), "{place} is empty but for the build");
    }
}

/// Leaves a process that survives its parent and a signal to the group.
fn leaves_a_process() {
    let line = format!("(exec -a {} sleep 1000) &", marker());
    Command::new("setsid").args(["bash", "-c", &line]).status().unwrap();
    panic!("it is left behind");
}

fn marker() -> String {
    format!("ipcmark-harness-{}", env::var(INNER).unwrap())
}

fn is_killed() {
    nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL).unwrap();
}

/// The first run leaves a file that the second finds.
fn fails_once() {
    let mark = mark();
    let is_second = mark.exists();
    fs::write(mark, "").unwrap();
    assert!(is_second, "the words of the first run");
}

fn mark() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("ipcmark-harness-second")
}

fn outer() -> Vec<Test> {
    vec![
        Test::new("tests_do_not_see_each_other", tests_do_not_see_each_other),
        Test::new("nothing_survives_a_test", nothing_survives_a_test),
        Test::new("the_outcome_is_told", the_outcome_is_told),
        Test::new("a_test_that_fails_is_run_once_more", a_second_run),
        Test::new("where_namespaces_are_refused_it_says_so", refused_namespaces),
    ]
}

/// Runs the inner tests of this name, or all if it is empty. A failed test is not run again.
fn run(name: &str) -> Output {
    command(name).env(STRICT, "1").output().unwrap()
}

fn command(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.env(INNER, std::process::id().to_string()).args(["--test-threads", "2"]);
    if !name.is_empty() {
        command.args(["--exact", name]);
    }
    command.env_remove(STRICT);
    command
}

fn a_second_run() {
    for strict in [false, true] {
        let mut command = command("fails_once");
        command.env(INNER, "second");
        if strict {
            command.env(STRICT, "1");
        }
        let output = command.output().unwrap();
        let _ = fs::remove_file(mark());
        let all = told(&output);
        assert_eq!(output.status.success(), !strict, "{all}");
        assert!(all.contains("the words of the first run"), "{all}");
        let said = all.contains("fails_once failed at first and held when it was run again");
        assert_eq!(said, !strict, "{all}");
    }
}

fn told(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

fn not_isolated() -> Option<Verdict> {
    let why = "this system allows no namespaces";
    (!is_isolated()).then(|| Verdict::Skipped(why.into()))
}

fn tests_do_not_see_each_other() -> Verdict {
    if let Some(skipped) = not_isolated() {
        return skipped;
    }
    for name in ["makes_names", "makes_names_too", "is_alone"] {
        let output = run(name);
        assert!(output.status.success(), "{}", told(&output));
    }
    assert!(!Path::new("/tmp/ipcmark-harness").exists());
    Verdict::Holds
}

fn nothing_survives_a_test() -> Verdict {
    if let Some(skipped) = not_isolated() {
        return skipped;
    }
    let output = run("leaves_a_process");
    assert!(told(&output).contains("it is left behind"), "{}", told(&output));
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    let mark = format!("ipcmark-harness-{}", std::process::id());
    for line in lines.filter_map(|path| fs::read_to_string(path).ok()) {
        assert!(!line.starts_with(&mark), "{line} lives");
    }
    Verdict::Holds
}

fn the_outcome_is_told() {
    for (name, code, words) in [
        ("panics", 101, "the words of a panic"),
        ("is_killed", 101, "killed by signal 9"),
        ("fails", 101, "the words of a failure"),
        ("is_skipped", 0, "the words of a skip"),
    ] {
        let output = run(name);
        assert_eq!(output.status.code(), Some(code), "{name}: {}", told(&output));
        assert!(told(&output).contains(words), "{name}: {}", told(&output));
    }
    let all = told(&run(""));
    assert!(all.contains("4 failed"), "all run, whatever fails: {all}");
}

/// As in many containers: the limit on namespaces is 0 for everything started below.
fn refused_namespaces() -> Verdict {
    let setup = "for kind in user mnt pid ipc net; do \
                 echo 0 > /proc/sys/user/max_${kind}_namespaces || exit 1; done";
    let line = format!("{setup}; exec \"$@\"");
    let own = ["--user", "--map-root-user", "sh", "-c"];
    let allowed = Command::new("unshare").args(own).args([setup]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return Verdict::Skipped("this system does not allow to limit namespaces".into());
    }
    let mut command = Command::new("unshare");
    command.args(own).args([&line, "sh"]).arg(env::current_exe().unwrap());
    let output = command.env(INNER, "0").args(["--exact", "is_skipped"]).output().unwrap();
    let all = told(&output);
    assert!(output.status.success(), "{all}");
    assert_eq!(all.matches("note: these tests share this machine's files").count(), 1, "{all}");
    assert!(all.contains("the words of a skip"), "{all}");
    Verdict::Holds
}

fn panics() {
    panic!("the words of a panic");
}
