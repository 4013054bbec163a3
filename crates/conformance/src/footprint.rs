//! The resources of a process: descriptors, mappings, threads. Opening and closing must not add to them.

use std::{
    collections::BTreeMap,
    fs, thread,
    time::{Duration, Instant},
};

use crate::{allocation::live_bytes, failure::Failure};

/// The current resources of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// The target of each open descriptor.
    descriptors: BTreeMap<u32, String>,
    /// Mappings that are shared or have a name, counted by name.
    named: BTreeMap<String, usize>,
    /// All other mappings. The allocator makes and removes some at any time.
    anonymous: usize,
    threads: usize,
    /// Bytes that the program has allocated and not freed.
    heap: i64,
}

/// The suffix that the system adds to the name of a removed file.
const REMOVED: &str = "(deleted)";

/// Growth of the heap that is not a transport's leak: the names of a thread, a longer buffer.
const HEAP_FORGIVEN: i64 = 1024;

/// The time between two looks at the resources.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

impl Footprint {
    /// Reads this process's resources.
    pub fn take() -> Result<Self, Failure> {
        let (named, anonymous) = mappings()?;
        let threads = fs::read_dir("/proc/self/task")?.count();
        let descriptors = descriptors()?;
        // Read last, so that the allocations of this function are included.
        Ok(Self { descriptors, named, anonymous, threads, heap: live_bytes() })
    }

    /// Checks that opening and closing `rounds` times since then leaked nothing. For code that is not all `ours`,
    /// private memory does not count, because libraries keep what they may need again. What is still being released is
    /// waited for with `patience`.
    pub fn unchanged_after(
        &self,
        rounds: usize,
        ours: bool,
        patience: Duration,
    ) -> Result<(), Failure> {
        // Read first, before the allocations of this function add to it.
        let grown = live_bytes() - self.heap;
        let mut outcome = self.compare(&Self::take()?, rounds, ours);
        let begun = Instant::now();
        while outcome.is_err() && begun.elapsed() < patience {
            thread::sleep(BETWEEN_LOOKS);
            outcome = self.compare(&Self::take()?, rounds, ours);
        }
        match outcome {
            Err(left) => Err(left_after(rounds, left)),
            Ok(()) if grown > HEAP_FORGIVEN => {
                Err(left_after(rounds, format!("{grown} bytes allocated")))
            }
            Ok(()) => Ok(()),
        }
    }

    fn compare(&self, now: &Self, rounds: usize, ours: bool) -> Result<(), String> {
        if let Some((fd, target)) =
            now.descriptors.iter().find(|(fd, target)| self.descriptors.get(fd) != Some(target))
        {
            return Err(format!("the open descriptor {fd} to {target}"));
        }
        if let Some((name, count)) = now
            .named
            .iter()
            .filter(|(name, _)| ours || !name.ends_with(REMOVED))
            .find(|(name, count)| self.named.get(*name).unwrap_or(&0) < count)
        {
            return Err(format!("{count} mappings of {name}"));
        }
        if now.threads > self.threads {
            return Err(format!("{} threads instead of {}", now.threads, self.threads));
        }
        match now.anonymous.saturating_sub(self.anonymous) {
            more if ours && more >= rounds => Err(format!("{more} more mappings")),
            _ => Ok(()),
        }
    }
}

fn left_after(rounds: usize, left: String) -> Failure {
    Failure::expected("nothing to stay in the process", left)
        .during(format_args!("opening and closing {rounds} times"))
}

/// The target of each open descriptor of this process.
pub fn descriptors() -> Result<BTreeMap<u32, String>, Failure> {
    let entries = fs::read_dir("/proc/self/fd")?;
    let links = entries.flatten().filter_map(|entry| {
        let fd = entry.file_name().to_str()?.parse().ok()?;
        // The descriptor that reads the directory itself is closed by then, or its target is the directory.
        let target = fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
        (!target.ends_with("/fd")).then_some((fd, target))
    });
    Ok(links.collect())
}

fn mappings() -> Result<(BTreeMap<String, usize>, usize), Failure> {
    let (mut named, mut anonymous) = (BTreeMap::new(), 0);
    for line in fs::read_to_string("/proc/self/maps")?.lines() {
        let mut words = line.split_ascii_whitespace();
        let (access, name) = (words.nth(1).unwrap_or(""), words.nth(3).unwrap_or(""));
        if access.ends_with('s') || name.starts_with('/') {
            let removed = if line.ends_with(REMOVED) { REMOVED } else { "" };
            *named.entry(format!("{name}{removed}")).or_default() += 1;
        } else {
            anonymous += 1;
        }
    }
    Ok((named, anonymous))
}

/// True if the byte at `address` lies in memory that is shared with other processes.
pub fn is_shared(address: usize) -> Result<bool, Failure> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    Ok(maps
        .lines()
        .filter_map(range_and_sharing)
        .any(|(range, shared)| shared && range.contains(&address)))
}

fn range_and_sharing(line: &str) -> Option<(std::ops::Range<usize>, bool)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((number(start)?..number(end)?, rest.as_bytes().get(3) == Some(&b's')))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn an_open_file_and_an_additional_thread_are_detected() {
        let before = Footprint::take().unwrap();
        let file = File::open("/proc/self/status").unwrap();
        let after = Footprint { threads: before.threads, ..Footprint::take().unwrap() };
        assert!(before.compare(&after, 1, true).unwrap_err().contains("/status"));
        drop(file);
        let more = Footprint { threads: before.threads + 1, ..before.clone() };
        assert!(before.compare(&more, 1, true).unwrap_err().contains("threads"));
    }

    #[test]
    fn a_buffer_of_the_process_is_not_shared() {
        let buffer = [0_u8; 8];
        assert!(!is_shared(buffer.as_ptr().addr()).unwrap());
        let (range, shared) =
            range_and_sharing("7f00-7f10 rw-s 00000000 00:01 9 /dev/shm/x").unwrap();
        assert!(shared && range == (0x7f00..0x7f10));
    }
}
