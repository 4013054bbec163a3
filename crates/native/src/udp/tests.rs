//! Two ends that lose nothing, and two of which one does not receive.

use std::net::{Ipv4Addr, UdpSocket};

use ipcmark_transport::Wait;

use super::{sockets::Peer, *};
use crate::testing::{complete, pattern, queue, receive, send};

/// A receive buffer size that every user is granted.
const SMALL: Udp = Udp { buffer: 212_992 };

/// In one thread: if the receiver did not run for long, a message would be dropped.
#[test]
fn every_length_goes_both_ways() {
    for transport in [TRANSPORT, SMALL] {
        for wait in [Wait::Spin, Wait::Block] {
            let (mut leader, mut follower) = queue::ends(&transport, wait, 4 << 20);
            for (seed, len) in queue::lengths().into_iter().enumerate() {
                carry(&mut leader, &mut follower, len, seed);
                carry(&mut follower, &mut leader, len, seed + 1000);
            }
        }
    }
}

/// Sends and receives a message, alternating as far as each end gets.
fn carry(from: &mut UdpEndpoint, to: &mut UdpEndpoint, len: usize, seed: usize) {
    complete(|| from.loan(len));
    from.room().copy_from_slice(&pattern(len, seed));
    let (mut published, mut taken) = (false, false);
    while !taken {
        published = published || from.publish().unwrap() == Step::Done;
        taken = to.take().unwrap() == Step::Done;
    }
    // The last credit ends the sender's wait.
    while !published {
        published = from.publish().unwrap() == Step::Done;
    }
    assert!(to.message() == pattern(len, seed), "message {seed} of {len} bytes is corrupt");
    to.release().unwrap();
}

#[test]
fn a_small_buffer_means_credits() {
    let (leader, _follower) = queue::ends(&SMALL, Wait::Spin, 4 << 20);
    let granted = getsockopt(&leader.sockets.data, RcvBuf).unwrap();
    assert!(part::window(granted) < part::count(4 << 20));
}

#[test]
fn sending_a_message_that_is_never_taken_ends() {
    for wait in [Wait::Spin, Wait::Block] {
        let (mut leader, mut follower) = queue::ends(&SMALL, wait, 4 << 20);
        // Returns although the follower takes nothing and so sends no credit.
        send(&mut leader, 4 << 20, 1);
        drain(&mut follower);
        // The next message arrives.
        send(&mut leader, 64, 2);
        receive(&mut follower, 64, 2);
    }
}

#[test]
fn a_buffer_that_overflows_loses_messages_but_delivers_none_in_part() {
    let (mut leader, mut follower) = queue::ends(&SMALL, Wait::Spin, 3000);
    let count = 1000;
    for seed in 0..count {
        send(&mut leader, 3000, seed);
    }
    let mut taken = vec![];
    let mut vain = 0;
    while vain < 1000 {
        if follower.take().unwrap() == Step::WouldBlock {
            vain += 1;
            continue;
        }
        let seed = (0..count).find(|seed| follower.message() == pattern(3000, *seed));
        taken.push(seed.expect("a message that was sent, whole"));
        follower.release().unwrap();
    }
    assert!(taken.len() < count && taken.is_sorted(), "{} of {count}", taken.len());
}

#[test]
fn a_take_without_a_message_returns() {
    let (mut leader, _follower) = queue::ends(&TRANSPORT, Wait::Block, 64);
    assert_eq!(leader.take().unwrap(), Step::WouldBlock);
}

#[test]
fn datagrams_of_other_sockets_are_ignored() {
    let (mut leader, mut follower) = queue::ends(&TRANSPORT, Wait::Spin, 64);
    let unknown = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = leader.sockets.data.local_addr().unwrap();
    let head = part::PartHeader { message: 0, index: 0, total: 64 };
    let datagram = [&head.to_bytes()[..], &[0xEE; 64]].concat();
    let _ = unknown.send_to(&datagram, address);
    assert_eq!(leader.take().unwrap(), Step::WouldBlock);
    send(&mut follower, 64, 3);
    receive(&mut leader, 64, 3);
}

#[test]
fn an_end_whose_peer_closed_fails_when_it_sends() {
    let (mut leader, follower) = queue::ends(&TRANSPORT, Wait::Spin, 64);
    drop(follower);
    complete(|| leader.loan(64));
    let mut attempts = (0..100).map(|_| leader.publish());
    let error = attempts.find_map(Result::err).expect("an error").to_string();
    assert!(error.contains("closed its end"), "{error}");
}

#[test]
fn addresses_read_back_as_they_were_written() {
    let peer = Peer::parse(b"127.0.0.1:5 127.0.0.1:6 7").unwrap();
    assert_eq!((peer.data.port(), peer.credit.port(), peer.window), (5, 6, 7));
    for wrong in [&b""[..], b"127.0.0.1:5", b"127.0.0.1:5 127.0.0.1:6", b"a b c", b"\xFF"] {
        assert_eq!(Peer::parse(wrong), None);
    }
}

/// Takes the rest of a dropped message.
fn drain(end: &mut UdpEndpoint) {
    for _ in 0..100 {
        assert_eq!(end.take().unwrap(), Step::WouldBlock, "delivered in part");
    }
}
