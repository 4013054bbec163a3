//! Instructions and cycles of this process, counted by the processor (perf_event_open(2)).

use std::{
    fs, io,
    sync::{Mutex, OnceLock, PoisonError},
};

use ipcmark_transport::Error;
use perf_event::{
    Builder, Counter,
    events::{Event, Hardware},
};

/// The counters of this process, once it counts.
static COUNTERS: OnceLock<Mutex<Counters>> = OnceLock::new();

/// Instructions and cycles of all threads of this process, since it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Instructions that were retired.
    pub instructions: u64,
    /// Cycles of the processors that ran them.
    pub cycles: u64,
    /// True if those within the kernel are among them; false where the system allows only the process's own.
    pub with_kernel: bool,
}

/// Counts instructions and cycles of this process from now on. It must have one thread. Threads that it starts are
/// counted too; processes are not.
///
/// # Errors
/// The machine has no such counters, or the system allows nobody to read them.
pub fn count_from_now() -> Result<(), Error> {
    // Counters that are open already count this too.
    let _ = COUNTERS.set(Mutex::new(hardware()?));
    Ok(())
}

/// The instructions and cycles of this process since it began to count. None if it does not count, or if another user
/// had a counter for part of the time: the missing part is not estimated.
pub fn counted() -> Option<Counted> {
    COUNTERS.get()?.lock().unwrap_or_else(PoisonError::into_inner).read()
}

/// Tries the counters out, and counts nothing.
///
/// # Errors
/// As [`count_from_now`].
pub fn check() -> Result<(), Error> {
    hardware().map(drop)
}

fn hardware() -> Result<Counters, Error> {
    let counters = Counters::open([Hardware::INSTRUCTIONS, Hardware::CPU_CYCLES]);
    counters.map_err(|error| explained(error, paranoia()))
}

/// Two counters of the process and its threads.
struct Counters {
    counters: [Counter; 2],
    with_kernel: bool,
}

impl Counters {
    /// Counts these events from now on: within the kernel too, where the system allows that.
    fn open<E: Event + Copy>(events: [E; 2]) -> io::Result<Self> {
        match Self::started(events, true) {
            Err(error) if is_refusal(&error) => Self::started(events, false),
            started => started,
        }
    }

    fn started<E: Event + Copy>(events: [E; 2], with_kernel: bool) -> io::Result<Self> {
        let start = |event| {
            let mut builder = Builder::new(event);
            builder.inherit(true).inherit_thread(true);
            builder.exclude_kernel(!with_kernel).enabled(true).build()
        };
        let [first, second] = events;
        Ok(Self { counters: [start(first)?, start(second)?], with_kernel })
    }

    fn read(&mut self) -> Option<Counted> {
        let [first, second] = &mut self.counters;
        let (instructions, cycles) = (whole(first)?, whole(second)?);
        Some(Counted { instructions, cycles, with_kernel: self.with_kernel })
    }
}

/// The count of an event that was counted all the time.
fn whole(counter: &mut Counter) -> Option<u64> {
    let read = counter.read_count_and_time().ok()?;
    unless_interrupted(read.count, read.time_enabled, read.time_running)
}

/// A count, unless the event has shared its counter with others, which had it for the rest of the time.
fn unless_interrupted(count: u64, enabled_ns: u64, running_ns: u64) -> Option<u64> {
    (running_ns == enabled_ns).then_some(count)
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// The kernel's setting of who may count what; none where it counts nothing.
fn paranoia() -> Option<i32> {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

fn explained(error: io::Error, paranoia: Option<i32>) -> Error {
    let remedy = match (error.raw_os_error(), paranoia) {
        (Some(libc::ENOSYS), _) | (_, None) => "use a kernel with CONFIG_PERF_EVENTS",
        (Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV), _) => {
            "a virtual machine has the processor's counters where its host passes them on, as QEMU does with \
             -cpu host,pmu=on"
        }
        (Some(libc::EACCES | libc::EPERM), Some(3..)) => {
            "set kernel.perf_event_paranoid to 2 or less, or run with CAP_PERFMON"
        }
        (Some(libc::EACCES | libc::EPERM), Some(_)) => {
            "allow perf_event_open: of a container by its seccomp profile, or with --cap-add PERFMON"
        }
        _ => return Error::new("count", "instructions and cycles", error.to_string()),
    };
    Error::new("count", "instructions and cycles", error.to_string()).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use perf_event::events::Software;

    use super::*;

    /// CPU time, which every machine counts, in the place of what few virtual ones do.
    const CPU_TIME: [Software; 2] = [Software::TASK_CLOCK; 2];

    fn work() -> u64 {
        (0..2_000_000_u64).fold(0, |sum, one| std::hint::black_box(sum ^ one))
    }

    #[test]
    fn the_work_of_later_threads_is_counted() {
        let mut counters = match Counters::open(CPU_TIME) {
            Ok(counters) => counters,
            Err(error) => return eprintln!("not run: {}", explained(error, paranoia())),
        };
        let before = counters.read().unwrap();
        let used_ns = thread::spawn(|| {
            work();
            crate::clock::thread_cpu_ns()
        });
        let used_ns = used_ns.join().unwrap();
        let after = counters.read().unwrap();
        // A counter's clock and that of the thread are read at different moments, and its start is not in the latter.
        assert!(after.instructions - before.instructions > used_ns / 2, "{after:?} {used_ns}");
        assert!(after.cycles > before.cycles && after.with_kernel == before.with_kernel);
    }

    #[test]
    fn an_interrupted_counter_is_not_extrapolated() {
        assert_eq!(unless_interrupted(700, 1000, 1000), Some(700));
        assert_eq!(unless_interrupted(700, 1000, 999), None);
    }

    #[test]
    fn hardware_counters_work_or_the_reason_is_given() {
        match check() {
            Ok(()) => {
                let mut counters = hardware().unwrap();
                work();
                assert!(counters.read().is_none_or(|counted| counted.instructions > 0));
            }
            Err(error) => assert!(error.to_string().contains("instructions and cycles"), "{error}"),
        }
    }

    #[test]
    fn a_refusal_names_its_likely_remedy() {
        for (errno, paranoia, remedy) in [
            (libc::ENOENT, Some(2), "pmu=on"),
            (libc::EACCES, Some(4), "perf_event_paranoid"),
            (libc::EPERM, Some(1), "seccomp"),
            (libc::ENOSYS, None, "CONFIG_PERF_EVENTS"),
        ] {
            let error = explained(io::Error::from_raw_os_error(errno), paranoia);
            assert!(error.remedy_text().unwrap().contains(remedy), "{error}");
        }
        assert!(
            explained(io::Error::from_raw_os_error(libc::EMFILE), Some(2)).remedy_text().is_none()
        );
    }
}
