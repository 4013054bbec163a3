//! Both ends in one process, and false notices from a peer.

use super::*;
use crate::testing::{lacks, one_way, ping_pong, rendezvous, settings};

#[test]
fn every_length_goes_both_ways() {
    if lacks(TRANSPORT.probe()) {
        return;
    }
    for wait in [Wait::Spin, Wait::Block, Wait::Hybrid] {
        ping_pong(&TRANSPORT, wait, 1 << 20, &[16, 17, 64, 4095, 4096, 70_001, 1 << 20, 16]);
    }
}

#[test]
fn a_sender_that_runs_ahead_loses_nothing() {
    if lacks(TRANSPORT.probe()) {
        return;
    }
    let lengths: Vec<usize> = (0..5000).map(|at| 16 + at * 37 % 3000).collect();
    for wait in [Wait::Spin, Wait::Block] {
        one_way(&TRANSPORT, wait, 3016, &lengths);
        one_way(&TRANSPORT, wait, 1 << 20, &[16; 20_000]);
    }
}

/// Both ends' rings, with room for `notices` notices.
fn rings(wait: Wait, notices: u32) -> [Rings; 2] {
    let (mut one, mut other) = rendezvous();
    let settings = settings(wait, 64);
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| Rings::open(&settings, notices, &mut other).unwrap());
        let leader = Rings::open(&settings, notices, &mut one).unwrap();
        // A ring belongs to the thread that opened it, but here this thread only receives.
        [leader, follower.join().unwrap()]
    })
}

#[test]
fn notices_beyond_the_room_of_the_queue_come_in_their_order() {
    if lacks(TRANSPORT.probe()) {
        return;
    }
    for wait in [Wait::Spin, Wait::Block] {
        let [mut sender, mut receiver] = rings(wait, 2);
        for _ in 0..3 {
            (0..100).for_each(|_| assert_eq!(sender.post().unwrap(), Step::Done));
            let mut taken = 0;
            while taken < 100 {
                taken += u64::from(receiver.poll().unwrap() == Step::Done);
            }
            assert_eq!(receiver.poll().unwrap(), Step::WouldBlock);
        }
    }
}

#[test]
fn a_notice_of_another_message_is_refused() {
    if lacks(TRANSPORT.probe()) {
        return;
    }
    for number in [1, 1 << 40] {
        let [mut sender, mut receiver] = rings(Wait::Spin, 4);
        sender.sent = number;
        assert_eq!(sender.post().unwrap(), Step::Done);
        let error = receiver.poll().unwrap_err().to_string();
        assert!(
            error.contains("the number of the message that the other process wrote"),
            "{error}"
        );
    }
}

/// The other process has the descriptor of the ring that receives notices.
#[test]
fn nothing_can_be_submitted_or_registered_with_a_ring_of_notices() {
    if lacks(TRANSPORT.probe()) {
        return;
    }
    let [sender, _receiver] = rings(Wait::Spin, 4);
    let files = [0];
    // SAFETY: one descriptor, as the count says.
    let registered = unsafe {
        let (ring, register_files) = (sender.peer.as_raw_fd(), 2);
        libc::syscall(libc::SYS_io_uring_register, ring, register_files, files.as_ptr(), 1)
    };
    let error = std::io::Error::last_os_error();
    assert_eq!((registered, error.raw_os_error()), (-1, Some(libc::EACCES)));
}
