//! Faults from outside during a run: its processes, and the command itself, are killed and stopped.
//! Each fault costs one row at most, has a reason, and leaves nothing behind.

use std::{thread, time::Duration};

use ipcmark_results::{Case, RunResult, Status};
use libc::{SIGBUS, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGSEGV, SIGSTOP, SIGTERM};

use crate::support::{
    Ended,
    processes::{await_end_of, await_named, await_that},
    read, run,
    scene::{A_MOMENT, FOLLOWER, KEEPER, LEADER, Scene},
    traces,
};

ipcmark_harness::tests![
    a_killed_leader_costs_one_row,
    a_killed_follower_costs_one_row,
    a_crash_costs_one_row,
    a_stopped_leader_costs_one_row,
    a_stopped_follower_costs_one_row,
    a_killed_keeper_costs_one_row,
    a_kill_at_any_moment_costs_one_row_at_most,
    a_run_of_which_no_row_is_left_ends,
    an_interrupted_run_keeps_its_results,
    an_interrupt_during_a_hang_ends_the_run,
    a_killed_command_leaves_nothing,
    clean_removes_leftovers_of_a_killed_command,
    clean_removes_leftovers_of_a_killed_run,
    clean_does_not_touch_a_running_run,
];

/// Two rows that alternate; their duration is set elsewhere.
const TWO_CASES: &str = "run -t pipe,uds-stream -w block -s 64";

/// The failed case of a run that has exactly one.
#[track_caller]
fn the_failed(ended: Ended, result: RunResult) -> Case {
    let ended = ended.exits(1);
    assert!(result.complete);
    assert_eq!(result.cases.len() as u64, result.planned_cases);
    let mut others: Vec<Case> =
        result.cases.into_iter().filter(|case| case.status() != Status::Ok).collect();
    assert_eq!(others.len(), 1, "{others:?}");
    let failed = others.remove(0);
    assert_eq!(failed.status(), Status::Failed);
    assert!(ended.stdout.contains("failed"), "{}", ended.stdout);
    failed
}

/// Sends a signal to a process of the first row, with and without a sandbox concurrently.
#[track_caller]
fn costs_one_row(name: &str, signal: i32, reason: &str) {
    // Only a stopped process is detected by its silence.
    let timeout = if signal == SIGSTOP { "20s" } else { "5m" };
    let scenes = ["auto", "off"].map(|sandbox| {
        let words = format!("{TWO_CASES} --sandbox {sandbox} --timeout {timeout}");
        let (scene, leader) = Scene::held(&words);
        let processes = scene.processes();
        scene.send(name, signal);
        if (name, signal) != (LEADER, SIGSTOP) {
            leader.send(SIGCONT);
        }
        (scene, processes)
    });
    for (scene, processes) in scenes {
        let (ended, result) = scene.end();
        await_end_of(&processes);
        let failed = the_failed(ended, result);
        let said = failed.reason().unwrap_or_default();
        assert!(said.contains(reason), "no '{reason}' in: {said}");
    }
}

fn a_killed_leader_costs_one_row() {
    costs_one_row(LEADER, SIGKILL, "the leader was killed by signal 9 (SIGKILL) while ");
}

fn a_killed_follower_costs_one_row() {
    costs_one_row(FOLLOWER, SIGKILL, "the follower was killed by signal 9 (SIGKILL) while ");
}

fn a_crash_costs_one_row() {
    costs_one_row(LEADER, SIGSEGV, "the leader was killed by signal 11 (SIGSEGV) while ");
    costs_one_row(FOLLOWER, SIGBUS, "the follower was killed by signal 7 (SIGBUS) while ");
}

fn a_stopped_leader_costs_one_row() {
    costs_one_row(LEADER, SIGSTOP, ": the leader is stopped");
}

fn a_stopped_follower_costs_one_row() {
    costs_one_row(FOLLOWER, SIGSTOP, ": the follower is stopped");
}

fn a_killed_keeper_costs_one_row() {
    // In a sandbox there are two: the first process of the namespaces, and its parent outside.
    for (sandbox, which) in [("auto", 0), ("auto", 1), ("off", 0)] {
        let (scene, leader) = Scene::held(&format!("{TWO_CASES} --sandbox {sandbox}"));
        let processes = scene.processes();
        let keepers = await_named(scene.running.id(), KEEPER);
        // Without sandboxes there is one.
        keepers.get(which).unwrap_or(&keepers[0]).send(SIGKILL);
        leader.send(SIGCONT);
        let (ended, result) = scene.end();
        await_end_of(&processes);
        let failed = the_failed(ended, result);
        let said = failed.reason().unwrap_or_default();
        assert!(said.contains("keeper ended") && said.contains("signal"), "{said}");
        assert_eq!(said.matches(" while ").count(), 1, "{said}");
    }
}

fn a_kill_at_any_moment_costs_one_row_at_most() {
    let before = traces::system_v();
    let words = "run -t pipe,shm-ring,posix-mq,sysv-mq -s 64 -d 20ms --trials 1";
    for moment in 0..16 {
        let sandbox = if moment % 2 == 0 { "auto" } else { "off" };
        let scene = Scene::start(&format!("{words} --sandbox {sandbox}"));
        thread::sleep(Duration::from_millis(13 * moment));
        let name = [LEADER, FOLLOWER, KEEPER][moment as usize % 3];
        // The last session may end at this very moment.
        scene.processes().iter().filter(|process| process.name == name).take(1).for_each(
            |process| {
                process.send(SIGKILL);
            },
        );
        let (ended, result) = scene.end();
        let failed: Vec<&Case> =
            result.cases.iter().filter(|case| case.status() != Status::Ok).collect();
        assert!(failed.len() <= 1, "{moment}, {name}: {failed:?}");
        assert!(result.complete && result.clock.read_ns > 0.0, "{moment}, {name}");
        assert_eq!(ended.code(), failed.len() as i32, "{moment}, {name}: {}", ended.stderr);
        assert_eq!(traces::system_v(), before, "{moment}, {name}");
    }
}

/// Regression: the reference continued alone for as long as the rows would have taken.
fn a_run_of_which_no_row_is_left_ends() {
    let mut patience = 3 * A_MOMENT;
    loop {
        let scene = Scene::start("run -t pipe -w block -s 64 -n 200000000");
        scene.await_case();
        thread::sleep(patience);
        scene.send(FOLLOWER, SIGKILL);
        let (ended, result) = scene.end();
        let failed = the_failed(ended, result);
        if failed.reason().unwrap_or_default().contains("while measuring") {
            return;
        }
        patience *= 2;
    }
}

fn an_interrupted_run_keeps_its_results() {
    for (signal, code, sandbox) in
        [(SIGINT, 130, "auto"), (SIGTERM, 143, "off"), (SIGHUP, 129, "auto")]
    {
        let scene = Scene::start(&format!("{TWO_CASES} -d 700ms --trials 50 --sandbox {sandbox}"));
        scene.await_case();
        let is_written = || (!scene.so_far().cases.is_empty()).then_some(());
        await_that("the first trial is written", is_written);
        let processes = scene.processes();
        scene.send_command(signal);
        let (ended, result) = scene.end();
        await_end_of(&processes);
        let ended = ended.exits(code);
        assert!(!result.complete);
        assert_eq!((result.cases.len(), result.planned_cases), (2, 2));
        let trials = result.cases.iter().map(|case| case.trials().len());
        assert!(trials.clone().all(|trials| (1..50).contains(&trials)), "{:?}", result.cases);
        assert!(ended.stdout.contains("2 of 2 cases measured"), "{}", ended.stdout);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
}

fn an_interrupt_during_a_hang_ends_the_run() {
    let scene = Scene::start("run -t pipe -w block -s 64 -d 1h --timeout 1h");
    scene.await_case();
    assert!(await_named(scene.running.id(), FOLLOWER)[0].stop());
    scene.send_command(SIGINT);
    let (ended, result) = scene.end();
    ended.exits(130);
    assert!(!result.complete && result.cases.is_empty());
}

/// Kills the command of an endless run, and returns the run's id.
fn killed(scene: Scene) -> String {
    let processes = scene.processes();
    scene.send_command(SIGKILL);
    await_end_of(&processes);
    let Scene { running, file, .. } = scene;
    assert_eq!(running.end().status.code(), None);
    let result = read(&file);
    assert!(!result.complete);
    result.run.id
}

fn a_killed_command_leaves_nothing() {
    let before = traces::system_v();
    for sandbox in ["auto", "off"] {
        for transport in ["pipe", "mmap-file", "sysv-mq"] {
            let words = format!("run -t {transport} -w block -s 64 -d 1h --sandbox {sandbox}");
            let scene = Scene::start(&words);
            // Between two sessions no process could clean up.
            scene.await_case();
            let id = killed(scene);
            assert_eq!(traces::names(&id), [""; 0], "{transport}");
            assert_eq!(traces::system_v(), before, "{transport}");
        }
    }
}

fn clean_removes_leftovers_of_a_killed_command() {
    // Many short cases: the kill hits while endpoints open and close.
    let words = "run -t fifo,uds-*,posix-mq,sysv-*,shm-*,mmap-file -w block -s 64 -d 1ms \
                 --trials 1000 --sandbox off";
    for moment in 0..5 {
        let scene = Scene::start(words);
        await_that("the run has begun", || scene.file.exists().then_some(()));
        thread::sleep(Duration::from_millis(70 * moment));
        let id = killed(scene);
        // Between two sessions there is no keeper to do it.
        run("clean").exits(0);
        assert_eq!(traces::names(&id), [""; 0]);
        assert_eq!(traces::system_v(), [""; 0]);
    }
}

fn clean_removes_leftovers_of_a_killed_run() {
    let scene = Scene::start("run -t mmap-file -w block -s 64 -d 1h --sandbox off");
    scene.await_case();
    // While stopped, the command cannot continue without the others.
    scene.send_command(SIGSTOP);
    let processes = scene.processes();
    processes.iter().for_each(|process| process.send(SIGKILL));
    scene.send_command(SIGKILL);
    let Scene { running, file, .. } = scene;
    running.end();
    await_end_of(&processes);
    let id = read(&file).run.id;
    assert_ne!(traces::names(&id), [""; 0], "nobody was left to remove it");
    let cleaned = run("clean").exits(0).stdout;
    assert!(cleaned.contains(&format!("removed /tmp/ipcmark-{id}")), "{cleaned}");
    assert_eq!(traces::names(&id), [""; 0]);
}

fn clean_does_not_touch_a_running_run() {
    let words = "run -t mmap-file,posix-mq,sysv-mq -w block -s 64 --sandbox off";
    let (scene, leader) = Scene::held(words);
    let cleaned = run("clean").exits(0).stdout;
    let id = scene.so_far().run.id;
    assert!(!cleaned.contains(&id), "{cleaned}");
    assert_ne!(traces::names(&id), [""; 0], "its directory is there");
    leader.send(SIGCONT);
    let (ended, result) = scene.end();
    ended.exits(0);
    assert!(result.complete);
}
