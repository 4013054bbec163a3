//! `ipcmark rank`: the same command on every rank of a launcher.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use ipcmark_results::{Carrier, Pattern, Status};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{run_directory::assert_all, two_hosts};
use crate::support::{Running, Verdict, end, ipcmark, ipcmark_under, only};

ipcmark_harness::tests![
    two_ranks_of_a_launcher_measure,
    further_ranks_are_further_followers,
    every_rank_ends_with_the_status_of_the_result,
    between_two_networks_it_is_tcp,
    a_missing_rank_is_named,
    the_death_of_a_rank_ends_all,
    a_binding_is_replaced_unless_keep_binding_is_given,
    impossible_ranks_are_rejected,
];

const ROWS: &str = "-w block -s 64 -n 50 --trials 1 --timeout 1m --format json";

/// A rank as a launcher starts it.
fn rank(number: u32, count: u32, place: &Path, words: &str) -> Command {
    let mut command = ipcmark(&format!("rank {ROWS} {words}"));
    command.arg("--rendezvous").arg(place.join("meeting"));
    command.env("OMPI_COMM_WORLD_RANK", number.to_string());
    command.env("OMPI_COMM_WORLD_SIZE", count.to_string());
    command
}

fn two_ranks_of_a_launcher_measure() {
    let place = tempfile::tempdir().unwrap();
    // Without the flag, the meeting directory is named after the job, in the current directory.
    let job = |number: &str| {
        let mut command = ipcmark(&format!("rank -t pipe,memfd,tcp {ROWS}"));
        let variables = [("SLURM_PROCID", number), ("SLURM_NTASKS", "2"), ("SLURM_STEP_ID", "0")];
        command.envs(variables).env("SLURM_JOB_ID", "17").current_dir(place.path());
        command
    };
    let follower = Running::start(&mut job("1"));
    let result = end(&mut job("0")).exits(0).result();
    assert_all(&result, Status::Ok);
    assert!(result.distances.is_some(), "both are on one machine");
    follower.end().exits(0);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "the meeting is over");
}

fn further_ranks_are_further_followers() {
    let place = tempfile::tempdir().unwrap();
    let followers = [1, 2].map(|number| {
        let words = format!("rank --rank {number} --ranks 3 -t pipe {ROWS}");
        Running::start(ipcmark(&words).arg("--rendezvous").arg(place.path().join("meeting")))
    });
    let result = end(&mut rank(0, 3, place.path(), "-t pipe")).exits(0).result();
    let case = &result.cases[0];
    assert_eq!((case.identity.pattern, case.identity.subscribers), (Pattern::FanOut, 2));
    for follower in followers {
        follower.end().exits(0);
    }
}

fn every_rank_ends_with_the_status_of_the_result() {
    for (words, status) in [("-t signal,null-module,shm-ring", 1), ("-t pipe --cpus 9999,9998", 2)]
    {
        let place = tempfile::tempdir().unwrap();
        let follower = Running::start(&mut rank(1, 2, place.path(), words));
        let leader = end(&mut rank(0, 2, place.path(), words));
        assert_eq!(leader.code(), status, "{words}: {}", leader.stderr);
        follower.end().exits(status);
    }
}

fn between_two_networks_it_is_tcp() -> Verdict {
    let cable = match two_hosts::laid() {
        Ok(cable) => cable,
        Err(skipped) => return skipped,
    };
    let place = tempfile::tempdir().unwrap();
    let words = |number: u32| {
        let meeting = place.path().join("meeting");
        format!(
            "rank --rank {number} --ranks 2 --address {} --rendezvous {} -t tcp,pipe {ROWS}",
            two_hosts::ADDRESSES[0],
            meeting.display()
        )
    };
    let follower = Running::start(&mut cable.inside(1, &words(1)));
    let result = end(&mut cable.inside(0, &words(0))).exits(1).result();
    follower.end().exits(1);
    assert!(result.distances.is_none(), "no cache line is shared between hosts");
    for case in &result.cases {
        if case.identity.transport == "tcp" {
            assert_eq!(only(case).session.carrier.found, Carrier::Network);
        } else {
            assert_eq!(case.status(), Status::Unsupported, "a pipe is on one host");
        }
    }
    Verdict::Holds
}

fn a_missing_rank_is_named() {
    let place = tempfile::tempdir().unwrap();
    let leader = end(&mut rank(0, 3, place.path(), "-t pipe --meet-within 1s")).exits(2);
    assert!(leader.stderr.contains("rank 1, 2 of 3 did not come in time"), "{}", leader.stderr);
    // The ranks that are present end with the same status.
    let words = "-t pipe --meet-within 10s";
    let leader = Running::start(&mut rank(0, 3, place.path(), words));
    let other = Running::start(&mut rank(1, 3, place.path(), words));
    let leader = leader.end().exits(2);
    assert!(leader.stderr.contains("rank 2 of 3 did not come in time"), "{}", leader.stderr);
    other.end().exits(2);
    let follower = end(&mut rank(1, 2, place.path(), "-t pipe --meet-within 1s")).exits(2);
    assert!(follower.stderr.contains("rank 0 did not come within 1 s"), "{}", follower.stderr);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

fn the_death_of_a_rank_ends_all() {
    let words = "-t pipe --trials 1000 --timeout 2s";
    let begun = || {
        let place = tempfile::tempdir().unwrap();
        let follower = Running::start(&mut rank(1, 2, place.path(), words));
        let leader = Running::start(&mut rank(0, 2, place.path(), words));
        follower.await_words("a leader is there");
        (place, leader, follower)
    };
    let (place, leader, follower) = begun();
    kill(Pid::from_raw(leader.id()), Signal::SIGKILL).unwrap();
    let follower = follower.end().exits(1);
    let words = "rank 0 has ended without a result";
    assert!(follower.stderr.contains(words), "{}", follower.stderr);
    assert!(!place.path().join("meeting").exists(), "the follower has removed it");
    drop((leader, place));
    let (place, leader, follower) = begun();
    kill(Pid::from_raw(follower.id()), Signal::SIGKILL).unwrap();
    leader.end().exits(1);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

fn a_binding_is_replaced_unless_keep_binding_is_given() -> Verdict {
    if std::thread::available_parallelism().map_or(1, usize::from) == 1 {
        return Verdict::Skipped("there is one processor".into());
    }
    for flag in ["", "--keep-binding"] {
        let place = tempfile::tempdir().unwrap();
        let words = format!("rank --rank 0 --ranks 2 {ROWS} -t pipe {flag}");
        let mut bound = ipcmark_under("taskset", &["-c", "0"], &words);
        let follower = Running::start(&mut rank(1, 2, place.path(), "-t pipe"));
        let leader = end(bound.arg("--rendezvous").arg(place.path().join("meeting"))).exits(0);
        follower.end().exits(0);
        let said = leader.stderr.contains("rank 0: bound to cpu 0 by the launcher, now to ");
        assert_eq!(said, flag.is_empty(), "{flag}: {}", leader.stderr);
    }
    Verdict::Holds
}

fn impossible_ranks_are_rejected() {
    let place = tempfile::tempdir().unwrap();
    let refused = |command: &mut Command| end(command).exits(2).stderr;
    let without = refused(&mut ipcmark("rank -t pipe"));
    assert!(without.contains("no launcher sets the rank of this process"), "{without}");
    let nowhere = refused(&mut ipcmark("rank --rank 0 --ranks 2 -t pipe"));
    assert!(nowhere.contains("with --rendezvous"), "{nowhere}");
    let several = refused(&mut rank(0, 2, place.path(), "-t pipe --subscribers 3"));
    assert!(several.contains("leave --subscribers out"), "{several}");
    let publishing = refused(&mut rank(0, 2, place.path(), "-t pipe --publishers 3"));
    assert!(publishing.contains("leave --publishers out"), "{publishing}");
    let meeting = place.path().join("meeting");
    fs::create_dir(&meeting).unwrap();
    let left = refused(&mut rank(0, 2, place.path(), "-t pipe"));
    assert!(left.contains("if no other job uses it, remove it"), "{left}");
    fs::set_permissions(&meeting, fs::Permissions::from_mode(0o777)).unwrap();
    let open = refused(&mut rank(1, 2, place.path(), "-t pipe"));
    assert!(open.contains("other users have access to it"), "{open}");
}
