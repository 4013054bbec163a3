//! Bare streams: two forked processes, one writes and the other reads, with only the system calls.

use std::{hint::spin_loop, process::exit, ptr, time::Duration};

use ipcmark_transport::Wait;

use crate::bare::{self, Mechanism, now_ns, pin, unpin};

const TIME: Duration = Duration::from_millis(150);

/// The messages between two clock readings.
const BATCH: u64 = 64;

/// The mechanisms whose streams are compared.
pub(crate) const MECHANISMS: [Mechanism; 3] =
    [Mechanism::Pipe, Mechanism::UdsStream, Mechanism::Tcp];

/// The bytes that a transport over a byte stream puts before each payload: its length.
pub(crate) const FRAME_HEAD: usize = 8;

/// The default capacity of a pipe; for larger calls the transport asks for more.
const PIPE_CAPACITY: usize = 65_536;

/// The time per received message of `bytes`, in ns.
pub(crate) fn message_ns(mechanism: Mechanism, wait: Wait, bytes: usize) -> f64 {
    let flags = if wait == Wait::Spin { libc::O_NONBLOCK } else { 0 };
    let ways = match mechanism {
        Mechanism::Pipe => bare::pipes(flags),
        Mechanism::UdsStream => bare::sockets(flags),
        _ => bare::connection(flags),
    };
    let (out, back) = (ways.leader.0, ways.follower.1);
    if bytes > PIPE_CAPACITY {
        // SAFETY: only changes the capacity, and only of a pipe.
        unsafe { libc::fcntl(out, libc::F_SETPIPE_SZ, bytes as libc::c_int) };
    }
    let mut page = ptr::null_mut();
    // SAFETY: a new mapping shared by both processes, for one number.
    unsafe {
        page = libc::mmap(
            page,
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
    }
    let found = page.cast::<f64>();
    // SAFETY: this process has one thread, and the child only makes the loop's own calls.
    match unsafe { libc::fork() } {
        0 => {
            pin(1);
            let message_ns = receive(back, bytes);
            // SAFETY: the mapping has room for it; the parent waits for this process before it
            // reads.
            unsafe { found.write_volatile(message_ns) };
            exit(0);
        }
        follower => {
            pin(0);
            // Makes a send fail once the child has closed its copy.
            // SAFETY: this process does not read from it.
            unsafe { libc::close(back) };
            send(out, bytes);
            // SAFETY: reaps the child, reads its result, and closes the opened descriptors.
            unsafe {
                libc::waitpid(follower, ptr::null_mut(), 0);
                unpin();
                let message_ns = found.read_volatile();
                libc::munmap(page, 4096);
                let others = [ways.leader.0, ways.leader.1, ways.follower.0];
                others.into_iter().filter(|fd| *fd != back).for_each(|fd| {
                    libc::close(fd);
                });
                message_ns
            }
        }
    }
}

/// Sends for longer than the receiver counts.
fn send(fd: i32, bytes: usize) {
    let message = vec![1_u8; bytes];
    let until = now_ns() + 2 * TIME.as_nanos() as u64;
    while now_ns() < until {
        for _ in 0..BATCH {
            if !whole(bytes, |from| {
                // SAFETY: the unsent rest of a valid buffer.
                unsafe { libc::write(fd, message[from..].as_ptr().cast(), bytes - from) }
            }) {
                return;
            }
        }
    }
}

/// Counts the messages that arrive in the middle part of the time.
fn receive(fd: i32, bytes: usize) -> f64 {
    let mut message = vec![0_u8; bytes];
    let mut take = || {
        whole(bytes, |from| {
            let rest = &mut message[from..];
            // SAFETY: the unfilled rest of a valid buffer.
            unsafe { libc::read(fd, rest.as_mut_ptr().cast(), rest.len()) }
        })
    };
    let begin = now_ns();
    let quarter = TIME.as_nanos() as u64 / 4;
    while now_ns() < begin + quarter {
        (0..BATCH).for_each(|_| _ = take());
    }
    let (start, mut count) = (now_ns(), 0);
    while now_ns() < start + 2 * quarter {
        (0..BATCH).for_each(|_| _ = take());
        count += BATCH;
    }
    let message_ns = (now_ns() - start) as f64 / count as f64;
    // Makes the sender notice that there is no reader any more.
    // SAFETY: the child's own descriptor.
    unsafe { libc::close(fd) };
    message_ns
}

/// Repeats a call until all bytes are transferred; false if the other end is closed.
fn whole(bytes: usize, mut call: impl FnMut(usize) -> isize) -> bool {
    let mut done = 0;
    while done < bytes {
        match call(done) {
            n if n > 0 => done += n as usize,
            0 => return false,
            _ => match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EAGAIN) => spin_loop(),
                _ => return false,
            },
        }
    }
    true
}
