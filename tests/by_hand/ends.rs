//! The behaviour of the two commands when one dies.

use ipcmark_results::Status;
use libc::{SIGCONT, SIGKILL};

use super::run_directory::{RunDirectory, assert_all};
use crate::support::{
    Running, end,
    processes::{await_listener, await_named, await_that, descendants},
    scene::{A_MOMENT, FOLLOWER, KEEPER, LEADER, Scene},
};

ipcmark_harness::tests![
    a_killed_follower_costs_one_row_and_another_takes_its_place,
    a_killed_leader_leaves_nothing,
    a_second_leader_at_the_same_socket_is_rejected,
];

fn a_killed_follower_costs_one_row_and_another_takes_its_place() {
    for victim in [FOLLOWER, KEEPER, "ipcmark"] {
        let place = RunDirectory::new();
        // The first to connect serves; the other waits in the queue.
        let followers = [(); 2].map(|()| Running::start(&mut place.here("follower --forever")));
        let words = "leader -t pipe,fifo,tcp -w spin -s 64 --trials 1";
        let (scene, leader) = Scene::held_with(|| place.here(words), 2 * A_MOMENT, LEADER);
        let serves = |follower: &&Running| {
            descendants(follower.id()).iter().any(|process| process.name == FOLLOWER)
        };
        let serving = || followers.iter().find(serves).map(Running::id);
        let serving = await_that("one of them serves", serving);
        match victim {
            // SAFETY: it is this test's own child.
            "ipcmark" => _ = unsafe { libc::kill(serving, SIGKILL) },
            name => await_named(serving, name).remove(0).send(SIGKILL),
        }
        leader.send(SIGCONT);
        let (ended, result) = scene.end();
        ended.exits(1);
        let failed: Vec<_> =
            result.cases.iter().filter(|case| case.status() == Status::Failed).collect();
        assert_eq!(failed.len(), 1, "{victim}: {failed:?}");
        let reason = failed[0].reason().unwrap();
        assert!(reason.contains("follower"), "{victim}: {reason}");
        // Once nobody told the leader, which waited for its timeout and knew no cause.
        assert!(victim != KEEPER || reason.contains("keeper ended (signal: 9"), "{reason}");
    }
}

fn a_killed_leader_leaves_nothing() {
    let place = RunDirectory::new();
    let follower = Running::start(&mut place.here("follower"));
    let leader = Running::start(&mut place.here("leader -t shm-ring -s 64 -d 1h --trials 1"));
    await_named(follower.id(), FOLLOWER);
    // SAFETY: it is this test's own child.
    unsafe { libc::kill(leader.id(), SIGKILL) };
    drop(leader);
    let ended = follower.end();
    assert!(ended.stderr.contains("the leader has ended"), "{}", ended.stderr);
    // Its leftover socket does not stop the next leader.
    let follower = Running::start(&mut place.here("follower"));
    let words = "leader -t pipe -w spin -s 64 -n 100 --trials 1 --format json";
    assert_all(&end(&mut place.here(words)).exits(0).result(), Status::Ok);
    follower.end().exits(0);
}

fn a_second_leader_at_the_same_socket_is_rejected() {
    let place = RunDirectory::new();
    let words = "leader -t pipe -w spin -s 64 -n 100 --trials 1 --format json";
    let first = Running::start(&mut place.here(words));
    await_listener(&place.path("socket"));
    let second = end(&mut place.here(words)).exits(1);
    assert!(second.stderr.contains("in use by another process"), "{}", second.stderr);
    let follower = Running::start(&mut place.here("follower"));
    first.end().exits(0);
    follower.end().exits(0);
}
