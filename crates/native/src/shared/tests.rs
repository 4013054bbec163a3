//! Every transport over shared memory, with each of its waits, between two threads.

use ipcmark_transport::{Endpoint, Error, MAX_PAYLOAD, Step, Transport, Wait};

use crate::testing::{complete, one_way, ping_pong, receive, send, settings, with_ends};

/// Lengths around cache lines, pages and the smallest ring.
const LENGTHS: [usize; 20] = [
    16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 112, 4079, 4080, 4096, 4097, 16_368, 16_385,
    65_537, 70_001,
];

/// Lengths around the largest payload.
const LARGE: [usize; 7] =
    [MAX_PAYLOAD, 16, MAX_PAYLOAD - 1, MAX_PAYLOAD - 63, 1_000_003, MAX_PAYLOAD, MAX_PAYLOAD];

fn in_every_wait<T: Transport>(transport: &T, test: impl Fn(&T, Wait)) {
    for &wait in &*transport.definition().capabilities.waits {
        test(transport, wait);
    }
}

/// Varying lengths of more messages than a ring holds.
fn lengths(count: usize, payload: usize) -> Vec<usize> {
    (0..count).map(|n| 16 + n * 7919 % (payload - 15)).collect()
}

macro_rules! transports {
    ($($module:ident),+) => {$(
        mod $module {
            use super::*;

            #[test]
            fn every_length_goes_both_ways() {
                in_every_wait(&crate::$module::TRANSPORT, |transport, wait| {
                    ping_pong(transport, wait, 70_001, &LENGTHS);
                    ping_pong(transport, wait, MAX_PAYLOAD, &LARGE);
                });
            }

            #[test]
            fn a_burst_arrives_in_order_and_whole() {
                in_every_wait(&crate::$module::TRANSPORT, |transport, wait| {
                    one_way(transport, wait, 64, &lengths(3000, 64));
                    one_way(transport, wait, 5000, &lengths(300, 5000));
                    one_way(transport, wait, MAX_PAYLOAD, &LARGE);
                });
            }

            #[test]
            fn room_is_free_once_the_message_is_released() {
                in_every_wait(&crate::$module::TRANSPORT, |transport, wait| {
                    a_full_end_gets_room(transport, wait);
                });
            }

            #[test]
            fn an_end_can_be_dropped_in_any_state() {
                in_every_wait(&crate::$module::TRANSPORT, |transport, wait| {
                    dropped_in_any_state(transport, wait);
                });
            }
        }
    )+};
}

transports![
    shm_slot,
    shm_ring,
    shm_futex,
    shm_semaphore,
    sysv_shm,
    mmap_file,
    memfd,
    eventfd,
    signal
];

/// The leader fills its outgoing direction and continues while the follower, which has no other
/// signal, takes one message after the other.
fn a_full_end_gets_room<T: Transport>(transport: &T, wait: Wait) {
    const COUNT: usize = 40;
    with_ends(
        transport,
        &settings(wait, 50_000),
        |mut end| {
            for seed in 0..COUNT {
                send(&mut end, 50_000, seed);
            }
            receive(&mut end, 16, COUNT);
        },
        |mut end| {
            // Time for the leader to fill the ring and go to sleep: the other order works as well.
            std::thread::sleep(std::time::Duration::from_millis(20));
            for seed in 0..COUNT {
                receive(&mut end, 50_000, seed);
            }
            send(&mut end, 16, COUNT);
        },
    );
}

/// Both ends are dropped with one published message not taken and one on loan, the leader also with
/// one taken. The results of attempts do not matter: the other end may be gone by then.
fn dropped_in_any_state<T: Transport>(transport: &T, wait: Wait) {
    with_ends(
        transport,
        &settings(wait, 64),
        |mut end| {
            complete(|| end.take());
            publish_and_loan(&mut end);
        },
        |mut end| publish_and_loan(&mut end),
    );
}

fn publish_and_loan(end: &mut impl Endpoint) {
    complete(|| end.loan(64));
    let _: Result<Step, Error> = end.publish();
    let _: Result<Step, Error> = end.loan(16);
}

#[test]
fn a_shared_memory_too_small_is_an_error_and_not_a_killed_process() {
    let limit = nix::sys::statvfs::statvfs("/dev/shm").unwrap();
    let bytes = limit.blocks() as usize * limit.fragment_size() as usize;
    if bytes == 0 {
        return; // An in-memory file system without a limit would take all memory.
    }
    let (mut one, _other) = crate::testing::rendezvous();
    let settings = settings(Wait::Spin, bytes);
    let error = crate::shm_slot::TRANSPORT.open(&settings, &mut one).err();
    let error = error.expect("twice as much as there can be").to_string();
    assert!(error.contains("No space left") && error.contains("enlarge /dev/shm"), "{error}");
}
