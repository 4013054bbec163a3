//! The checks that every transport through a reliable kernel queue must pass.

use std::{fs, process::Command, thread};

use ipcmark_transport::{Endpoint, Role, Settings, Step, Transport, Wait};

use super::{RemovedOnDrop, complete, ping_pong, receive, rendezvous, send, settings};

/// Opens both ends of a transport, in two threads, and returns them.
pub fn ends<T: Transport>(transport: &T, wait: Wait, payload: usize) -> (T::Endpoint, T::Endpoint)
where
    T::Endpoint: Send,
{
    let settings = settings(wait, payload);
    let others = Settings { role: Role::Follower(0), ..settings.clone() };
    fs::create_dir_all(&settings.directory).expect("a directory for the test");
    let _left = RemovedOnDrop(settings.directory.clone());
    let (mut one, mut other) = rendezvous();
    let ends = thread::scope(|scope| {
        let follower = scope.spawn(move || transport.open(&others, &mut other));
        let leader = transport.open(&settings, &mut one);
        drop(one);
        let follower = follower.join().expect("no panic");
        (leader.expect("the leader opens"), follower.expect("the follower opens"))
    });
    fs::remove_dir(&settings.directory).expect("an open transport leaves no name");
    ends
}

/// Opens both ends of a transport in this thread, for ends that only the opening thread can use. Neither may wait for
/// the other to open.
pub fn ends_of_this_thread<T: Transport>(
    transport: &T,
    settings: &Settings,
) -> (T::Endpoint, T::Endpoint) {
    let others = Settings { role: Role::Follower(0), ..settings.clone() };
    let (mut one, mut other) = rendezvous();
    let leader = transport.open(settings, &mut one).expect("the leader opens");
    (leader, transport.open(&others, &mut other).expect("the follower opens"))
}

/// Lengths around the limits of one call.
pub fn lengths() -> Vec<usize> {
    let mut lengths = vec![16, 17, 64, 100];
    for limit in [1 << 12, 1 << 13, 1 << 14, 65488, 1 << 16, 212_992, 1 << 20] {
        lengths.extend((limit - 9..=limit + 9).step_by(1 + limit / (1 << 17)));
    }
    lengths.extend([16, 4_194_303, 1_000_003, 4 << 20, 31]);
    lengths
}

/// Sends messages of these lengths back and forth.
pub fn exchange(transport: &impl Transport, wait: Wait) {
    ping_pong(transport, wait, 4 << 20, &lengths());
}

/// Publishes messages of varying lengths until the queue is full, then takes them all.
pub fn fill_and_drain<T: Transport>(transport: &T, payload: usize)
where
    T::Endpoint: Send,
{
    let ends = ends(transport, Wait::Spin, payload);
    fill_and_drain_ends(ends, payload);
}

/// The same with open ends, which poll.
pub fn fill_and_drain_ends<E: Endpoint>((mut leader, mut follower): (E, E), payload: usize) {
    let len = |seed: usize| 16 + (seed * 37) % (payload - 15);
    for first in [0, 1_000_000, 2_000_000] {
        let full = (first..).find(|seed| !publishes(&mut leader, len(*seed), *seed));
        let full = full.expect("every queue is full one day");
        assert!(full > first, "a queue holds a message");
        for seed in first..full {
            receive(&mut follower, len(seed), seed);
        }
        // The message that did not fit, part of which may be in flight.
        complete(|| leader.publish());
        receive(&mut follower, len(full), full);
        assert_eq!(follower.take().unwrap(), Step::WouldBlock);
        assert_eq!(leader.take().unwrap(), Step::WouldBlock, "it takes its own message");
    }
}

/// True if there was room for this message.
fn publishes(end: &mut impl Endpoint, len: usize, seed: usize) -> bool {
    complete(|| end.loan(len));
    end.room().copy_from_slice(&super::pattern(len, seed));
    end.publish().expect("no error") == Step::Done
}

/// Checks that an end whose peer closed first reads the remaining messages, then fails.
pub fn close_one_end<T: Transport>(transport: &T, wait: Wait)
where
    T::Endpoint: Send,
{
    close_one_of(ends(transport, wait, 4096));
}

/// The same with open ends.
pub fn close_one_of<E: Endpoint>((mut leader, mut follower): (E, E)) {
    send(&mut follower, 100, 1);
    drop(follower);
    receive(&mut leader, 100, 1);
    let error = std::iter::repeat_with(|| leader.take()).find_map(Result::err);
    let error = error.expect("the other end is closed").to_string();
    assert!(error.contains("the other process closed its end"), "{error}");
}

/// The id of a process that has ended.
pub fn dead_process() -> libc::pid_t {
    let mut child = Command::new("true").spawn().expect("a process");
    child.wait().expect("its end");
    child.id() as libc::pid_t
}

/// Generates the tests of a transport that is a reliable kernel queue.
macro_rules! reliable_queue {
    ($transport:expr) => {
        #[test]
        fn every_length_goes_both_ways() {
            for wait in [ipcmark_transport::Wait::Spin, ipcmark_transport::Wait::Block] {
                $crate::testing::queue::exchange(&$transport, wait);
            }
        }

        #[test]
        fn a_full_queue_takes_no_more_and_loses_nothing() {
            for payload in [16, 64, 5000, 100_000] {
                $crate::testing::queue::fill_and_drain(&$transport, payload);
            }
        }

        #[test]
        fn an_end_whose_peer_closed_reads_the_rest_and_fails() {
            for wait in [ipcmark_transport::Wait::Spin, ipcmark_transport::Wait::Block] {
                $crate::testing::queue::close_one_end(&$transport, wait);
            }
        }
    };
}

/// The same for a transport whose ends belong to the thread that opened them.
macro_rules! one_thread_queue {
    ($transport:expr) => {
        #[test]
        fn every_length_goes_both_ways() {
            if $crate::testing::lacks(ipcmark_transport::Transport::probe(&$transport)) {
                return;
            }
            for wait in [ipcmark_transport::Wait::Spin, ipcmark_transport::Wait::Block] {
                $crate::testing::queue::exchange(&$transport, wait);
            }
        }

        #[test]
        fn a_full_queue_takes_no_more_and_loses_nothing() {
            if $crate::testing::lacks(ipcmark_transport::Transport::probe(&$transport)) {
                return;
            }
            for payload in [16, 64, 5000, 100_000] {
                let settings = $crate::testing::settings(ipcmark_transport::Wait::Spin, payload);
                let ends = $crate::testing::queue::ends_of_this_thread(&$transport, &settings);
                $crate::testing::queue::fill_and_drain_ends(ends, payload);
            }
        }

        #[test]
        fn an_end_whose_peer_closed_reads_the_rest_and_fails() {
            if $crate::testing::lacks(ipcmark_transport::Transport::probe(&$transport)) {
                return;
            }
            for wait in [ipcmark_transport::Wait::Spin, ipcmark_transport::Wait::Block] {
                let settings = $crate::testing::settings(wait, 4096);
                let ends = $crate::testing::queue::ends_of_this_thread(&$transport, &settings);
                $crate::testing::queue::close_one_of(ends);
            }
        }
    };
}

pub(crate) use {one_thread_queue, reliable_queue};
