//! The wake-ups of a thread: from the moment at which the kernel makes it ready until it runs.
//!
//! The kernel records both (perf_event_open(2)): the tracepoint `sched:sched_waking` on every processor, filtered in the
//! kernel to this thread, and the context switches of the thread. A record holds only a time. The watching process sleeps
//! meanwhile and reads the records afterwards.
//!
//! The events are on as long as the thread is watched. Meanwhile each wake-up on the machine passes the tracepoint (0.5 µs
//! on a virtual machine with Linux 6.18) and then the filter of each thread that is watched (2 ns).
//!
//! Events that belong to the thread alone do not suffice: on Linux 6.18 the kernel counts who wakes it, but records only
//! whom it wakes.

mod moments;

use std::{
    ffi::{CStr, CString},
    fs, io,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::MetadataExt,
    },
};

use ipcmark_transport::Error;
use nix::unistd::Pid;
use perf_event::{
    Builder, Clock, Counter, SampleFlag, Sampler,
    events::{Software, Tracepoint},
};

use crate::{clock, conditions::tree_of, files::Files, process::Stat, topology, tracepoint};
use moments::{Moment, Record, durations};

/// The least room for the records of one event. With the page before it, it is as much as the kernel lets an ordinary
/// user lock.
const LEAST_RING_BYTES: usize = 512 << 10;

/// The most room for the records of one event: that of 262,144 messages.
const MOST_RING_BYTES: usize = 8 << 20;

/// A record: its head and a time.
const RECORD_BYTES: usize = HEADER_BYTES + 8;

/// Less room than this left means that records may be missing.
const SPARE_BYTES: usize = 4 << 10;

/// The most processors that are all watched. Of a larger machine only those that its caller names.
const MOST_PROCESSORS: usize = 8;

/// The inode of the first PID namespace, in which the kernel itself numbers threads (`PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Watches one thread.
pub struct WakeUps {
    /// Who wakes it, from each processor; then when it runs.
    rings: Vec<Ring>,
    /// The moment from which on its wake-ups count.
    since_ns: u64,
}

/// An event with its records.
struct Ring {
    sampler: Sampler,
    bytes: usize,
}

impl WakeUps {
    /// Watches a thread from now on, with room for about so many wake-ups at a time. A waker on a processor that is not
    /// watched is not seen: on a machine of more than eight these are the ones `named`.
    ///
    /// # Errors
    /// The system allows no tracing of it, or the thread is gone.
    pub fn of(thread: i32, named: &[u32], at_a_time: u64) -> Result<Self, Error> {
        check_namespace()?;
        let tracepoint = waking()?;
        let at_a_time = usize::try_from(at_a_time).unwrap_or(usize::MAX);
        let wakers = processors(named)?.into_iter().map(|processor| {
            Ring::of(room(at_a_time), || wakers_on(processor, tracepoint, thread))
        });
        // It begins to run once, and stops once.
        let switches = Ring::of(room(at_a_time.saturating_mul(2)), || switches(thread));
        let rings = wakers.chain([switches]).collect::<io::Result<_>>();
        let rings = rings.map_err(|error| refused(&error))?;
        Ok(Self { rings, since_ns: clock::now_ns() })
    }

    /// Counts wake-ups from now on: those before do not matter.
    pub fn start(&mut self) {
        for ring in &mut self.rings {
            ring.discard();
        }
        self.since_ns = clock::now_ns();
    }

    /// What each wake-up since [`Self::start`] took, in nanoseconds.
    ///
    /// # Errors
    /// Records were lost: then wake-ups are missing.
    pub fn stop(&mut self) -> Result<Vec<u64>, Error> {
        let (mut moments, mut is_whole) = (Vec::new(), true);
        for ring in &mut self.rings {
            is_whole &= ring.read(&mut moments);
        }
        moments.retain(|(at_ns, _)| *at_ns >= self.since_ns);
        match is_whole {
            true => Ok(durations(moments)),
            false => Err(Error::new("trace", "wake-ups", "the kernel had no room for all records")
                .remedy("measure for a shorter time, or at a lower rate")),
        }
    }
}

/// Tries out the event that needs the most rights, on the calling thread. Context switches are not tried: the kernel then
/// looks for watchers at each switch on the machine, for a second after the last event is closed, and the first one takes
/// 10 ms to open.
///
/// # Errors
/// As [`WakeUps::of`].
pub fn check() -> Result<(), Error> {
    check_namespace()?;
    let thread = nix::unistd::gettid().as_raw();
    let wakers = wakers_on(processors(&[0])?[0], waking()?, thread);
    wakers.map(drop).map_err(|error| refused(&error))
}

/// The tracepoint that notes who wakes a thread.
fn waking() -> Result<Tracepoint, Error> {
    Ok(Tracepoint::with_id(tracepoint::id("sched/sched_waking")?))
}

/// Room for so many records and as many again, which the kernel wants to be a power of two.
fn room(records: usize) -> usize {
    let bytes = records.saturating_mul(2 * RECORD_BYTES).min(MOST_RING_BYTES);
    bytes.next_power_of_two().max(LEAST_RING_BYTES)
}

impl Ring {
    /// Opens an event with so much room, or with the least where the kernel does not let this user lock more.
    fn of(bytes: usize, event: impl Fn() -> io::Result<Counter>) -> io::Result<Self> {
        let with = |bytes| Ok(Self { sampler: event()?.sampled(bytes)?, bytes });
        with(bytes).or_else(|error| match bytes {
            LEAST_RING_BYTES => Err(error),
            _ => with(LEAST_RING_BYTES),
        })
    }

    fn discard(&mut self) {
        while self.sampler.next_record().is_some() {}
    }

    /// Takes the records; false where some are missing.
    fn read(&mut self, moments: &mut Vec<(u64, Moment)>) -> bool {
        let (mut bytes, mut is_whole) = (0, true);
        while let Some(record) = self.sampler.next_record() {
            bytes += record.len() + HEADER_BYTES;
            match Record::parse(record.ty(), record.misc(), &record.to_contiguous()) {
                Record::Moment(at_ns, moment) => moments.push((at_ns, moment)),
                Record::Loss => is_whole = false,
                Record::Other => {}
            }
        }
        // The kernel reports a loss only with the next record that has room.
        is_whole && bytes <= self.bytes - SPARE_BYTES
    }
}

/// The processors on which wakers are seen.
fn processors(named: &[u32]) -> Result<Vec<u32>, Error> {
    let online = Files::of_system().text("sys/devices/system/cpu/online").unwrap_or_default();
    let online: Vec<u32> = topology::numbers(&online).into_iter().collect();
    match (online.len(), named) {
        (1..=MOST_PROCESSORS, _) => Ok(online),
        (_, []) => Err(Error::new("trace", "wake-ups", "there are too many processors to watch")
            .remedy("pin the ends, as ipcmark does without --no-pin")),
        _ => Ok(named.to_vec()),
    }
}

/// The tracepoint knows threads by the kernel's own numbers, which another PID namespace does not see.
fn check_namespace() -> Result<(), Error> {
    let own = fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino());
    match own {
        FIRST_NAMESPACE => Ok(()),
        _ => Err(Error::new("trace", "wake-ups", "this process is in a PID namespace of its own")
            .remedy("run on the host, or in a container with --pid host")),
    }
}

/// Who wakes the thread from this processor.
fn wakers_on(processor: u32, tracepoint: Tracepoint, thread: i32) -> io::Result<Counter> {
    let mut builder = Builder::new(tracepoint);
    builder.any_pid().one_cpu(processor as usize).include_kernel().sample_period(1);
    let counter = timed(&mut builder).build()?;
    keep_only(counter.as_raw_fd(), &CString::new(format!("pid == {thread}"))?)?;
    Ok(counter)
}

/// When the thread begins to run, and when it stops.
fn switches(thread: i32) -> io::Result<Counter> {
    let mut builder = Builder::new(Software::DUMMY);
    builder.observe_pid(thread).any_cpu().context_switch(true).sample_id_all(true);
    timed(&mut builder).build()
}

/// Records of the time, which wake nobody.
fn timed<'b, 'a>(builder: &'b mut Builder<'a>) -> &'b mut Builder<'a> {
    let never = 2 * MOST_RING_BYTES;
    builder.sample(SampleFlag::TIME).clockid(Clock::MONOTONIC).wakeup_watermark(never).enabled(true)
}

/// Has the kernel drop what this does not hold for.
fn keep_only(event: RawFd, filter: &CStr) -> io::Result<()> {
    const SET_FILTER: libc::Ioctl = libc::_IOW::<*const libc::c_char>(b'$' as u32, 6);
    // SAFETY: the kernel reads a text that ends with 0.
    let done = unsafe { libc::ioctl(event, SET_FILTER, filter.as_ptr()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What stands before each record.
const HEADER_BYTES: usize = 8;

fn refused(error: &io::Error) -> Error {
    Error::new("trace", "wake-ups", error.to_string())
        .remedy("run as root, or with CAP_PERFMON, where seccomp allows perf_event_open")
}

/// The oldest thread of this name among a process and its descendants: threads that it starts have its name too.
pub fn oldest_thread(root: i32, name: &str) -> Option<i32> {
    let is_theirs = |tid: &Pid| Stat::of(*tid).is_some_and(|stat| stat.name == name);
    let threads = tree_of(root).into_iter().flat_map(threads).filter(is_theirs);
    let age = |tid: &Pid| (Stat::of(*tid).map_or(u64::MAX, |stat| stat.start), *tid);
    threads.min_by_key(age).map(Pid::as_raw)
}

fn threads(process: i32) -> Vec<Pid> {
    let names = Files::of_system().names(&format!("proc/{process}/task"));
    names.iter().filter_map(|name| name.parse().ok().map(Pid::from_raw)).collect()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write, pipe},
        sync::mpsc,
        thread,
        time::Duration,
    };

    use super::*;

    /// How often the thread is woken.
    const TIMES: usize = 20;

    #[test]
    fn the_wake_up_of_a_thread_is_observed() {
        let (mut reader, mut writer) = pipe().unwrap();
        let (send, tid) = mpsc::channel();
        let sleeper = thread::Builder::new().name("wakeups-sleeper".into()).spawn(move || {
            send.send(nix::unistd::gettid().as_raw()).unwrap();
            let mut byte = [0];
            while reader.read(&mut byte).unwrap() == 1 {}
        });
        let sleeper = sleeper.unwrap();
        let tid = tid.recv().unwrap();
        assert_eq!(oldest_thread(Pid::this().as_raw(), "wakeups-sleeper"), Some(tid));
        match watched(tid, || wake(tid, &mut writer)) {
            // It may run a moment longer before it sleeps, and then is not woken.
            Ok(times) => {
                assert!(times.len() >= TIMES / 2 && times.len() <= 10 * TIMES, "{times:?}");
                assert!(times.iter().all(|ns| *ns > 0), "{times:?}");
            }
            Err(error) => eprintln!("not run: {error}"),
        }
        drop(writer);
        sleeper.join().unwrap();
    }

    fn watched(tid: i32, does: impl FnOnce()) -> Result<Vec<u64>, Error> {
        let mut wake_ups = WakeUps::of(tid, &[], TIMES as u64)?;
        wake_ups.start();
        does();
        wake_ups.stop()
    }

    fn wake(tid: i32, writer: &mut impl Write) {
        for _ in 0..TIMES {
            while Stat::of(Pid::from_raw(tid)).is_none_or(|stat| stat.state != 'S') {
                thread::sleep(Duration::from_millis(1));
            }
            writer.write_all(&[1]).unwrap();
        }
        while Stat::of(Pid::from_raw(tid)).is_none_or(|stat| stat.state != 'S') {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_ring_has_room_for_its_records_and_an_end() {
        assert_eq!(room(0), LEAST_RING_BYTES);
        assert_eq!(room(LEAST_RING_BYTES / RECORD_BYTES / 2), LEAST_RING_BYTES);
        assert_eq!(room(20_000), 1 << 20);
        assert_eq!(room(usize::MAX), MOST_RING_BYTES);
    }

    #[test]
    fn a_nonexistent_thread_cannot_be_watched() {
        assert!(WakeUps::of(i32::MAX, &[0], 1).is_err());
        assert_eq!(oldest_thread(Pid::this().as_raw(), "nobody-has-this"), None);
    }
}
