//! The arithmetic of frames, with links that carry any number of bytes per call.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::PathBuf,
    rc::Rc,
    time::Duration,
};

use ipcmark_transport::{BUFFERS, Role, SessionName, Wait};
use proptest::prelude::*;

use super::*;
use crate::testing::{pattern, receive, send};

/// A queue of bytes, or of packets, of a limited size, in one direction.
#[derive(Clone)]
struct Queue {
    content: Rc<RefCell<VecDeque<Vec<u8>>>>,
    /// The most bytes per call.
    part: usize,
    /// The most bytes in the queue.
    capacity: usize,
    /// True if a call may take part of one write, or join two writes.
    stream: bool,
    /// A call fails with EINTR whenever this reaches a multiple of three.
    calls: Rc<Cell<u32>>,
}

impl Queue {
    fn new(part: usize, capacity: usize, stream: bool) -> Self {
        let (content, calls) = Default::default();
        Self { content, part, capacity, stream, calls }
    }

    fn interrupted(&self) -> Result<(), Errno> {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get().is_multiple_of(3) { Err(Errno::EINTR) } else { Ok(()) }
    }

    fn free(&self) -> usize {
        self.capacity - self.content.borrow().iter().map(Vec::len).sum::<usize>()
    }
}

impl Link for Queue {
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        self.interrupted()?;
        let part = self.part.min(frame.len() - from);
        let count = if self.stream { part.min(self.free()) } else { part };
        if count == 0 || count > self.free() {
            return Err(Errno::EAGAIN);
        }
        self.content.borrow_mut().push_back(frame[from..from + count].to_vec());
        Ok(count)
    }

    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        self.interrupted()?;
        let mut content = self.content.borrow_mut();
        if self.stream {
            let joined: Vec<u8> = content.drain(..).flatten().collect();
            content.push_back(joined);
        }
        let Some(mut first) = content.pop_front().filter(|first| !first.is_empty()) else {
            return Err(Errno::EAGAIN);
        };
        let count = first.len().min(frame.len() - from);
        frame[from..from + count].copy_from_slice(&first[..count]);
        if self.stream {
            content.push_front(first.split_off(count));
        } else {
            assert_eq!(count, first.len(), "a packet was cut");
        }
        Ok(count)
    }
}

fn settings(payload: usize) -> Settings {
    Settings {
        role: Role::Leader,
        wait: Wait::Spin,
        payload,
        subscribers: 1,
        address: None,
        connect_within: Duration::from_secs(60),
        name: SessionName::new("test").unwrap(),
        directory: PathBuf::new(),
        options: BTreeMap::new(),
    }
}

fn ends(queue: &Queue, payload: usize) -> (Framed<Queue>, Framed<Queue>) {
    let end = || Framed::new(queue.clone(), "the queue", &settings(payload)).unwrap();
    (end(), end())
}

/// Sends messages of these lengths, publishing whenever there is room and taking otherwise.
fn check(queue: &Queue, lengths: &[usize]) {
    check_with(queue, lengths, 1);
}

/// The same with `buffers` buffers per end and direction.
fn check_with(queue: &Queue, lengths: &[usize], buffers: usize) {
    let mut settings = settings(*lengths.iter().max().unwrap());
    settings.options.insert(BUFFERS.key.to_string(), buffers.to_string());
    let end = || Framed::new(queue.clone(), "the queue", &settings).unwrap();
    let (mut sender, mut receiver) = (end(), end());
    let mut taken = 0;
    let mut take_one = |receiver: &mut Framed<Queue>| {
        if receiver.take().unwrap() == Step::Done {
            assert_eq!(receiver.message(), pattern(lengths[taken], taken), "message {taken}");
            receiver.release().unwrap();
            receiver.next_target();
            taken += 1;
        }
        taken
    };
    for (number, len) in lengths.iter().enumerate() {
        assert_eq!(sender.loan(*len).unwrap(), Step::Done);
        sender.room().copy_from_slice(&pattern(*len, number));
        while sender.publish().unwrap() == Step::WouldBlock {
            take_one(&mut receiver);
        }
        sender.next_source();
    }
    while take_one(&mut receiver) < lengths.len() {}
    assert_eq!(receiver.take().unwrap(), Step::WouldBlock);
}

#[test]
fn every_length_around_every_cut_arrives() {
    for part in 8..40 {
        for len in 16..100 {
            let queue = Queue::new(part, 4 * part, len % 2 == 0);
            check(&queue, &[len, 16, len, len]);
        }
    }
}

#[test]
fn a_message_that_fits_takes_one_call_each_way() {
    for stream in [false, true] {
        let queue = Queue::new(HEAD + 64, 1000, stream);
        let (mut sender, mut receiver) = ends(&queue, 64);
        for number in 0..10 {
            queue.calls.set(0);
            send(&mut sender, 64, number);
            assert_eq!(queue.calls.get(), 1);
            queue.calls.set(0);
            receive(&mut receiver, 64, number);
            assert_eq!(queue.calls.get(), 1);
            assert_eq!(receiver.message().as_ptr() as usize % ALIGNMENT, 0);
        }
    }
}

#[test]
fn messages_rotate_through_all_buffers_with_partial_frames() {
    let queue = Queue::new(HEAD + 64, 1000, true);
    let mut settings = settings(64);
    settings.options.insert(BUFFERS.key.to_string(), "3".to_owned());
    let end = || Framed::new(queue.clone(), "the queue", &settings).unwrap();
    let (mut sender, mut receiver) = (end(), end());
    let (mut sources, mut targets) = (BTreeSet::new(), BTreeSet::new());
    for number in 0..9 {
        // One call brings two short messages: the second has arrived when the first is read.
        for half in [2 * number, 2 * number + 1] {
            send(&mut sender, 16, half);
            sources.insert(sender.room().as_ptr());
            sender.next_source();
        }
        for half in [2 * number, 2 * number + 1] {
            receive(&mut receiver, 16, half);
            targets.insert(receiver.message().as_ptr());
            receiver.next_target();
        }
    }
    assert_eq!(sources.len(), 3);
    assert!(targets.len() >= 3, "{targets:?}");
}

#[test]
fn a_length_beyond_the_limit_is_an_error() {
    let queue = Queue::new(100, 100, true);
    queue.content.borrow_mut().push_back(17_u64.to_le_bytes().to_vec());
    let (_, mut receiver) = ends(&queue, 16);
    let error = receiver.take().unwrap_err().to_string();
    assert_eq!(error, "cannot read from the queue: a message of 17 bytes where 16 is the most");
}

#[test]
fn each_errno_has_its_meaning() {
    let refused = |errno| refused(errno, "read from", "the queue");
    assert_eq!(refused(Errno::EAGAIN).unwrap(), Step::WouldBlock);
    assert_eq!(refused(Errno::EINTR).unwrap(), Step::WouldBlock);
    assert!(refused(Errno::EPIPE).unwrap_err().to_string().contains("closed its end"));
    assert_eq!(refused(Errno::EBADF).unwrap_err().os_error(), Some(libc::EBADF));
}

proptest! {
    #[test]
    fn messages_arrive_whole_and_in_order(
        lengths in prop::collection::vec(16_usize..500, 1..20),
        part in 8_usize..600,
        parts in 1_usize..5,
        stream in any::<bool>(),
        buffers in 1_usize..4,
    ) {
        check_with(&Queue::new(part, part * parts, stream), &lengths, buffers);
    }
}
