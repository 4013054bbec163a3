//! Bare streams: two forked processes of which one writes and the other reads, and nothing but the system calls.

use std::{hint::spin_loop, process::exit, ptr, time::Duration};

use ipcmark_transport::Wait;

use crate::bare::{self, Mechanism, now_ns, pin, unpin};

const TIME: Duration = Duration::from_millis(150);

/// Messages between two looks at the clock.
const BATCH: u64 = 64;

/// What streams are compared of.
pub(crate) const MECHANISMS: [Mechanism; 3] =
    [Mechanism::Pipe, Mechanism::UdsStream, Mechanism::Tcp];

/// What a message takes, as received, in ns.
pub(crate) fn message_ns(mechanism: Mechanism, wait: Wait, payload: usize) -> f64 {
    let flags = if wait == Wait::Spin { libc::O_NONBLOCK } else { 0 };
    let ways = match mechanism {
        Mechanism::Pipe => bare::pipes(flags),
        Mechanism::UdsStream => bare::sockets(flags),
        _ => bare::connection(flags),
    };
    let (out, back) = (ways.leader.0, ways.follower.1);
    let mut page = ptr::null_mut();
    // SAFETY: a new mapping that both processes have, for one number.
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
            let message_ns = receive(back, payload);
            // SAFETY: the mapping has room for it; whoever reads it has waited for this process.
            unsafe { found.write_volatile(message_ns) };
            exit(0);
        }
        follower => {
            pin(0);
            // So that a send fails once the child has closed its own.
            // SAFETY: this process does not read from it.
            unsafe { libc::close(back) };
            send(out, payload);
            // SAFETY: buries the child, reads what it has written, closes what was opened.
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
fn send(fd: i32, payload: usize) {
    let message = vec![1_u8; payload];
    let until = now_ns() + 2 * TIME.as_nanos() as u64;
    while now_ns() < until {
        for _ in 0..BATCH {
            if !whole(payload, |from| {
                // SAFETY: a valid buffer; what is left of it from there.
                unsafe { libc::write(fd, message[from..].as_ptr().cast(), payload - from) }
            }) {
                return;
            }
        }
    }
}

/// Counts what arrives in the middle of the time; then takes the rest, so that the sender can end.
fn receive(fd: i32, payload: usize) -> f64 {
    let mut message = vec![0_u8; payload];
    let mut take = || {
        whole(payload, |from| {
            let rest = &mut message[from..];
            // SAFETY: a valid buffer; what is left of it from there.
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
    // The sender notices that nobody reads any more.
    // SAFETY: the child's own descriptor.
    unsafe { libc::close(fd) };
    message_ns
}

/// Repeats a call until all bytes have gone; false where the other end is closed.
fn whole(payload: usize, mut call: impl FnMut(usize) -> isize) -> bool {
    let mut done = 0;
    while done < payload {
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
