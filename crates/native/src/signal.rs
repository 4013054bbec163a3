//! `signal`: the ring in POSIX shared memory, real-time signals with a value as the notice.
//!
//! - Mechanism: the sender puts the message into the ring and queues a real-time signal, its value
//!   the number of the message, for the very thread that receives; the receiver has that signal
//!   blocked and takes it with `sigtimedwait`: no handler runs. One signal a message, in order.
//! - Kernel objects: the thread's queue of signals; one POSIX shared memory, unlinked as soon as it
//!   is made. Copies a message: none; the value goes through the kernel.
//! - Blocks: in `sigtimedwait`, 100 ms at most in one go; `spin` calls it with a time of zero, so
//!   each poll is a system call. A sender whose ring is full sleeps on a futex.
//! - Limits: `ulimit -i` (signals queued for a user's processes) and those of the ring. Both ends
//!   must be in one PID namespace, and an end stays on the thread that opened it.

use std::{fs, io, mem, ptr, sync::Once};

use ipcmark_transport::{
    Availability, Definition, Error, Rendezvous, Settings, Step, Transport, Wait,
};

use crate::peer::Address;
use crate::shared::{
    self,
    duplex::{self, Duplex, Notice},
    posix,
    ring::{Consumer, Producer},
};

/// The longest sleep in one go.
const LONGEST: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const ZERO: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// The signal: in the middle of the real-time signals, for libraries take theirs from both ends.
fn number() -> i32 {
    libc::SIGRTMIN() + (libc::SIGRTMAX() - libc::SIGRTMIN()) / 2
}

/// The transport.
pub struct Signal;

/// The notice of an end.
pub struct Signals {
    peer: Address,
    own_pid: i32,
    sent: u32,
    received: u32,
    blocked: Blocked,
}

impl Transport for Signal {
    type Endpoint = Duplex<Signals>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        posix::probe()
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Duplex<Signals>, Error> {
        check_limit()?;
        let blocked = Blocked::new()?;
        let own = Address::own();
        peers.send(0, &own.to_bytes(), &[])?;
        let peer = Address::from_bytes(&peers.receive(0)?.0)?;
        own.check_namespace(&peer, "send signals to")?;
        check_thread(&peer, number())?;
        let region = posix::share(settings, peers, duplex::size(settings)?)?;
        let signals = Signals { peer, own_pid: own.pid, sent: 0, received: 0, blocked };
        Duplex::open(settings, peers, region, signals)
    }
}

/// Checks that the thread is one of this executable that has the signal blocked, as every end has before it sends its
/// address. What it says may be the number of any: to one that has not the signal is deadly, and the first process of the
/// system takes some for an order.
fn check_thread(address: &Address, signal: i32) -> Result<(), Error> {
    let Address { pid, tid, .. } = address;
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status"))
        .map_err(|error| Error::os("look at", format!("process {pid}"), error))?;
    if address.is_this_program()? && blocks(&status, signal) {
        return Ok(());
    }
    let cause = "it is not an end that waits for the signal";
    Err(Error::new("send signals to", format!("thread {tid}"), cause))
}

/// True if the thread of this `/proc/<process>/task/<thread>/status` has the signal blocked.
fn blocks(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// The signal, blocked in this thread as long as this lives.
struct Blocked {
    set: libc::sigset_t,
    /// Whether it was blocked before.
    before: bool,
    /// Blocked in this thread and in no other, so it must not move.
    _stays: std::marker::PhantomData<*const ()>,
}

impl Blocked {
    fn new() -> Result<Self, Error> {
        ignore_late_signals();
        // SAFETY: the sets are plain bits and are initialised by the calls.
        let (set, old, error) = unsafe {
            let (mut set, mut old) = (mem::zeroed(), mem::zeroed());
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, number());
            let error = libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut old);
            (set, old, error)
        };
        if error != 0 {
            let error = io::Error::from_raw_os_error(error);
            return Err(Error::os("block", format!("the signal {}", number()), error));
        }
        // SAFETY: `old` was filled above.
        let before = unsafe { libc::sigismember(&old, number()) } == 1;
        Ok(Self { set, before, _stays: std::marker::PhantomData })
    }

    /// Takes the next signal, if one comes within `time`.
    #[inline]
    fn take(&self, time: &libc::timespec) -> Option<libc::siginfo_t> {
        // SAFETY: plain numbers, for which zeros are a value.
        let mut info = unsafe { mem::zeroed() };
        // SAFETY: all three are there for the call. Any failure means that no signal came.
        let number = unsafe { libc::sigtimedwait(&self.set, &mut info, time) };
        (number > 0).then_some(info)
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        while self.take(&ZERO).is_some() {}
        if !self.before {
            // SAFETY: the set was made at open.
            unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &self.set, ptr::null_mut()) };
        }
    }
}

/// A signal that comes when the end is closed and the mask restored would end the process: that is
/// its default. So it is ignored, once for the process; blocked, it is queued all the same.
fn ignore_late_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a null pointer asks for the present action only; ignoring runs no code of ours.
        unsafe {
            let mut present: libc::sigaction = mem::zeroed();
            libc::sigaction(number(), ptr::null(), &mut present);
            if present.sa_sigaction == libc::SIG_DFL {
                libc::signal(number(), libc::SIG_IGN);
            }
        }
    });
}

/// Where nothing may be queued, a sender would wait for ever.
fn check_limit() -> Result<(), Error> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is what the call writes.
    if unsafe { libc::getrlimit(libc::RLIMIT_SIGPENDING, &mut limit) } == 0 && limit.rlim_cur == 0 {
        let error = Error::new("queue", "signals", "the limit of queued signals is 0");
        return Err(error.remedy("raise it: ulimit -i 1024"));
    }
    Ok(())
}

/// What `rt_tgsigqueueinfo` reads: the kernel's `siginfo_t` for a queued signal on 64-bit Linux.
#[repr(C)]
struct Queued {
    signo: i32,
    errno: i32,
    code: i32,
    gap: i32,
    pid: i32,
    uid: u32,
    value: u64,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<Queued>() == size_of::<libc::siginfo_t>());

impl Signals {
    /// Whether this is the notice of the next message; a stranger's signal is dropped.
    #[inline]
    fn accept(&mut self, info: Option<libc::siginfo_t>) -> Step {
        let Some(info) = info else { return Step::WouldBlock };
        // SAFETY: a signal of any code has these bytes; they count only where the code fits.
        let (pid, value) = unsafe { (info.si_pid(), info.si_value().sival_ptr as usize as u32) };
        let next = self.received.wrapping_add(1);
        if info.si_code != libc::SI_QUEUE || pid != self.peer.pid || value != next {
            return Step::WouldBlock;
        }
        self.received = next;
        Step::Done
    }
}

impl Notice for Signals {
    #[inline]
    fn send(&mut self, _: &Producer) -> Result<Step, Error> {
        let next = self.sent.wrapping_add(1);
        let (signo, code, pid) = (number(), libc::SI_QUEUE, self.own_pid);
        let value = u64::from(next);
        let info = Queued { signo, errno: 0, code, gap: 0, pid, uid: 0, value, rest: [0; 12] };
        let Address { pid, tid, .. } = self.peer;
        // SAFETY: `info` is what the call reads. To one thread, for only that one has it blocked.
        let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, signo, &info) };
        if sent < 0 {
            return not_sent();
        }
        self.sent = next;
        Ok(Step::Done)
    }

    #[inline]
    fn poll(&mut self) -> Result<Step, Error> {
        let info = self.blocked.take(&ZERO);
        Ok(self.accept(info))
    }

    #[inline]
    fn sleep(&mut self, _: &mut Consumer) -> Result<Step, Error> {
        let info = self.blocked.take(&LONGEST);
        Ok(self.accept(info))
    }
}

/// A full queue is to be tried again.
#[cold]
fn not_sent() -> Result<Step, Error> {
    const OPERATION: &str = "send a signal to";
    const OBJECT: &str = "the other process";
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Ok(Step::WouldBlock),
        Some(libc::ESRCH) => Err(Error::peer_gone(OPERATION, OBJECT)),
        _ => Err(Error::last_os(OPERATION, OBJECT)),
    }
}

static DEFINITION: Definition = {
    let mut definition = shared::definition(
        "signal",
        "ring of messages in shared memory, a real-time signal as the notice, no copy",
        &[Wait::Spin, Wait::Block, Wait::Hybrid],
        &duplex::OPTIONS,
    );
    // A thread waits for one number of a signal, whichever end it is of.
    definition.capabilities.one_end = true;
    definition
};

/// `signal`, as it stands in the list.
pub const TRANSPORT: Signal = Signal;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The signal was sent to whichever thread the other end named.
    #[test]
    fn only_a_thread_that_waits_for_the_signal_is_sent_it() {
        let own = Address::own();
        assert!(check_thread(&own, number()).is_err(), "it would be killed");
        let blocked = Blocked::new().unwrap();
        check_thread(&own, number()).unwrap();
        for (pid, tid) in [(1, 1), (own.pid, 1), (0, 0), (-1, -1), (i32::MAX, i32::MAX)] {
            assert!(check_thread(&Address { pid, tid, ..own }, number()).is_err(), "{pid} {tid}");
        }
        drop(blocked);
    }

    #[test]
    fn blocked_signals_are_read_from_the_mask_of_a_thread() {
        let status = "Name:\tx\nSigPnd:\tffffffffffffffff\nSigBlk:\t0001000000000000\n";
        assert!(blocks(status, 49) && !blocks(status, 48) && !blocks("", 49));
    }
}
