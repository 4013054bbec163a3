//! `ipcmark clean`: what it ends and removes, what it leaves to its owner, and which modules it queries.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use ipcmark_harness::is_isolated;
use libc::{SIGKILL, SIGSTOP};
use nix::{
    sys::stat::Mode,
    unistd::{Uid, chown, mkfifo},
};

use crate::{
    modules::compiled::module,
    support::{
        Verdict, end, ipcmark, is_root,
        processes::{Process, await_end_of, await_that},
        run,
        scene::Scene,
    },
};

ipcmark_harness::tests![
    ends_processes_of_a_dead_command,
    foreign_objects_do_not_block_it,
    asks_each_library_once,
];

/// A process started by a module that leaves its parent, its session and its group.
fn ends_processes_of_a_dead_command() -> Verdict {
    if !is_isolated() {
        return Verdict::Skipped("a process that lives on is only seen for sure by itself".into());
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("number");
    let mut command =
        ipcmark("run -t test-transport -s 64 -d 1h --trials 1 --sandbox off --module");
    command.arg(module("detaches", "clean")).env("TEST_PID_FILE", &file);
    let scene = Scene::of(command);
    scene.await_case();
    let detached = await_that("the library has started a process", || {
        let number = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
        Process::read(number)
    });
    // No process that would end it survives.
    scene.send_command(SIGSTOP);
    let processes = scene.processes();
    processes.iter().filter(|process| process.id != detached.id).for_each(|process| {
        process.send(SIGKILL);
    });
    scene.send_command(SIGKILL);
    scene.running.end();
    assert!(detached.now().is_some(), "it has left everybody");
    let told = run("clean").exits(0).stdout;
    let line = format!("ended process {} ({})\n", detached.id, detached.name);
    assert!(told.contains(&line), "{told}");
    await_end_of(&[detached]);
    Verdict::Holds
}

/// Regression: a FIFO named `lock` in another user's directory made it hang, and 400 directories took 100 s.
fn foreign_objects_do_not_block_it() -> Verdict {
    if !is_root() || !is_isolated() {
        return Verdict::Skipped("only root can make what belongs to somebody else".into());
    }
    let victim = tempfile::tempdir().unwrap();
    fs::write(victim.path().join("kept"), "").unwrap();
    for number in 0..400_u32 {
        let theirs = PathBuf::from(format!("/tmp/ipcmark-{number:08x}"));
        fs::create_dir(&theirs).unwrap();
        mkfifo(&theirs.join("lock"), Mode::S_IRWXU).unwrap();
        fs::create_dir(theirs.join("1")).unwrap();
        chown(&theirs, Some(Uid::from_raw(65534)), None).unwrap();
    }
    symlink(victim.path(), "/tmp/ipcmark-aaaaaaaa").unwrap();
    symlink(victim.path(), "/dev/shm/ipcmark-aaaaaaaa-1").unwrap();
    mkfifo("/tmp/ipcmark-bbbbbbbb", Mode::S_IRWXU).unwrap();
    let told = run("clean").exits(0).stdout;
    let lines: BTreeSet<&str> = told.lines().collect();
    let own = [
        "removed /dev/shm/ipcmark-aaaaaaaa-1 (link)",
        "removed /tmp/ipcmark-aaaaaaaa (link)",
        "removed /tmp/ipcmark-bbbbbbbb (FIFO)",
    ];
    assert_eq!(lines, BTreeSet::from(own), "what belongs to somebody else stays");
    assert!(victim.path().join("kept").exists(), "no link is followed");
    assert!(Path::new("/tmp/ipcmark-0000018f/lock").exists());
    Verdict::Holds
}

/// Regression: each library was asked for each name, in a new process each time.
fn asks_each_library_once() {
    let directory = tempfile::tempdir().unwrap();
    let modules = directory.path().join("modules");
    let count = directory.path().join("count");
    fs::create_dir(&modules).unwrap();
    fs::copy(module("counts", "clean"), modules.join("counts.so")).unwrap();
    for run in 0..100_u32 {
        for session in 1..4 {
            fs::create_dir_all(format!("/tmp/ipcmark-c0{run:06x}/{session}")).unwrap();
        }
    }
    let mut command = ipcmark("clean");
    command.env("IPCMARK_MODULE_PATH", &modules).env("TEST_COUNT_FILE", &count);
    let told = end(&mut command).exits(0).stdout;
    assert_eq!(told.matches("removed /tmp/ipcmark-c0").count(), 400, "{told}");
    // Once to examine it, once to name its leftovers.
    assert_eq!(fs::read_to_string(&count).unwrap(), "xx");
}
