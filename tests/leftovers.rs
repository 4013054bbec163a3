//! The leftovers of runs without a sandbox whose processes are killed at critical moments, between making a name and
//! removing it: each is removed at once, or by `ipcmark clean`, which reports everything that it did.

use std::{
    collections::BTreeSet, env, fs, os::unix::fs::symlink, path::Path, process::Command, thread,
};

use ipcmark_harness::{first_and_step, is_isolated};
use ipcmark_results::Status;
use libc::{SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGTERM};
use tempfile::TempDir;

use crate::support::{
    Verdict, end, ipcmark, listed,
    processes::{await_end_of, await_named},
    read, run,
    scene::{A_MOMENT, CLEANER, FOLLOWER, KEEPER, LEADER, Scene},
    tracer::{self, COMMAND, Traced, Victims, run_killed},
    traces,
};

ipcmark_harness::tests![
    a_worker_killed_at_any_name_leaves_nothing,
    a_worker_of_a_library_killed_at_any_name_leaves_nothing,
    a_worker_of_iceoryx2_killed_at_any_name_leaves_nothing,
    a_leader_of_fast_dds_killed_at_any_name_leaves_nothing,
    a_follower_of_fast_dds_killed_at_any_name_leaves_nothing,
    a_leader_of_fast_dds_that_lends_killed_at_any_name_leaves_nothing,
    a_follower_of_fast_dds_that_lends_killed_at_any_name_leaves_nothing,
    a_command_killed_at_any_name_leaves_nothing,
    clean_removes_leftovers_of_a_worker_killed_with_its_run_at_any_name,
    clean_removes_leftovers_of_a_command_killed_with_its_run_at_any_name,
    clean_removes_leftovers_of_a_killed_leader_of_fast_dds,
    clean_removes_leftovers_of_a_killed_follower_of_fast_dds,
    clean_removes_leftovers_of_a_killed_command_with_fast_dds,
    clean_removes_leftovers_of_a_killed_run_of_iceoryx,
    a_run_that_ends_or_is_interrupted_leaves_nothing,
    a_keeper_ends_its_session_in_order_on_a_signal,
    a_daemon_ends_with_its_session_however_that_ends,
    a_result_killed_while_it_is_written_leaves_no_other_file,
];

/// Transports of the system that make names, each in its own way.
const NAMED: &str = "fifo,uds-dgram,posix-mq,sysv-mq,sysv-shm,shm-ring,mmap-file";

/// Fast DDS with segments for messages, and with data sharing, which makes most files.
const FAST_DDS: [&str; 2] = ["fastdds-shm", "fastdds-loan"];

/// Rows of libraries that make files under names of their own.
const LIBRARIES: [&str; 16] = [
    "fastdds-shm",
    "fastdds-loan",
    "cyclonedds",
    "cyclonedds-iceoryx",
    "iceoryx-cpp",
    "iceoryx2",
    "zenoh-unix",
    "zenoh-shm",
    "alephzero-pubsub",
    "boost-mq",
    "ucx-shm",
    "libfabric-shm",
    "mpi-openmpi",
    "grpc-cpp-stream",
    "python-shared-memory",
    "aeron-ipc",
];

/// The number of runs that may fail by themselves before it counts.
const ATTEMPTS: u32 = 3;

/// The variable with the directories of modules.
const MODULE_PATH: &str = "IPCMARK_MODULE_PATH";

/// A directory with only this transport's module, because `ipcmark` examines every module that it finds, which takes
/// time. The file name is the last name that matches: `tonic` in grpc-tonic-stream.
fn module_of(transport: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let directories = env::var_os(MODULE_PATH).unwrap_or_default();
    let find = |name: &String| env::split_paths(&directories).find(|it| it.join(name).exists());
    let mut names = transport.rsplit('-').map(|word| format!("{word}.so"));
    if let Some((name, place)) = names.find_map(|name| find(&name).map(|place| (name, place))) {
        symlink(place.join(&name), directory.path().join(&name)).unwrap();
    }
    directory
}

/// The reason why this cannot be tested here, if any: leftovers are visible only where no other program leaves any.
fn lacking() -> Option<Verdict> {
    if !is_isolated() {
        return Some(Verdict::Skipped("namespaces are refused here".into()));
    }
    let why = "this system lets no process be traced";
    (!tracer::is_allowed()).then(|| Verdict::Skipped(why.into()))
}

/// Runs with one transport, or several, and the files that existed before.
struct Ground<'a> {
    transports: &'a str,
    modules: TempDir,
    results: TempDir,
    before: BTreeSet<String>,
}

impl<'a> Ground<'a> {
    fn new(transports: &'a str) -> Self {
        let (modules, results) = (module_of(transports), tempfile::tempdir().unwrap());
        Self { transports, modules, results, before: traces::everything().into_iter().collect() }
    }

    fn ipcmark(&self, words: &str) -> Command {
        let mut command = ipcmark(words);
        command.env(MODULE_PATH, self.modules.path());
        command
    }

    /// A run of few round trips.
    fn command(&self, file: &Path) -> Command {
        // It has no other wait.
        let wait = if self.transports == "alephzero-rpc" { "block" } else { "spin" };
        let mut command = self.ipcmark("run -s 64 -n 10 --trials 1 --sandbox off -w");
        command.args([wait, "-t", self.transports, "-o"]).arg(file);
        command
    }

    /// The output of `ipcmark clean`.
    fn clean(&self) -> String {
        end(&mut self.ipcmark("clean")).exits(0).stdout
    }

    /// The new files in the directories for temporary files and the new objects in the System V tables.
    fn left(&self) -> Vec<String> {
        let mut left = traces::everything();
        let is_new = |path: &String| !self.before.contains(path);
        left.retain(|path| is_new(path) && !Path::new(path).starts_with(self.results.path()));
        left.retain(|path| !traces::is_semaphore_in_the_making(path));
        left.extend(traces::system_v());
        left
    }

    /// Kills the victims at this moment of a run. On a busy machine a traced process can fail before it; such a run
    /// says nothing about a kill's leftovers and is repeated.
    fn killed(&self, process: &str, nth: usize, victims: Victims, file: &Path) -> Traced {
        let run = || run_killed(&mut self.command(file), process, nth, victims);
        let says_something = |traced: &Traced| traced.killed_at.is_some() || traced.code == 0;
        (1..ATTEMPTS).map(|_| run()).find(says_something).unwrap_or_else(run)
    }

    /// Kills the victims at the moments that are sampled, in turn, until a run makes fewer calls than that. `check` receives
    /// the moment and the result's path.
    fn at_sampled_names(&self, process: &str, victims: Victims, check: impl Fn(&str, &Path)) {
        let (first, step) = first_and_step(process);
        for nth in (first..).step_by(step) {
            let file = self.results.path().join(format!("{process}-{nth}.json"));
            let traced = self.killed(process, nth, victims, &file);
            let transports = self.transports;
            let Some(call) = traced.killed_at else {
                assert_eq!(traced.code, 0, "{transports}: nobody was killed");
                println!("{transports}: {process} makes and removes at most {nth} names");
                return;
            };
            check(&format!("{transports}: {process} killed at its name {nth}, {call}"), &file);
        }
    }
}

/// Kills a worker of one row, or of several; the run continues, has lost one row, and has left nothing behind.
fn leaves_nothing(transports: &str, process: &str) {
    let ground = Ground::new(transports);
    ground.at_sampled_names(process, Victims::Caller, |moment, file| {
        let result = read(file);
        let failed = result.cases.iter().filter(|case| case.status() == Status::Failed).count();
        // A library's own thread may remove a name once its row is over.
        let is_over = failed == 0 && transports != NAMED;
        assert!(failed == 1 || is_over, "{moment}: {failed} failed of {:?}", result.cases);
        assert!(result.complete, "{moment}");
        assert_eq!(ground.left(), [""; 0], "{moment}");
    });
}

fn a_worker_killed_at_any_name_leaves_nothing() -> Verdict {
    if let Some(why) = lacking() {
        return why;
    }
    leaves_nothing(NAMED, LEADER);
    leaves_nothing(NAMED, FOLLOWER);
    Verdict::Holds
}

/// Does this with each of the rows that can run here, one by one: a library's processes share nothing.
fn with_each(rows: &[&str], check: impl Fn(&str)) -> Verdict {
    let available = listed::available();
    let there: Vec<_> =
        rows.iter().filter(|row| available.iter().any(|name| name == *row)).collect();
    if there.is_empty() {
        return Verdict::Skipped(format!("{} cannot run here", rows.join(", ")));
    }
    if let Some(why) = lacking() {
        return why;
    }
    there.into_iter().for_each(|row| check(row));
    Verdict::Holds
}

fn a_leader_of_fast_dds_killed_at_any_name_leaves_nothing() -> Verdict {
    with_each(&FAST_DDS[..1], |row| leaves_nothing(row, LEADER))
}

fn a_follower_of_fast_dds_killed_at_any_name_leaves_nothing() -> Verdict {
    with_each(&FAST_DDS[..1], |row| leaves_nothing(row, FOLLOWER))
}

fn a_leader_of_fast_dds_that_lends_killed_at_any_name_leaves_nothing() -> Verdict {
    with_each(&FAST_DDS[1..], |row| leaves_nothing(row, LEADER))
}

fn a_follower_of_fast_dds_that_lends_killed_at_any_name_leaves_nothing() -> Verdict {
    with_each(&FAST_DDS[1..], |row| leaves_nothing(row, FOLLOWER))
}

fn a_worker_of_iceoryx2_killed_at_any_name_leaves_nothing() -> Verdict {
    with_each(&["iceoryx2"], |row| {
        leaves_nothing(row, LEADER);
        leaves_nothing(row, FOLLOWER);
    })
}

fn a_worker_of_a_library_killed_at_any_name_leaves_nothing() -> Verdict {
    with_each(
        &[
            "iceoryx-cpp",
            "boost-mq",
            "alephzero-rpc",
            "zenoh-unix",
            "zenoh-shm",
            "ucx-shm",
            "libfabric-shm",
            "grpc-cpp-stream",
            "python-shared-memory",
            "grpc-tonic-stream",
            "varlink",
            "aeron-ipc",
        ],
        |row| {
            leaves_nothing(row, LEADER);
            leaves_nothing(row, FOLLOWER);
        },
    )
}

fn a_command_killed_at_any_name_leaves_nothing() -> Verdict {
    if let Some(why) = lacking() {
        return why;
    }
    let ground = Ground::new(NAMED);
    ground.at_sampled_names(COMMAND, Victims::Caller, |moment, _| {
        assert_eq!(ground.left(), [""; 0], "{moment}");
    });
    Verdict::Holds
}

fn clean_removes_leftovers_of_a_worker_killed_with_its_run_at_any_name() -> Verdict {
    if let Some(why) = lacking() {
        return why;
    }
    is_cleaned_and_listed(NAMED, LEADER);
    is_cleaned_and_listed(NAMED, FOLLOWER);
    Verdict::Holds
}

fn clean_removes_leftovers_of_a_command_killed_with_its_run_at_any_name() -> Verdict {
    if let Some(why) = lacking() {
        return why;
    }
    is_cleaned_and_listed(NAMED, COMMAND);
    Verdict::Holds
}

fn clean_removes_leftovers_of_a_killed_leader_of_fast_dds() -> Verdict {
    with_each(&FAST_DDS[..1], |row| is_cleaned_and_listed(row, LEADER))
}

fn clean_removes_leftovers_of_a_killed_follower_of_fast_dds() -> Verdict {
    with_each(&FAST_DDS[..1], |row| is_cleaned_and_listed(row, FOLLOWER))
}

fn clean_removes_leftovers_of_a_killed_command_with_fast_dds() -> Verdict {
    with_each(&FAST_DDS[..1], |row| is_cleaned_and_listed(row, COMMAND))
}

fn clean_removes_leftovers_of_a_killed_run_of_iceoryx() -> Verdict {
    with_each(&["iceoryx-cpp"], |row| {
        [LEADER, FOLLOWER, COMMAND]
            .into_iter()
            .for_each(|process| is_cleaned_and_listed(row, process));
    })
}

fn is_cleaned_and_listed(transports: &str, process: &str) {
    let ground = Ground::new(transports);
    ground.at_sampled_names(process, Victims::All, |moment, _| {
        let before = ground.left();
        let told = ground.clean();
        for name in before.iter().map(|name| Path::new(name).file_name().unwrap()) {
            let name = name.to_str().unwrap();
            assert!(told.contains(name), "{moment}: {name} is not in: {told}");
        }
        assert_eq!(ground.left(), [""; 0], "{moment}");
        assert_eq!(ground.clean(), "nothing to remove\n", "{moment}");
    });
}

/// Regression: zenoh removes its segments after its endpoints are closed; and nobody removed the files that a library
/// had named in an interrupted run.
fn a_run_that_ends_or_is_interrupted_leaves_nothing() -> Verdict {
    if !is_isolated() {
        return Verdict::Skipped("what others leave cannot be told apart".into());
    }
    let available = listed::available();
    let libraries = LIBRARIES.into_iter().filter(|row| available.iter().any(|name| name == row));
    let rows = [NAMED].into_iter().chain(libraries).collect::<Vec<_>>().join(",");
    let words = format!("run -t {rows} -s 64 --trials 1 --sandbox off");
    let before: BTreeSet<String> = traces::everything().into_iter().collect();
    let left = || {
        let now = traces::everything().into_iter().filter(|path| !before.contains(path));
        now.chain(traces::system_v()).collect::<Vec<_>>()
    };
    run(&format!("{words} -n 20 --format json")).exits(0);
    assert_eq!(left(), [""; 0], "it has ended");
    for moments in [1, 4, 16] {
        let scene = Scene::start(&format!("{words} -d 1h"));
        scene.await_case();
        thread::sleep(moments * A_MOMENT);
        scene.send_command(SIGTERM);
        scene.end().0.exits(143);
        assert_eq!(left(), [""; 0], "it was interrupted after {moments} moments");
    }
    Verdict::Holds
}

/// Regression: a keeper that got SIGTERM died, and left the processes started by its workers running.
fn a_keeper_ends_its_session_in_order_on_a_signal() {
    for (signal, name) in [(SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP"), (SIGINT, "SIGINT")] {
        let words = "run -t pipe,uds-stream -w block -s 64 --trials 1 --sandbox off";
        let (scene, leader) = Scene::held(words);
        let session: Vec<_> =
            scene.processes().into_iter().filter(|process| process.name != CLEANER).collect();
        scene.send(KEEPER, signal);
        leader.send(SIGCONT);
        await_end_of(&session);
        let (ended, result) = scene.end();
        ended.exits(1);
        let reasons: Vec<_> = result.cases.iter().filter_map(|case| case.reason()).collect();
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert!(reasons[0].contains("keeper ended") && reasons[0].contains(name), "{reasons:?}");
    }
}

fn a_daemon_ends_with_its_session_however_that_ends() -> Verdict {
    if !listed::available().iter().any(|row| row == "iceoryx-cpp") {
        return Verdict::Skipped("iceoryx is not here".into());
    }
    if !is_isolated() {
        return Verdict::Skipped("one daemon a machine, and another may run here".into());
    }
    for (name, signal) in [
        (KEEPER, SIGTERM),
        (KEEPER, SIGKILL),
        (LEADER, SIGKILL),
        (FOLLOWER, SIGKILL),
        (COMMAND, SIGKILL),
    ] {
        let ground = Ground::new("iceoryx-cpp");
        let scene = Scene::start("run -t iceoryx-cpp -s 64 -d 1h --trials 1 --sandbox off");
        await_named(scene.running.id(), "iox-roudi");
        let processes = scene.processes();
        match name {
            COMMAND => scene.send_command(signal),
            name => scene.send(name, signal),
        }
        await_end_of(&processes);
        let Scene { running, file, .. } = scene;
        running.end();
        let results = file.parent().unwrap();
        let left = ground.left().into_iter().filter(|path| !Path::new(path).starts_with(results));
        assert_eq!(left.collect::<Vec<_>>(), [""; 0], "{name} got {signal}");
    }
    Verdict::Holds
}

fn a_result_killed_while_it_is_written_leaves_no_other_file() -> Verdict {
    if let Some(why) = lacking() {
        return why;
    }
    Ground::new("pipe").at_sampled_names(COMMAND, Victims::Caller, |moment, file| {
        let before = names(file);
        assert!(before.len() <= 1, "{moment}: {before:?}");
        // A file that was being written at the kill, in the moment in which it has a name.
        assert!(before.iter().all(|name| name.starts_with(".ipcmark-")), "{moment}: {before:?}");
        run(&format!("run -t null -s 64 -n 10 --trials 1 -o {}", file.display())).exits(0);
        assert_eq!(names(file), BTreeSet::new(), "{moment}");
    });
    Verdict::Holds
}

/// The names of the files next to the results.
fn names(file: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(file.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".json")).collect()
}
