//! How often a processor went idle. The kernel counts it where it has a driver for idle states (cpuidle), which not every
//! virtual machine has.

use std::{fs::File, os::unix::fs::FileExt};

use crate::{files::Files, topology::usable};

/// The most idle states that are looked for. The kernel has room for ten.
const MOST_STATES: usize = 16;

/// Counts how often one processor has gone idle. Its files stay open: opening and closing files leaves work behind
/// that changes how the processor goes idle.
#[derive(Debug)]
pub struct IdleCount {
    /// Of each idle state, the file with the number of times that the processor entered it.
    states: Vec<File>,
}

impl IdleCount {
    /// That of the processor to which this thread is pinned; none if it is not, or if the kernel does not count.
    pub fn of_this_thread() -> Option<Self> {
        match &usable().ok()?[..] {
            [cpu] => Self::in_files(&Files::of_system(), cpu.id),
            _ => None,
        }
    }

    fn in_files(files: &Files, cpu: u32) -> Option<Self> {
        let path = |state| {
            files.path(&format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/usage"))
        };
        let states: Vec<File> =
            (0..MOST_STATES).map_while(|state| File::open(path(state)).ok()).collect();
        (!states.is_empty()).then_some(Self { states })
    }

    /// The number of times so far. A system call for each state.
    pub fn so_far(&self) -> u64 {
        self.states.iter().filter_map(number).fold(0, u64::saturating_add)
    }
}

/// The number in a file of the kernel, which makes its text anew for each reading from the start.
fn number(file: &File) -> Option<u64> {
    let mut text = [0; 24];
    let len = file.read_at(&mut text, 0).ok()?;
    str::from_utf8(&text[..len]).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::{fs, thread, time::Duration};

    use super::*;

    #[test]
    fn the_count_is_of_all_states() {
        let root = tempfile::tempdir().unwrap();
        let state =
            |number| root.path().join(format!("sys/devices/system/cpu/cpu3/cpuidle/state{number}"));
        for (number, usage) in [(0, "7\n"), (1, "35\n")] {
            fs::create_dir_all(state(number)).unwrap();
            fs::write(state(number).join("usage"), usage).unwrap();
        }
        let files = Files::below(root.path());
        let count = IdleCount::in_files(&files, 3).unwrap();
        assert_eq!(count.so_far(), 42);
        fs::write(state(1).join("usage"), "36\n").unwrap();
        assert_eq!(count.so_far(), 43, "the same files are read again");
        fs::write(state(0).join("usage"), "what?\n").unwrap();
        assert_eq!(count.so_far(), 36);
        assert!(IdleCount::in_files(&files, 2).is_none(), "the kernel does not count there");
    }

    /// A processor that other processes keep busy does not go idle, so the count may stay as it is.
    #[test]
    fn the_count_of_a_processor_never_falls() {
        let cpu = usable().unwrap()[0].id;
        let Some(count) = IdleCount::in_files(&Files::of_system(), cpu) else { return };
        let start = count.so_far();
        crate::pin::work_on(cpu, "idle", || thread::sleep(Duration::from_millis(1))).unwrap();
        assert!(count.so_far() >= start);
    }
}
