//! The use of each processor, from `/proc/stat`.

use std::collections::BTreeMap;

use crate::files::Files;

/// The counters of every processor, in ticks since the start of the system.
#[derive(Clone, Debug)]
pub struct Processors(BTreeMap<u32, Ticks>);

#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    busy: u64,
    idle: u64,
    stolen: u64,
}

/// The use of one processor between two moments. The kernel usually counts in ticks of 10 ms, so shares of less than a
/// second are coarse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorUse {
    /// Its number.
    pub cpu: u32,
    /// Time in which it ran anything, including interrupts.
    pub busy_ns: u64,
    /// Time in which it was idle.
    pub idle_ns: u64,
    /// Time in which it had work and the hypervisor ran something else.
    pub stolen_ns: u64,
}

impl Processors {
    /// The counters now.
    pub fn now(files: &Files) -> Option<Self> {
        let text = files.text("proc/stat")?;
        let processors: BTreeMap<u32, Ticks> = text.lines().filter_map(processor).collect();
        (!processors.is_empty()).then_some(Self(processors))
    }

    /// The use of each since `earlier`, without those that came or went in between.
    pub fn since(&self, earlier: &Self) -> Vec<ProcessorUse> {
        let pairs = self.0.iter().filter_map(|(cpu, now)| Some((*cpu, now, earlier.0.get(cpu)?)));
        pairs.map(|(cpu, now, then)| now.since(then, cpu)).collect()
    }

    /// The share of all time since the start of the system that was stolen.
    pub fn stolen_share(&self) -> f64 {
        let sum = |part: fn(&Ticks) -> u64| self.0.values().map(part).sum::<u64>() as f64;
        let all = sum(|ticks| ticks.busy + ticks.idle + ticks.stolen);
        if all > 0.0 { sum(|ticks| ticks.stolen) / all } else { 0.0 }
    }
}

impl Ticks {
    /// The kernel sometimes decreases idle times.
    fn since(&self, then: &Self, cpu: u32) -> ProcessorUse {
        let tick = tick_ns();
        ProcessorUse {
            cpu,
            busy_ns: self.busy.saturating_sub(then.busy).saturating_mul(tick),
            idle_ns: self.idle.saturating_sub(then.idle).saturating_mul(tick),
            stolen_ns: self.stolen.saturating_sub(then.stolen).saturating_mul(tick),
        }
    }
}

/// `cpu1 user nice system idle iowait irq softirq steal guest guest_nice`; guests are already counted as users.
fn processor(line: &str) -> Option<(u32, Ticks)> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    let cpu = words.next()?.parse().ok()?;
    let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    // Overflows only if the file is not the kernel's.
    let sum = |parts: &[usize]| {
        parts
            .iter()
            .filter_map(|at| ticks.get(*at))
            .fold(0, |sum: u64, part| sum.saturating_add(*part))
    };
    (ticks.len() >= 4).then(|| {
        (cpu, Ticks { busy: sum(&[0, 1, 2, 5, 6]), idle: sum(&[3, 4]), stolen: sum(&[7]) })
    })
}

/// The length of a tick of `/proc`.
pub(super) fn tick_ns() -> u64 {
    // SAFETY: asks for a number only.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / u64::try_from(ticks).unwrap_or(100).max(1)
}

#[cfg(test)]
mod tests {
    use std::{fs, thread, time::Duration};

    use super::*;

    fn processors(text: &str) -> Option<Processors> {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("proc")).unwrap();
        fs::write(directory.path().join("proc/stat"), text).unwrap();
        Processors::now(&Files::below(directory.path()))
    }

    #[test]
    fn differences_are_computed_per_processor() {
        let then =
            processors("cpu  9 9 9 9\ncpu0 1 2 3 40 50 6 7 8 1 0\ncpu7 0 0 0 9\nintr 5\n").unwrap();
        let now = processors("cpu  9 9 9 9\ncpu0 2 3 4 41 49 7 8 18 2 0\ncpu9 1 1 1 1\n").unwrap();
        let tick = tick_ns();
        let expected = ProcessorUse { cpu: 0, busy_ns: 5 * tick, idle_ns: 0, stolen_ns: 10 * tick };
        assert_eq!(now.since(&then), [expected]);
        assert!((then.stolen_share() - 8.0 / 126.0).abs() < 1e-9);
    }

    #[test]
    fn odd_files_have_no_processors() {
        for text in ["", "cpu 1 2 3 4", "cpu0", "cpu0 1 x", "cpux 1 2 3 4 5 6 7 8"] {
            assert!(processors(text).is_none(), "{text}");
        }
        let huge = processors(&format!("cpu0 {0} {0} {0} {0} {0} {0} {0} {0}", u64::MAX)).unwrap();
        assert_eq!(huge.since(&huge)[0].stolen_ns, 0);
        let zero = processors("cpu0 0 0 0 0 0 0 0 0").unwrap();
        assert_eq!(huge.since(&zero)[0].busy_ns, u64::MAX);
    }

    #[test]
    fn the_processors_of_this_machine_count() {
        let files = Files::of_system();
        let earlier = Processors::now(&files).unwrap();
        loop {
            let used = Processors::now(&files).unwrap().since(&earlier);
            if used.iter().any(|used| used.busy_ns + used.idle_ns + used.stolen_ns > 0) {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
