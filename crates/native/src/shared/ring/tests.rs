//! The ring on the test's own memory. It makes no system call, so that Miri can run it:
//! `cargo +nightly miri test -p ipcmark-native --lib -- shared::ring shared::cursor`.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    collections::VecDeque,
    thread,
};

use ipcmark_transport::MIN_PAYLOAD;
use proptest::prelude::*;

use super::{super::sync::Ordering, *};

/// The memory of one ring.
struct Heap {
    base: NonNull<u8>,
    layout: Layout,
    capacity: usize,
    payload: usize,
}

impl Heap {
    fn new(payload: usize) -> Self {
        Self::with(standard(payload, Wait::Spin), payload)
    }

    fn with(capacity: usize, payload: usize) -> Self {
        let layout = Layout::from_size_align(size(capacity), 4096).unwrap();
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap();
        Self { base, layout, capacity, payload }
    }

    fn ends(&self) -> (Producer, Consumer) {
        // SAFETY: zeroed, aligned, of the required size; tests drop the ends first.
        unsafe {
            let consumer = Consumer::new(self.base, self.capacity, self.payload);
            (Producer::new(self.base, self.capacity, self.payload), consumer)
        }
    }

    /// The word of the first slot.
    fn word(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.base.add(size_of::<Header>()).cast().as_ref() }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

/// Sends `message`; false if the ring is full.
fn send(producer: &mut Producer, message: &[u8]) -> bool {
    if producer.loan(message.len()).unwrap() == Step::WouldBlock {
        return false;
    }
    producer.room().copy_from_slice(message);
    producer.publish();
    true
}

fn receive(consumer: &mut Consumer) -> Option<Vec<u8>> {
    if consumer.take().unwrap() == Step::WouldBlock {
        return None;
    }
    let message = consumer.message().to_vec();
    consumer.release();
    Some(message)
}

fn message(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at + number * 31) as u8).collect()
}

#[test]
fn four_of_the_largest_messages_fit_and_then_no_more() {
    let heap = Heap::new(20_000);
    let (mut producer, mut consumer) = heap.ends();
    for round in 0..3 {
        let filled = (0..).take_while(|n| send(&mut producer, &message(round + n, 20_000))).count();
        assert_eq!(filled, MESSAGES);
        for n in 0..filled {
            assert_eq!(receive(&mut consumer), Some(message(round + n, 20_000)));
        }
        assert_eq!(receive(&mut consumer), None);
    }
}

/// The end that polls a slot would take a line of its neighbour's pair from the end that fills that.
#[test]
fn no_two_slots_share_a_pair_of_lines() {
    for (payload, bytes) in [(16, 128), (64, 128), (65, 256), (128, 256), (129, 384), (4096, 4224)]
    {
        assert_eq!(slot(payload), bytes);
    }
}

#[test]
fn a_payload_of_several_lines_shares_none_with_the_word() {
    for (payload, at) in [(16, 16), (48, 16), (64, 16), (65, 64), (4096, 64)] {
        assert_eq!(offset(payload), at, "{payload}");
    }
}

#[test]
fn the_last_line_of_a_slot_of_several_is_unused() {
    for payload in LINE + 1..600 {
        assert!(slot(payload) - LINE >= offset(payload) + payload, "{payload}");
    }
}

#[test]
fn the_standard_ring_is_smaller_between_ends_that_only_spin() {
    for (payload, spinning, sleeping) in [
        (16, 4 << 10, 64 << 10),
        (64, 4 << 10, 64 << 10),
        (65, 8 << 10, 64 << 10),
        (1024, 8 << 10, 64 << 10),
        (1 << 20, 4_194_816, 4_194_816),
    ] {
        assert_eq!(standard(payload, Wait::Spin), spinning);
        assert_eq!(standard(payload, Wait::Block), sleeping);
        assert_eq!(standard(payload, Wait::Hybrid), sleeping);
    }
}

/// In the smallest ring, a message of any length finds room after any previous message.
#[test]
fn the_smallest_ring_does_not_stall() {
    for payload in [16, 64, 200, 1000] {
        let heap = Heap::with(least(payload), payload);
        let (mut producer, mut consumer) = heap.ends();
        for n in 0..50 {
            for len in [payload, MIN_PAYLOAD + n * 37 % (payload - 15), payload] {
                assert!(send(&mut producer, &message(n, len)), "{len} of {payload}");
                assert_eq!(receive(&mut consumer), Some(message(n, len)));
            }
        }
    }
}

#[test]
fn room_is_free_after_the_release_and_not_before() {
    let heap = Heap::new(20_000);
    let (mut producer, mut consumer) = heap.ends();
    while send(&mut producer, &message(0, 20_000)) {}
    assert_eq!(consumer.take().unwrap(), Step::Done);
    assert_eq!(producer.loan(20_000).unwrap(), Step::WouldBlock);
    consumer.release();
    assert_eq!(producer.loan(20_000).unwrap(), Step::Done);
}

#[test]
fn outside_a_loan_and_a_take_there_are_no_bytes() {
    let heap = Heap::new(64);
    let (mut producer, mut consumer) = heap.ends();
    assert!(producer.room().is_empty() && consumer.message().is_empty());
    assert!(send(&mut producer, &message(1, 64)));
    assert!(producer.room().is_empty());
    assert!(receive(&mut consumer).is_some());
    assert!(consumer.message().is_empty());
}

#[test]
fn a_message_lies_where_it_was_written() {
    let heap = Heap::new(4096);
    let (mut producer, mut consumer) = heap.ends();
    assert_eq!(producer.loan(4096).unwrap(), Step::Done);
    let written = producer.room().as_ptr();
    producer.publish();
    assert_eq!(consumer.take().unwrap(), Step::Done);
    assert_eq!(consumer.message().as_ptr(), written);
}

#[test]
fn lengths_out_of_range_are_errors() {
    for len in [0, MIN_PAYLOAD as u64 - 1, 4097, 1 << 31, u64::from(u32::MAX)] {
        let heap = Heap::new(4096);
        let (mut producer, mut consumer) = heap.ends();
        assert!(send(&mut producer, &message(0, 4096)));
        heap.word().store(1 << 32 | len, Ordering::Relaxed);
        assert!(consumer.take().is_err(), "{len}");
    }
}

#[test]
fn a_word_of_another_message_is_no_message() {
    for number in [0, 2, u64::from(u32::MAX)] {
        let heap = Heap::new(4096);
        let (mut producer, mut consumer) = heap.ends();
        assert!(send(&mut producer, &message(0, 4096)));
        heap.word().store(number << 32 | 4096, Ordering::Relaxed);
        assert_eq!(consumer.take().unwrap(), Step::WouldBlock, "{number}");
    }
}

#[test]
fn a_message_that_no_slot_holds_is_an_error() {
    let heap = Heap::new(64);
    let (mut producer, _) = heap.ends();
    assert!(producer.loan(slot(64) - offset(64) + 1).is_err());
    assert!(producer.room().is_empty());
    assert_eq!(producer.loan(64).unwrap(), Step::Done);
}

#[test]
fn two_threads_see_every_message_once_in_order_and_whole() {
    const MESSAGES: usize = if cfg!(miri) { 100 } else { 50_000 };
    let heap = Heap::new(3000);
    // Odd steps, so that messages have many lengths.
    let len = |n: usize| MIN_PAYLOAD + n * 997 % (3000 - MIN_PAYLOAD);
    let (producer, consumer) = heap.ends();
    let (mut producer, mut consumer) = (Moved(producer), Moved(consumer));
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            for n in 0..MESSAGES {
                let received = loop {
                    match receive(consumer.get()) {
                        Some(received) => break received,
                        None => thread::yield_now(),
                    }
                };
                assert!(received == message(n, len(n)), "message {n}");
            }
        });
        for n in 0..MESSAGES {
            while !send(producer.get(), &message(n, len(n))) {
                assert!(!reader.is_finished(), "the reader failed");
                thread::yield_now();
            }
        }
    });
}

/// An end that moves to the one thread that uses it.
struct Moved<T>(T);

// SAFETY: any thread may use an end, one at a time.
unsafe impl<T> Send for Moved<T> {}

impl<T> Moved<T> {
    fn get(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Miri takes a microsecond per byte.
const LONGEST: usize = if cfg!(miri) { 500 } else { 40_000 };
const STEPS: usize = if cfg!(miri) { 40 } else { 400 };

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A queue of the standard library is the model of the ring's content.
    #[test]
    fn the_ring_is_a_queue(
        payload in 16..LONGEST,
        steps in prop::collection::vec((any::<bool>(), 0.0..=1.0_f64), 1..STEPS),
    ) {
        let heap = Heap::new(payload);
        let (mut producer, mut consumer) = heap.ends();
        let mut model = VecDeque::new();
        let slots = heap.capacity / slot(payload);
        for (number, (sends, size)) in steps.into_iter().enumerate() {
            if sends {
                let len = MIN_PAYLOAD + (size * (payload - MIN_PAYLOAD) as f64) as usize;
                let sent = send(&mut producer, &message(number, len));
                prop_assert_eq!(sent, model.len() < slots, "{} of {}", model.len(), slots);
                if sent {
                    model.push_back(message(number, len));
                }
            } else {
                prop_assert!(receive(&mut consumer) == model.pop_front());
            }
        }
        while let Some(expected) = model.pop_front() {
            prop_assert!(receive(&mut consumer) == Some(expected));
        }
        prop_assert!(receive(&mut consumer).is_none());
    }
}
