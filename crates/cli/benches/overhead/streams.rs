//! Bare streams: two forked processes, one writes and the other reads, with only the system calls. They stream in blocks
//! as the engine does: of the same length, with a pause after each, and of the same part of each the messages count.

use std::{
    collections::BTreeSet,
    hint::spin_loop,
    process::exit,
    ptr,
    sync::atomic::{AtomicU64, Ordering},
};

use ipcmark_transport::Wait;

use crate::bare::{self, DescriptorPair, Mechanism, PAGE, now_ns, pin, shared_page, unpin};

/// The length of a block, as the engine's, and the number of blocks.
const BLOCK_NS: u64 = 8_000_000;
const BLOCKS: usize = 16;

/// The messages between two clock readings.
const BATCH: u64 = 64;

/// The part of a block during which the queue fills.
const FILLING: f64 = 0.25;

/// The first byte of the last message of a block.
const LAST: u8 = 2;

/// The mechanisms whose streams are compared.
pub(crate) const MECHANISMS: [Mechanism; 3] =
    [Mechanism::Pipe, Mechanism::UdsStream, Mechanism::Tcp];

/// The bytes that a transport over a byte stream puts before each payload: its length.
pub(crate) const FRAME_HEAD: usize = 8;

/// The default capacity of a pipe; for larger calls the transport asks for more.
const PIPE_CAPACITY: usize = 65_536;

/// What both processes see.
#[derive(Default)]
struct Shared {
    /// The time at which the sender of a block had sent all but its last message.
    sent_ns: AtomicU64,
    /// The result: the duration of all that counts, and its messages.
    elapsed_ns: AtomicU64,
    messages: AtomicU64,
}

/// The time per received message of `bytes`, in ns.
pub(crate) fn message_ns(mechanism: Mechanism, wait: Wait, bytes: usize) -> f64 {
    let flags = if wait == Wait::Spin { libc::O_NONBLOCK } else { 0 };
    let ways = match mechanism {
        Mechanism::Pipe => bare::pipes(flags),
        Mechanism::UdsStream => bare::sockets(flags),
        _ => bare::connection(flags),
    };
    if bytes > PIPE_CAPACITY {
        // SAFETY: only changes the capacity, and only of a pipe.
        unsafe { libc::fcntl(ways.leader.0, libc::F_SETPIPE_SZ, bytes as libc::c_int) };
    }
    // SAFETY: a new mapping of zeros, which are a valid value, for this process and its child.
    let shared = unsafe { &*shared_page().cast::<Shared>() };
    // SAFETY: this process has one thread, and the child only makes the loop's own calls.
    match unsafe { libc::fork() } {
        0 => {
            pin(1);
            receive(ways.follower, bytes, shared);
            exit(0);
        }
        follower => {
            pin(0);
            send(ways.leader, bytes, shared);
            // SAFETY: reaps the child.
            unsafe { libc::waitpid(follower, ptr::null_mut(), 0) };
            unpin();
            let [elapsed_ns, messages] =
                [&shared.elapsed_ns, &shared.messages].map(|number| number.load(Ordering::Acquire));
            // SAFETY: nothing refers to the mapping any more.
            unsafe { libc::munmap(ptr::from_ref(shared).cast_mut().cast(), PAGE) };
            close(&ways);
            elapsed_ns as f64 / messages as f64
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

/// Streams block after block, each after the answer to the one before.
fn send((out, back): (i32, i32), bytes: usize, shared: &Shared) {
    let mut message = vec![1_u8; bytes];
    for _ in 0..BLOCKS {
        message[0] = 1;
        let until = now_ns() + BLOCK_NS;
        let sent_ns = loop {
            (0..BATCH).for_each(|_| write(out, &message));
            let now = now_ns();
            if now >= until {
                break now;
            }
        };
        shared.sent_ns.store(sent_ns, Ordering::Release);
        message[0] = LAST;
        write(out, &message);
        read(back, &mut [0]);
    }
}

/// Receives block after block, and answers each.
fn receive((out, back): (i32, i32), bytes: usize, shared: &Shared) {
    let mut message = vec![0_u8; bytes];
    // The time at which each batch began to arrive.
    let mut marks = Vec::with_capacity(1 << 16);
    let (mut elapsed_ns, mut messages) = (0, 0);
    for _ in 0..BLOCKS {
        marks.clear();
        let mut count = 0;
        loop {
            read(back, &mut message);
            if message[0] == LAST {
                break;
            }
            if count % BATCH == 0 {
                marks.push(now_ns());
            }
            count += 1;
        }
        let counts = counting(&marks, shared.sent_ns.load(Ordering::Acquire));
        if let [first, .., last] = counts {
            elapsed_ns += last - first;
            messages += (counts.len() as u64 - 1) * BATCH;
        }
        write(out, &[0]);
    }
    shared.elapsed_ns.store(elapsed_ns, Ordering::Release);
    shared.messages.store(messages, Ordering::Release);
}

/// The marks that count: those after the filling phase and before the last message was sent.
fn counting(marks: &[u64], sent_ns: u64) -> &[u64] {
    let end = marks.partition_point(|mark| *mark <= sent_ns);
    let [first, .., last] = &marks[..end] else { return &[] };
    let filled_ns = first + (FILLING * (last - first) as f64) as u64;
    &marks[marks.partition_point(|mark| *mark < filled_ns)..end]
}

fn write(fd: i32, message: &[u8]) {
    whole(message.len(), |from| {
        let rest = &message[from..];
        // SAFETY: the unsent rest of a valid buffer.
        unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) }
    });
}

fn read(fd: i32, message: &mut [u8]) {
    whole(message.len(), |from| {
        let rest = &mut message[from..];
        // SAFETY: the unfilled rest of a valid buffer.
        unsafe { libc::read(fd, rest.as_mut_ptr().cast(), rest.len()) }
    });
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
