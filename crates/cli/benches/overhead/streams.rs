//! Bare streams: two forked processes, one sends and the other receives, with only the system calls, or only the calls
//! of the ring. They stream in blocks as the engine does: of the same length, each between two probes, in turns with a
//! pause before each, and of the same part of each the messages count. A message is what the engine's is with
//! `--touch head`: a number is written into it and checked.
//!
//! As with the engine, a round trip precedes each block, and its last message is answered, by messages of the same
//! size. It matters to `tcp`: on a connection that has carried such answers, a sleeping stream of 64 KiB takes 1.13 to
//! 1.19 times as long as on one of which only one end sends, probably because Linux then delays acknowledgements.

use std::{
    collections::BTreeSet,
    process::exit,
    ptr,
    sync::atomic::{AtomicU64, Ordering},
};

use ipcmark_results::Blocks;
use ipcmark_transport::{Collect, Endpoint, Transport, Wait};

use crate::{
    bare::{self, DescriptorPair, Mechanism, PAGE, pin, shared_page, unpin},
    blocks::{self, Floor, MeasuredBlock, now_ns, pause, settle},
    slices::{self, complete},
};

/// The length of a block and the blocks of a turn, as the engine's, and the number of blocks.
const BLOCK_NS: u64 = 8_000_000;
const TURN: usize = 2;
const BLOCKS: usize = 24;

/// The blocks that a side must have in a round.
pub(crate) const ENOUGH: usize = 3;

/// The messages between two clock readings.
const BATCH: u64 = 64;

/// The part of a block during which the queue fills.
const FILLING: f64 = 0.25;

/// The flags of the last message of a block.
const LAST: u32 = 2;

/// The number of a message that is no part of a stream, and of its answer.
const ANSWER: u64 = 0;

/// The mechanisms whose streams are compared.
pub(crate) const MECHANISMS: [Mechanism; 3] =
    [Mechanism::Pipe, Mechanism::UdsStream, Mechanism::Tcp];

/// The bytes that a transport over a byte stream puts before each payload: its length.
const FRAME_HEAD: usize = 8;

/// The default capacity of a pipe; for larger calls the transport asks for more.
const PIPE_CAPACITY: usize = 65_536;

/// What both processes see.
struct Shared {
    /// The time at which the sender of a block had sent all but its last message.
    sent_ns: AtomicU64,
    /// Of each block, the duration and the number of the messages that count.
    blocks: [(AtomicU64, AtomicU64); BLOCKS],
}

/// The blocks of a stream of messages with a payload of `payload` bytes.
pub(crate) fn blocks(mechanism: Mechanism, wait: Wait, payload: usize) -> Blocks {
    let (flags, bytes) =
        (if wait == Wait::Spin { libc::O_NONBLOCK } else { 0 }, FRAME_HEAD + payload);
    let ways = match mechanism {
        Mechanism::Pipe => bare::pipes(flags),
        Mechanism::UdsStream => bare::sockets(flags),
        _ => bare::connection(flags),
    };
    if mechanism != Mechanism::Pipe {
        return through_descriptors(&ways, bytes, to_socket, from_socket);
    }
    if bytes > PIPE_CAPACITY {
        // SAFETY: only changes the capacity of a pipe.
        unsafe { libc::fcntl(ways.leader.0, libc::F_SETPIPE_SZ, bytes as libc::c_int) };
    }
    through_descriptors(&ways, bytes, to_pipe, from_pipe)
}

/// The blocks of a spinning stream through this transport's own calls.
pub(crate) fn own_blocks(name: &str, payload: usize) -> Blocks {
    let found = ipcmark_native::transports(&mut Own { name, payload });
    found.into_iter().flatten().next().expect("the transport is in the list")
}

struct Own<'n> {
    name: &'n str,
    payload: usize,
}

impl Collect for Own<'_> {
    type Item = Option<Blocks>;

    fn item<T: Transport>(&mut self, transport: T) -> Self::Item {
        if transport.definition().name != self.name {
            return None;
        }
        let (leader, follower) = slices::open(&transport, self.payload);
        let payload = self.payload;
        Some(through(OwnEnd { end: leader, payload }, OwnEnd { end: follower, payload }))
    }
}

/// Streams through these calls, which return the number of bytes like the system's.
fn through_descriptors(
    ways: &DescriptorPair,
    bytes: usize,
    write: fn(i32, &[u8]) -> isize,
    read: fn(i32, &mut [u8]) -> isize,
) -> Blocks {
    let end = |(out, back)| Descriptors { out, back, message: vec![0; bytes], write, read };
    let blocks = through(end(ways.leader), end(ways.follower));
    close(ways);
    blocks
}

/// Streams from one end to the other, in a process each.
fn through(leader: impl BareEnd, follower: impl BareEnd) -> Blocks {
    let mut floor = blocks::floor();
    // SAFETY: a new mapping of zeros, which are a valid value, for this process and its child.
    let shared = unsafe { &*shared_page().cast::<Shared>() };
    // SAFETY: this process has one thread, and the child only makes the loop's own calls.
    match unsafe { libc::fork() } {
        0 => {
            bare::begin_follower();
            receive(follower, shared, &mut floor);
            exit(0);
        }
        child => {
            pin(0);
            let probes = send(leader, shared, &mut floor);
            // SAFETY: reaps the child.
            unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
            unpin();
            let counted = shared.blocks.iter().map(|(elapsed_ns, messages)| {
                (elapsed_ns.load(Ordering::Acquire), messages.load(Ordering::Acquire))
            });
            let (elapsed, messages): (Vec<u64>, Vec<u64>) = counted.unzip();
            // SAFETY: nothing refers to the mapping any more.
            unsafe { libc::munmap(ptr::from_ref(shared).cast_mut().cast(), PAGE) };
            let measured = probes.into_iter().zip(elapsed);
            let measured = measured.map(|([before_ns, after_ns], elapsed_ns)| MeasuredBlock {
                elapsed_ns,
                before_ns,
                after_ns,
                sleeps: 0,
            });
            blocks::of_events(messages, &measured.collect::<Vec<_>>())
        }
    }
}

/// Closes the descriptors; the two of a socket are one.
fn close(ways: &DescriptorPair) {
    let [leader, follower] = [ways.leader, ways.follower];
    for fd in BTreeSet::from([leader.0, leader.1, follower.0, follower.1]) {
        // SAFETY: opened for these streams, and used by nobody any more.
        unsafe { libc::close(fd) };
    }
}

/// The end of one of the two processes.
trait BareEnd {
    /// Sends a message with this number and these flags.
    fn send(&mut self, seq: u64, flags: u32);

    /// Receives a message, which must have this number; returns its flags.
    fn receive(&mut self, seq: u64) -> u32;
}

/// Streams block after block, each after the answer to the one before; returns the probes around each.
fn send(mut end: impl BareEnd, shared: &Shared, floor: &mut Floor) -> Vec<[f64; 2]> {
    let (mut seq, mut before_ns, mut probes) = (0, 0.0, Vec::new());
    settle();
    for at in 0..BLOCKS {
        if at % TURN == 0 {
            pause();
            before_ns = floor.measure();
        }
        round_trip(&mut end);
        let sent_ns = send_until(&mut end, &mut seq, now_ns() + BLOCK_NS);
        shared.sent_ns.store(sent_ns, Ordering::Release);
        seq += 1;
        end.send(seq, LAST);
        end.receive(ANSWER);
        let after_ns = floor.measure();
        probes.push([before_ns, after_ns]);
        before_ns = after_ns;
    }
    probes
}

/// A message to the receiver, and its answer.
fn round_trip(end: &mut impl BareEnd) {
    end.send(ANSWER, 0);
    end.receive(ANSWER);
}

/// The receiver's part of it.
fn answer(end: &mut impl BareEnd) {
    end.receive(ANSWER);
    end.send(ANSWER, 0);
}

/// Sends batches until this time; returns the time at which the last had been sent.
#[inline(never)]
fn send_until(end: &mut impl BareEnd, seq: &mut u64, until: u64) -> u64 {
    loop {
        for _ in 0..BATCH {
            *seq += 1;
            end.send(*seq, 0);
        }
        let now = now_ns();
        if now >= until {
            return now;
        }
    }
}

/// Receives block after block, and answers each.
fn receive(mut end: impl BareEnd, shared: &Shared, floor: &mut Floor) {
    // The time at which each batch began to arrive.
    let mut marks = Vec::with_capacity(1 << 16);
    let mut seq = 0;
    settle();
    for (at, (elapsed_ns, messages)) in shared.blocks.iter().enumerate() {
        if at % TURN == 0 {
            pause();
            floor.reflect();
        }
        answer(&mut end);
        receive_block(&mut end, &mut seq, &mut marks);
        let counts = counting(&marks, shared.sent_ns.load(Ordering::Acquire));
        if let [first, .., last] = counts {
            elapsed_ns.store(last - first, Ordering::Release);
            messages.store((counts.len() as u64 - 1) * BATCH, Ordering::Release);
        }
        end.send(ANSWER, 0);
        floor.reflect();
    }
}

/// Receives the messages of a block.
#[inline(never)]
fn receive_block(end: &mut impl BareEnd, seq: &mut u64, marks: &mut Vec<u64>) {
    marks.clear();
    let mut count = 0;
    loop {
        *seq += 1;
        if end.receive(*seq) == LAST {
            return;
        }
        if count % BATCH == 0 {
            marks.push(now_ns());
        }
        count += 1;
    }
}

/// The descriptors that a process writes to and reads from, and its message with the frame's length before it.
struct Descriptors {
    out: i32,
    back: i32,
    message: Vec<u8>,
    write: fn(i32, &[u8]) -> isize,
    read: fn(i32, &mut [u8]) -> isize,
}

impl BareEnd for Descriptors {
    #[inline(always)]
    fn send(&mut self, seq: u64, flags: u32) {
        let Self { out, message, write, .. } = self;
        let (frame, payload) = message.split_at_mut(FRAME_HEAD);
        frame.copy_from_slice(&(payload.len() as u64).to_le_bytes());
        number(payload, seq, flags);
        whole(message.len(), |from| write(*out, &message[from..]));
    }

    #[inline(always)]
    fn receive(&mut self, seq: u64) -> u32 {
        let Self { back, message, read, .. } = self;
        whole(message.len(), |from| read(*back, &mut message[from..]));
        let (frame, payload) = message.split_at(FRAME_HEAD);
        assert_eq!(frame, (payload.len() as u64).to_le_bytes(), "{CHANGED}");
        flags(payload, seq)
    }
}

/// An end of a transport, called without the engine.
struct OwnEnd<E> {
    end: E,
    payload: usize,
}

impl<E: Endpoint> BareEnd for OwnEnd<E> {
    #[inline(always)]
    fn send(&mut self, seq: u64, flags: u32) {
        complete(&mut self.end, |end| end.loan(self.payload));
        number(self.end.room(), seq, flags);
        complete(&mut self.end, E::publish);
    }

    #[inline(always)]
    fn receive(&mut self, seq: u64) -> u32 {
        complete(&mut self.end, E::take);
        let flags = flags(self.end.message(), seq);
        self.end.release().expect("the message is released");
        flags
    }
}

/// Writes the head of a message as the engine's: its number, its flags and its length.
#[inline(always)]
fn number(payload: &mut [u8], seq: u64, flags: u32) {
    let len = payload.len() as u32;
    payload[..8].copy_from_slice(&seq.to_ne_bytes());
    payload[8..12].copy_from_slice(&flags.to_ne_bytes());
    payload[12..16].copy_from_slice(&len.to_ne_bytes());
}

/// The flags of the message, which must have this number and its whole length.
#[inline(always)]
fn flags(payload: &[u8], seq: u64) -> u32 {
    let word = |at: usize| u32::from_ne_bytes(payload[at..at + 4].try_into().expect("4 bytes"));
    let number = u64::from_ne_bytes(payload[..8].try_into().expect("8 bytes"));
    assert!(number == seq && word(12) == payload.len() as u32, "{CHANGED}");
    word(8)
}

const CHANGED: &str = "a bare stream lost or changed a message";

/// The marks that count: those after the filling phase and before the last message was sent.
fn counting(marks: &[u64], sent_ns: u64) -> &[u64] {
    let end = marks.partition_point(|mark| *mark <= sent_ns);
    let [first, .., last] = &marks[..end] else { return &[] };
    let filled_ns = first + (FILLING * (last - first) as f64) as u64;
    &marks[marks.partition_point(|mark| *mark < filled_ns)..end]
}

fn to_pipe(fd: i32, bytes: &[u8]) -> isize {
    // SAFETY: a valid buffer of the given length, here and below.
    unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) }
}

fn from_pipe(fd: i32, bytes: &mut [u8]) -> isize {
    // SAFETY: see `to_pipe`.
    unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) }
}

fn to_socket(fd: i32, bytes: &[u8]) -> isize {
    // SAFETY: see `to_pipe`.
    unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) }
}

fn from_socket(fd: i32, bytes: &mut [u8]) -> isize {
    // SAFETY: see `to_pipe`.
    unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), 0) }
}

/// Repeats a call until all bytes are transferred.
fn whole(bytes: usize, mut call: impl FnMut(usize) -> isize) {
    let mut done = 0;
    while done < bytes {
        match call(done) {
            n if n > 0 => done += n as usize,
            0 => panic!("the other end of a bare stream is closed"),
            _ => match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => {}
                error => panic!("a bare stream failed: {error:?}"),
            },
        }
    }
}
