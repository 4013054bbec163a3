//! Bare streams: two forked processes, one sends and the other receives, with only the system calls. They stream in
//! blocks as the engine does: of the same length, each between two probes, in turns with a pause before each, and of the
//! same part of each the messages count. A message is what the engine's is with `--touch head`: a number is written into it and checked.

use std::{
    collections::BTreeSet,
    hint::spin_loop,
    process::exit,
    ptr,
    sync::atomic::{AtomicU64, Ordering},
};

use ipcmark_results::Blocks;
use ipcmark_transport::Wait;

use crate::{
    bare::{self, DescriptorPair, Mechanism, PAGE, pin, shared_page, unpin},
    blocks::{self, Floor, MeasuredBlock, now_ns, pause, settle},
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
        return through(&ways, bytes, to_socket, from_socket);
    }
    if bytes > PIPE_CAPACITY {
        // SAFETY: only changes the capacity of a pipe.
        unsafe { libc::fcntl(ways.leader.0, libc::F_SETPIPE_SZ, bytes as libc::c_int) };
    }
    through(&ways, bytes, to_pipe, from_pipe)
}

/// Streams through these calls, which return the number of bytes like the system's.
fn through(
    ways: &DescriptorPair,
    bytes: usize,
    write: impl Fn(i32, &[u8]) -> isize,
    read: impl Fn(i32, &mut [u8]) -> isize,
) -> Blocks {
    let mut floor = blocks::floor();
    // SAFETY: a new mapping of zeros, which are a valid value, for this process and its child.
    let shared = unsafe { &*shared_page().cast::<Shared>() };
    let write = |fd, message: &[u8]| whole(message.len(), |from| write(fd, &message[from..]));
    let read = |fd, message: &mut [u8]| whole(message.len(), |from| read(fd, &mut message[from..]));
    // SAFETY: this process has one thread, and the child only makes the loop's own calls.
    match unsafe { libc::fork() } {
        0 => {
            bare::begin_follower();
            Side { ends: ways.follower, bytes, shared, write, read }.receive(&mut floor);
            exit(0);
        }
        follower => {
            pin(0);
            let probes = Side { ends: ways.leader, bytes, shared, write, read }.send(&mut floor);
            // SAFETY: reaps the child.
            unsafe { libc::waitpid(follower, ptr::null_mut(), 0) };
            unpin();
            let counted = shared.blocks.iter().map(|(elapsed_ns, messages)| {
                (elapsed_ns.load(Ordering::Acquire), messages.load(Ordering::Acquire))
            });
            let (elapsed, messages): (Vec<u64>, Vec<u64>) = counted.unzip();
            // SAFETY: nothing refers to the mapping any more.
            unsafe { libc::munmap(ptr::from_ref(shared).cast_mut().cast(), PAGE) };
            close(ways);
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

/// One of the two processes, with the descriptors that it writes to and reads from.
struct Side<'s, W, R> {
    ends: (i32, i32),
    bytes: usize,
    shared: &'s Shared,
    write: W,
    read: R,
}

impl<W: Fn(i32, &[u8]), R: Fn(i32, &mut [u8])> Side<'_, W, R> {
    /// Streams block after block, each after the answer to the one before; returns the probes around each.
    fn send(self, floor: &mut Floor) -> Vec<[f64; 2]> {
        let Self { ends: (out, back), bytes, shared, write, read } = self;
        let mut message = vec![0_u8; bytes];
        let (mut seq, mut before_ns, mut probes) = (0, 0.0, Vec::new());
        settle();
        for at in 0..BLOCKS {
            if at % TURN == 0 {
                pause();
                before_ns = floor.measure();
            }
            let until = now_ns() + BLOCK_NS;
            let sent_ns = loop {
                for _ in 0..BATCH {
                    seq += 1;
                    number(&mut message, seq, 0);
                    write(out, &message);
                }
                let now = now_ns();
                if now >= until {
                    break now;
                }
            };
            shared.sent_ns.store(sent_ns, Ordering::Release);
            seq += 1;
            number(&mut message, seq, LAST);
            write(out, &message);
            read(back, &mut [0]);
            let after_ns = floor.measure();
            probes.push([before_ns, after_ns]);
            before_ns = after_ns;
        }
        probes
    }

    /// Receives block after block, and answers each.
    fn receive(self, floor: &mut Floor) {
        let Self { ends: (out, back), bytes, shared, write, read } = self;
        let mut message = vec![0_u8; bytes];
        // The time at which each batch began to arrive.
        let mut marks = Vec::with_capacity(1 << 16);
        let mut seq = 0;
        settle();
        for (at, (elapsed_ns, messages)) in shared.blocks.iter().enumerate() {
            if at % TURN == 0 {
                pause();
                floor.reflect();
            }
            marks.clear();
            let mut count = 0;
            loop {
                read(back, &mut message);
                seq += 1;
                if flags(&message, seq) == LAST {
                    break;
                }
                if count % BATCH == 0 {
                    marks.push(now_ns());
                }
                count += 1;
            }
            let counts = counting(&marks, shared.sent_ns.load(Ordering::Acquire));
            if let [first, .., last] = counts {
                elapsed_ns.store(last - first, Ordering::Release);
                messages.store((counts.len() as u64 - 1) * BATCH, Ordering::Release);
            }
            write(out, &[0]);
            floor.reflect();
        }
    }
}

/// Writes the frame's length, and the head of a message as the engine's: its number, its flags and its length.
#[inline(always)]
fn number(message: &mut [u8], seq: u64, flags: u32) {
    let payload = message.len() - FRAME_HEAD;
    message[..8].copy_from_slice(&(payload as u64).to_le_bytes());
    message[8..16].copy_from_slice(&seq.to_ne_bytes());
    message[16..20].copy_from_slice(&flags.to_ne_bytes());
    message[20..24].copy_from_slice(&(payload as u32).to_ne_bytes());
}

/// The flags of the message, which must have this number and its whole length.
#[inline(always)]
fn flags(message: &[u8], seq: u64) -> u32 {
    let payload = message.len() - FRAME_HEAD;
    let word = |at: usize| u32::from_ne_bytes(message[at..at + 4].try_into().expect("4 bytes"));
    let long = |at: usize| u64::from_ne_bytes(message[at..at + 8].try_into().expect("8 bytes"));
    let is_next = long(8) == seq && long(0) == payload as u64 && word(20) == payload as u32;
    assert!(is_next, "a bare stream lost or changed a message");
    word(16)
}

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
                Some(libc::EAGAIN) => spin_loop(),
                Some(libc::EINTR) => {}
                error => panic!("a bare stream failed: {error:?}"),
            },
        }
    }
}
