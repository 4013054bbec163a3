//! Both ends in one process, and false information from a peer.

use std::sync::atomic::{AtomicU32, Ordering};

use ipcmark_transport::MIN_PAYLOAD;

use super::*;
use crate::testing::{complete, queue, receive, rendezvous, send, settings, with_ends};

/// The point at which both ends have taken the messages sent to them: until then, a message stays in its sender.
#[derive(Default)]
struct Taken(AtomicU32);

impl Taken {
    fn meet(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
        complete(|| {
            Ok(if self.0.load(Ordering::Acquire) >= 2 { Step::Done } else { Step::WouldBlock })
        });
    }
}

#[test]
fn every_length_goes_both_ways() {
    let lengths = [16, 17, 64, 4095, 4096, 70_001, 1 << 20, 16];
    for wait in [Wait::Spin, Wait::Block, Wait::Hybrid] {
        let taken = Taken::default();
        with_ends(
            &TRANSPORT,
            &settings(wait, 1 << 20),
            |mut end| {
                for (seed, len) in lengths.into_iter().enumerate() {
                    send(&mut end, len, seed);
                    receive(&mut end, len, seed + 1000);
                }
                taken.meet();
            },
            |mut end| {
                for (seed, len) in lengths.into_iter().enumerate() {
                    receive(&mut end, len, seed);
                    send(&mut end, len, seed + 1000);
                }
                taken.meet();
            },
        );
    }
}

#[test]
fn a_sender_that_runs_ahead_overwrites_nothing() {
    let len = |seed: usize| 16 + seed * 37 % 5000;
    for wait in [Wait::Spin, Wait::Block] {
        let taken = Taken::default();
        with_ends(
            &TRANSPORT,
            &settings(wait, 5016),
            |mut end| {
                (0..2000).for_each(|seed| send(&mut end, len(seed), seed));
                taken.meet();
            },
            |mut end| {
                (0..2000).for_each(|seed| receive(&mut end, len(seed), seed));
                taken.meet();
            },
        );
    }
}

#[test]
fn a_sender_has_room_for_as_many_messages_as_are_set() {
    let mut settings = settings(Wait::Spin, 64);
    assert_eq!(depth(&settings), 64);
    settings.payload = 1 << 20;
    assert_eq!(depth(&settings), 4);
    settings.options.insert("depth".into(), "2".into());
    assert_eq!(depth(&settings), 2);
}

#[test]
fn exactly_the_set_number_of_messages_is_in_transit() {
    let (full, taken) = (Taken::default(), Taken::default());
    with_ends(
        &TRANSPORT,
        &settings(Wait::Spin, 4096),
        |mut end| {
            (0..16).for_each(|seed| send(&mut end, 100, seed));
            assert_eq!(end.loan(100).unwrap(), Step::WouldBlock);
            full.meet();
            send(&mut end, 100, 16);
            taken.meet();
        },
        |mut end| {
            full.meet();
            (0..17).for_each(|seed| receive(&mut end, 100, seed));
            taken.meet();
        },
    );
}

#[test]
fn a_notice_that_cannot_be_is_refused() {
    let notice = Notice { address: 4096, len: 64, number: 7 };
    let read = Notice::from_bytes(&notice.to_bytes()).unwrap();
    assert_eq!(read.len(7, 64), Some(64));
    assert_eq!(read.len(8, 64), None, "another message");
    assert_eq!(read.len(7, 63), None, "longer than any message");
    for len in [0, MIN_PAYLOAD as u64 - 1, u64::MAX] {
        assert_eq!(Notice { len, ..notice }.len(7, 64), None);
    }
    assert!(Notice::from_bytes(&[0; 23]).is_none());
}

#[test]
fn an_address_that_the_other_process_does_not_have_is_an_error() {
    let taken = Taken::default();
    with_ends(
        &TRANSPORT,
        &settings(Wait::Spin, 64),
        |mut end| {
            let notice = Notice { address: 64, len: 64, number: 0 };
            complete(|| end.notices.loan(Notice::BYTES));
            end.notices.room().copy_from_slice(&notice.to_bytes());
            complete(|| end.notices.publish());
            taken.meet();
        },
        |mut end| {
            let refused = std::iter::repeat_with(|| end.take()).find_map(Result::err);
            assert_eq!(refused.unwrap().os_error(), Some(libc::EFAULT));
            taken.meet();
        },
    );
}

/// Process 1 has other content in its memory.
#[test]
fn a_process_that_is_not_the_other_end_is_not_read() {
    let proof = Box::new(1);
    for pid in [1, 0, -1, std::process::id() as libc::pid_t] {
        let (mut one, mut other) = rendezvous();
        let forged = PeerId { pid, ..PeerId::own() };
        let other: &mut dyn Rendezvous = &mut other;
        let at = (&raw const *proof).expose_provenance() as u64;
        other.send(0, &forged.to_bytes(), &[]).unwrap();
        // The claimed number is not at this address.
        other.send(0, &[at.to_ne_bytes(), 2_u64.to_ne_bytes()].concat(), &[]).unwrap();
        assert!(introduce(&mut one, &proof).is_err(), "{pid}");
    }
}

#[test]
fn copying_from_a_dead_process_is_peer_gone() {
    let gone = queue::dead_process();
    let error = copy(gone, 4096, &mut [0; 8]).unwrap_err();
    assert!(error.is_peer_gone(), "{error}");
}
