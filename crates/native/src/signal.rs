//! `signal`: the ring in POSIX shared memory, with real-time signals as the notice.
//!
//! - Mechanism: the sender puts the message into the ring and queues a real-time signal to exactly the
//!   receiving thread, with the message's sequence number as its value; the receiver has that signal
//!   blocked and takes it with `sigtimedwait`: no handler runs. One signal per message, in order.
//! - Kernel objects: the thread's queue of signals; one POSIX shared memory object, unlinked as soon as
//!   it is created.
//! - Copies per message: none; the value passes through the kernel.
//! - Blocks: in `sigtimedwait`, at most 100 ms per call; `spin` calls it with a zero timeout, so each
//!   poll is a system call. A sender whose ring is full sleeps on a futex.
//! - Limits: `ulimit -i` (signals queued for a user's processes) and those of the ring. Both ends
//!   must be in one PID namespace, and an end stays on the thread that opened it.

use std::{fs, io, mem, ptr, sync::Once};

use ipcmark_transport::{
    Availability, Definition, Error, Rendezvous, Settings, Step, Transport, Wait,
};

use crate::peer::PeerId;
use crate::shared::{
    self,
    duplex::{self, Duplex, Notifier},
    posix,
    ring::{Consumer, Producer},
};

/// The longest sleep in one call.
const LONGEST: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const ZERO: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// The signal number: in the middle of the real-time signals, because libraries take theirs from both ends.
fn number() -> i32 {
    libc::SIGRTMIN() + (libc::SIGRTMAX() - libc::SIGRTMIN()) / 2
}

/// The transport.
pub struct Signal;

/// The notice of an end.
pub struct Signals {
    peer: PeerId,
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
        let own = PeerId::own();
        peers.send(0, &own.to_bytes(), &[])?;
        let peer = PeerId::from_bytes(&peers.receive(0)?.0)?;
        own.check_namespace(&peer, "send signals to")?;
        check_thread(&peer, number())?;
        let region = posix::share(settings, peers, duplex::size(settings)?)?;
        let signals = Signals { peer, own_pid: own.pid, sent: 0, received: 0, blocked };
        Duplex::open(settings, peers, region, signals)
    }
}

/// Checks that the thread belongs to this executable and has the signal blocked, as every end does before it sends its
/// address. The peer could send the number of any thread: a thread that has not blocked the signal would be killed,
/// and process 1 treats some signals as commands.
fn check_thread(address: &PeerId, signal: i32) -> Result<(), Error> {
    let PeerId { pid, tid, .. } = address;
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

/// The signal, blocked in this thread for the lifetime of this value.
struct Blocked {
    set: libc::sigset_t,
    /// True if it was blocked before.
    before: bool,
    /// Prevents a move to another thread: the signal is blocked in this thread only.
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

    /// Takes the next signal, if one arrives within `time`.
    #[inline]
    fn take(&self, time: &libc::timespec) -> Option<libc::siginfo_t> {
        // SAFETY: plain numbers, for which zeros are valid.
        let mut info = unsafe { mem::zeroed() };
        // SAFETY: all three are valid during the call. Any failure means that no signal arrived.
        let number = unsafe { libc::sigtimedwait(&self.set, &mut info, time) };
        (number > 0).then_some(info)
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        while self.take(&ZERO).is_some() {}
        if !self.before {
            // SAFETY: the set was initialised at open.
            unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &self.set, ptr::null_mut()) };
        }
    }
}

/// Ignores the signal, once per process: one that arrives after the end has closed and restored the mask
/// would terminate the process by default. An ignored signal is still queued while it is blocked.
fn ignore_late_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a null pointer only queries the present action; ignoring runs no code of ours.
        unsafe {
            let mut present: libc::sigaction = mem::zeroed();
            libc::sigaction(number(), ptr::null(), &mut present);
            if present.sa_sigaction == libc::SIG_DFL {
                libc::signal(number(), libc::SIG_IGN);
            }
        }
    });
}

/// Fails if no signals may be queued: a sender would wait forever.
fn check_limit() -> Result<(), Error> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes into `limit`.
    if unsafe { libc::getrlimit(libc::RLIMIT_SIGPENDING, &mut limit) } == 0 && limit.rlim_cur == 0 {
        let error = Error::new("queue", "signals", "the limit of queued signals is 0");
        return Err(error.remedy("raise it: ulimit -i 1024"));
    }
    Ok(())
}

/// The input of `rt_tgsigqueueinfo`: the kernel's `siginfo_t` for a queued signal on 64-bit Linux.
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
    /// `Done` if this is the notice of the next message; a signal from another sender is dropped.
    #[inline]
    fn accept(&mut self, info: Option<libc::siginfo_t>) -> Step {
        let Some(info) = info else { return Step::WouldBlock };
        // SAFETY: a signal of any code has these bytes; they are used only if the code matches.
        let (pid, value) = unsafe { (info.si_pid(), info.si_value().sival_ptr as usize as u32) };
        let next = self.received.wrapping_add(1);
        if info.si_code != libc::SI_QUEUE || pid != self.peer.pid || value != next {
            return Step::WouldBlock;
        }
        self.received = next;
        Step::Done
    }
}

impl Notifier for Signals {
    #[inline]
    fn send(&mut self, _: &Producer) -> Result<Step, Error> {
        let next = self.sent.wrapping_add(1);
        let (signo, code, pid) = (number(), libc::SI_QUEUE, self.own_pid);
        let value = u64::from(next);
        let info = Queued { signo, errno: 0, code, gap: 0, pid, uid: 0, value, rest: [0; 12] };
        let PeerId { pid, tid, .. } = self.peer;
        // SAFETY: the call reads `info`. It targets one thread, because only that one has the signal blocked.
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

/// The step or error of a failed send: a full queue means try again.
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
    // All ends on one thread would share one signal number.
    definition.capabilities.one_end = true;
    definition
};

/// The entry of `signal` in the list of transports.
pub const TRANSPORT: Signal = Signal;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Regression: the signal was sent to any thread that the other end named.
    #[test]
    fn only_a_thread_that_waits_for_the_signal_is_sent_it() {
        let own = PeerId::own();
        assert!(check_thread(&own, number()).is_err(), "it would be killed");
        let blocked = Blocked::new().unwrap();
        check_thread(&own, number()).unwrap();
        for (pid, tid) in [(1, 1), (own.pid, 1), (0, 0), (-1, -1), (i32::MAX, i32::MAX)] {
            assert!(check_thread(&PeerId { pid, tid, ..own }, number()).is_err(), "{pid} {tid}");
        }
        drop(blocked);
    }

    #[test]
    fn blocked_signals_are_read_from_the_mask_of_a_thread() {
        let status = "Name:\tx\nSigPnd:\tffffffffffffffff\nSigBlk:\t0001000000000000\n";
        assert!(blocks(status, 49) && !blocks(status, 48) && !blocks("", 49));
    }
}
