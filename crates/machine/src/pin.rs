//! One thread pinned to one processor.

use std::{
    fs,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use ipcmark_transport::Error;

use crate::{
    files::Files,
    topology::{numbers, usable},
};

/// The threads of this process that were pinned.
static PINNED: Mutex<Vec<i32>> = Mutex::new(Vec::new());

fn pinned() -> MutexGuard<'static, Vec<i32>> {
    PINNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The processor to which a worker is pinned, and the ones that it could use before.
pub struct Pin {
    usable: Vec<u32>,
}

impl Pin {
    /// Pins the calling thread, and with it the threads that it will start, to one processor.
    ///
    /// # Errors
    /// The kernel refuses: the processor is offline or outside this process's cpuset.
    pub fn to(cpu: u32) -> Result<Self, Error> {
        let usable = usable()?.iter().map(|cpu| cpu.id).collect();
        if set_affinity(0, &[cpu]) {
            // SAFETY: asks for the caller's own number only.
            pinned().push(unsafe { libc::gettid() });
            Ok(Self { usable })
        } else {
            Err(Error::last_os("pin a process to", format!("cpu {cpu}")))
        }
    }

    /// Lets every thread except the pinned ones run on any processor again. A library's own threads inherit the pin,
    /// and a thread that shares its processor with a spinning end would wait for a time slice with every message.
    pub fn release_other_threads(&self) {
        let pinned = pinned();
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let threads = tasks.filter_map(|task| task.file_name().to_str()?.parse::<i32>().ok());
        for thread in threads.filter(|thread| !pinned.contains(thread)) {
            // A thread that has just ended can be ignored.
            set_affinity(thread, &self.usable);
        }
    }
}

/// Does this work in a thread of its own that is pinned to one processor, and waits for it.
///
/// # Errors
/// The thread cannot be started or pinned.
pub(crate) fn work_on<T: Send + 'static>(
    cpu: u32,
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let at_work = move || {
        let done = Pin::to(cpu).map(|_| work());
        // SAFETY: asks for the caller's own number only.
        let this = unsafe { libc::gettid() };
        pinned().retain(|thread| *thread != this);
        done
    };
    let thread = thread::Builder::new().name(name.into()).spawn(at_work);
    let thread = thread.map_err(|e| Error::scarce("start", "a thread", e))?;
    let panicked = |_| Err(Error::new("time", "a processor", "the thread panicked"));
    thread.join().unwrap_or_else(panicked)
}

/// Lets the calling thread run on every processor of its cpuset again, whatever restricted it. Returns the processors
/// before and after, if they differ. For a process with one thread.
///
/// # Errors
/// The system does not report the processors.
pub fn widen() -> Result<Option<[Vec<u32>; 2]>, Error> {
    let ids = || Ok::<_, Error>(usable()?.iter().map(|cpu| cpu.id).collect::<Vec<_>>());
    let before = ids()?;
    let online = Files::of_system().text("sys/devices/system/cpu/online").unwrap_or_default();
    // The kernel ignores processors outside the cpuset.
    set_affinity(0, &numbers(&online).into_iter().collect::<Vec<_>>());
    let after = ids()?;
    Ok((before != after).then_some([before, after]))
}

fn set_affinity(thread: i32, cpus: &[u32]) -> bool {
    // SAFETY: a zeroed cpu_set_t is an empty set; the numbers were taken from the system's own list.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu as usize, &mut set));
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn allowed(thread: i32) -> Vec<u32> {
        // SAFETY: the set is written by the call, and `cpu` is below its size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &mut set), 0);
            let is_set = |cpu: &u32| libc::CPU_ISSET(*cpu as usize, &set);
            (0..libc::CPU_SETSIZE as u32).filter(is_set).collect()
        }
    }

    /// Regression: threads that a library starts after open inherited the measuring thread's processor.
    #[test]
    fn threads_that_start_later_may_run_anywhere_again() {
        let measuring = || {
            let everywhere = allowed(0);
            let pin = Pin::to(everywhere[0]).unwrap();
            let ((told, number), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
            let later = thread::spawn(move || {
                // SAFETY: asks for the caller's own number only.
                told.send(unsafe { libc::gettid() }).unwrap();
                let _ = ended.recv();
            });
            let number = number.recv().unwrap();
            assert_eq!(allowed(number), [everywhere[0]], "it inherits the pin");
            pin.release_other_threads();
            assert_eq!((allowed(number), allowed(0)), (everywhere.clone(), vec![everywhere[0]]));
            drop(end);
            later.join().unwrap();
        };
        thread::spawn(measuring).join().unwrap();
    }
}
