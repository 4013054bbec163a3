//! Sharing of a core: how often another hardware thread of the core works. Under a hypervisor that thread can belong to
//! another virtual machine, and the topology does not show it.
//!
//! The threads of a core divide its units between them. Operations that wait for each other need few units and take as
//! long as before; independent operations take up to twice as long. The ratio of the two times shows that another thread
//! works, and does not depend on the clock frequency.

use std::{arch::asm, time::Duration};

use ipcmark_transport::Error;

use crate::{clock::now_ns, pin};

/// Steps of a burst: about 1 µs for each of its two parts.
const STEPS: u64 = 2_000;

/// The time from one burst to the next.
const PERIOD_NS: u64 = 50_000;

/// The part of the bursts that are faster than the reference: an interruption makes a ratio smaller too.
const FASTEST: f64 = 0.02;

/// Ratios to the reference at which the core was shared. On an AMD EPYC 9 of 10 such bursts were between 1.6 and 2.2,
/// and fewer than 1 of 1,000 bursts between 1.3 and 1.5. A larger ratio is an interruption.
const SHARED: std::ops::Range<f64> = 1.4..3.0;

/// How often the core of a processor was shared.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreSharing {
    /// The number of the processor.
    pub cpu: u32,
    /// The number of bursts.
    pub bursts: usize,
    /// The share of the bursts in which another thread of the core worked. It is 0 if one worked all the time, too:
    /// then there is nothing to compare with.
    pub share: f64,
    /// How many times as long independent operations take in such a burst, as a median; `None` without such a burst.
    pub slowdown: Option<f64>,
}

impl CoreSharing {
    /// What the [`bursts`] of a processor say.
    pub fn of(cpu: u32, bursts: &[f64]) -> Self {
        let mut ratios = bursts.to_vec();
        ratios.sort_unstable_by(f64::total_cmp);
        let reference = ratios.get((ratios.len() as f64 * FASTEST) as usize).copied();
        let shared = |ratio: &f64| reference.map(|least| ratio / least).filter(is_shared);
        let shared: Vec<f64> = ratios.iter().filter_map(shared).collect();
        Self {
            cpu,
            bursts: bursts.len(),
            share: shared.len() as f64 / bursts.len().max(1) as f64,
            slowdown: shared.get(shared.len() / 2).copied(),
        }
    }
}

fn is_shared(ratio: &f64) -> bool {
    SHARED.contains(ratio)
}

/// The last bursts that a watch compares with: many more than an interruption makes faster.
const COMPARED: usize = 64;

/// The bursts before the first answer of a watch.
const FIRST: usize = 16;

/// Watches the core of the thread that calls it, one burst at a time.
#[derive(Clone, Debug)]
pub struct CoreWatch {
    /// The ratios of the last bursts, the oldest of which is replaced next.
    ratios: Vec<f64>,
    next: usize,
}

impl CoreWatch {
    /// Takes about 50 µs.
    pub fn start() -> Self {
        Self { ratios: (0..FIRST).map(|_| ratio()).collect(), next: 0 }
    }

    /// True if another thread works on the core now, and did not in most of the last bursts. Takes about 3 µs.
    pub fn is_shared(&mut self) -> bool {
        self.add(ratio())
    }

    fn add(&mut self, ratio: f64) -> bool {
        match self.ratios.len() {
            COMPARED => {
                self.ratios[self.next] = ratio;
                self.next = (self.next + 1) % COMPARED;
            }
            _ => self.ratios.push(ratio),
        }
        is_shared(&(ratio / self.reference()))
    }

    /// The ratio of a core that is not shared, as far as the last bursts tell.
    fn reference(&self) -> f64 {
        let mut ratios = self.ratios.clone();
        let at = ratios.len() / FIRST;
        *ratios.select_nth_unstable_by(at, f64::total_cmp).1
    }
}

/// The time of independent operations divided by that of dependent ones, on one processor, once in 50 µs. Nothing else
/// of this process may run on the core meanwhile.
///
/// # Errors
/// A thread cannot be started, or cannot be pinned to its processor.
pub fn bursts(cpu: u32, duration: Duration) -> Result<Vec<f64>, Error> {
    pin::work_on(cpu, "shared core", move || watch(duration.as_nanos() as u64))
}

fn watch(duration_ns: u64) -> Vec<f64> {
    let start = now_ns();
    let burst = |at| {
        while now_ns() < start + at * PERIOD_NS {}
        ratio()
    };
    (0..duration_ns.div_ceil(PERIOD_NS)).map(burst).collect()
}

fn ratio() -> f64 {
    let start = now_ns();
    independent();
    let middle = now_ns();
    dependent();
    let end = now_ns();
    (middle - start) as f64 / (end - middle).max(1) as f64
}

/// Six additions a step, none of which waits for another.
#[cfg(target_arch = "x86_64")]
fn independent() {
    // SAFETY: it changes only the registers that it names, and the flags.
    unsafe {
        asm!(
            "2:", "add {a}, 1", "add {b}, 1", "add {c}, 1", "add {d}, 1", "add {e}, 1", "add {f}, 1",
            "sub {steps}, 1", "jnz 2b",
            a = inout(reg) 0_u64 => _, b = inout(reg) 0_u64 => _, c = inout(reg) 0_u64 => _,
            d = inout(reg) 0_u64 => _, e = inout(reg) 0_u64 => _, f = inout(reg) 0_u64 => _,
            steps = inout(reg) STEPS => _, options(nomem, nostack),
        );
    }
}

/// One multiplication a step, which waits for the one before.
#[cfg(target_arch = "x86_64")]
fn dependent() {
    // SAFETY: it changes only the registers that it names, and the flags.
    unsafe {
        asm!(
            "2:", "imul {a}, {a}", "sub {steps}, 1", "jnz 2b",
            a = inout(reg) 3_u64 => _, steps = inout(reg) STEPS => _, options(nomem, nostack),
        );
    }
}

/// Six additions a step, none of which waits for another.
#[cfg(target_arch = "aarch64")]
fn independent() {
    // SAFETY: it changes only the registers that it names, and the flags.
    unsafe {
        asm!(
            "2:", "add {a}, {a}, 1", "add {b}, {b}, 1", "add {c}, {c}, 1", "add {d}, {d}, 1", "add {e}, {e}, 1",
            "add {f}, {f}, 1", "subs {steps}, {steps}, 1", "b.ne 2b",
            a = inout(reg) 0_u64 => _, b = inout(reg) 0_u64 => _, c = inout(reg) 0_u64 => _,
            d = inout(reg) 0_u64 => _, e = inout(reg) 0_u64 => _, f = inout(reg) 0_u64 => _,
            steps = inout(reg) STEPS => _, options(nomem, nostack),
        );
    }
}

/// One multiplication a step, which waits for the one before.
#[cfg(target_arch = "aarch64")]
fn dependent() {
    // SAFETY: it changes only the registers that it names, and the flags.
    unsafe {
        asm!(
            "2:", "mul {a}, {a}, {a}", "subs {steps}, {steps}, 1", "b.ne 2b",
            a = inout(reg) 3_u64 => _, steps = inout(reg) STEPS => _, options(nomem, nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology;

    /// Ratios, each so many times.
    fn sharing(ratios: &[(f64, usize)]) -> CoreSharing {
        let bursts: Vec<f64> =
            ratios.iter().flat_map(|(ratio, count)| vec![*ratio; *count]).collect();
        CoreSharing::of(3, &bursts)
    }

    #[test]
    fn slow_independent_operations_show_that_the_core_is_shared() {
        let shared = sharing(&[(0.7, 850), (1.26, 60), (1.33, 40), (0.8, 50)]);
        assert_eq!((shared.cpu, shared.bursts), (3, 1_000));
        assert!((shared.share - 0.1).abs() < 1e-9, "{shared:?}");
        assert!((shared.slowdown.unwrap() - 1.8).abs() < 1e-9, "{shared:?}");
    }

    #[test]
    fn interruptions_of_either_part_are_no_sharing() {
        let alone = sharing(&[(0.7, 950), (0.1, 10), (5.0, 40)]);
        assert_eq!((alone.share, alone.slowdown), (0.0, None));
    }

    #[test]
    fn no_burst_says_nothing() {
        assert_eq!(sharing(&[]), CoreSharing { cpu: 3, bursts: 0, share: 0.0, slowdown: None });
    }

    fn watch_of(ratios: &[f64]) -> CoreWatch {
        let mut watch = CoreWatch { ratios: vec![0.7; FIRST], next: 0 };
        for ratio in ratios {
            watch.add(*ratio);
        }
        watch
    }

    #[test]
    fn a_watch_compares_with_its_last_bursts() {
        let mut watch = watch_of(&[0.7, 0.72, 0.1, 0.7]);
        assert!(watch.add(1.3) && !watch.add(0.75) && !watch.add(4.0));
        // Longer than the bursts that it compares with: nothing is left to compare with.
        let mut always = watch_of(&[1.3; COMPARED]);
        assert!(!always.add(1.3));
        assert_eq!(always.ratios.len(), COMPARED);
        // It ends, and the fastest bursts tell what is usual.
        let mut ended = watch_of(&[[1.3; COMPARED], [0.7; COMPARED]].concat());
        assert!(ended.add(1.3) && !ended.add(0.7));
    }

    #[test]
    fn a_watch_takes_bursts_of_its_thread() {
        let mut watch = CoreWatch::start();
        for _ in 0..2 * COMPARED {
            watch.is_shared();
        }
        assert!(watch.ratios.len() == COMPARED && watch.ratios.iter().all(|ratio| *ratio > 0.0));
    }

    #[test]
    fn the_time_is_divided_into_bursts() {
        let cpu = topology::usable().unwrap()[0].id;
        let bursts = bursts(cpu, Duration::from_millis(5)).unwrap();
        assert_eq!(bursts.len(), 100);
        assert!(bursts.iter().all(|ratio| *ratio > 0.0), "{bursts:?}");
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error() {
        let error = bursts(1_023, Duration::from_millis(1)).unwrap_err().to_string();
        assert!(error.contains("cpu 1023"), "{error}");
    }
}
