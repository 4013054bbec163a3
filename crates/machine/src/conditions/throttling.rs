//! Throttling: the kernel stops a control group that has used up its processor time for a period.

use crate::{cgroup::Groups, files::Files};

/// The counters of every control group of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottlingCounters(Throttling);

/// The number of stops of this process's control groups, and their duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which a group was stopped.
    pub periods: u64,
    /// The time for which it was stopped, summed over the groups and their processors.
    pub stopped_ns: u64,
}

impl ThrottlingCounters {
    /// The counters now; `None` if no group counts, because none is limited.
    pub fn now(files: &Files) -> Option<Self> {
        let texts = Groups::of(files, "cpu")?.texts(files, "cpu.stat");
        let groups: Vec<Throttling> = texts.iter().filter_map(|text| counters(text)).collect();
        let sum =
            |part: fn(&Throttling) -> u64| groups.iter().map(part).fold(0, u64::saturating_add);
        (!groups.is_empty()).then(|| {
            Self(Throttling {
                periods: sum(|group| group.periods),
                stopped_ns: sum(|group| group.stopped_ns),
            })
        })
    }

    /// The increase since `earlier`.
    pub fn since(&self, earlier: &Self) -> Throttling {
        Throttling {
            periods: self.0.periods.saturating_sub(earlier.0.periods),
            stopped_ns: self.0.stopped_ns.saturating_sub(earlier.0.stopped_ns),
        }
    }
}

/// Version 2 counts µs as `throttled_usec`, version 1 ns as `throttled_time`.
fn counters(text: &str) -> Option<Throttling> {
    let number = |key| crate::files::field(text, key)?.parse::<u64>().ok();
    let stopped_ns = number("throttled_usec")
        .map(|us| us.saturating_mul(1_000))
        .or_else(|| number("throttled_time"))?;
    Some(Throttling { periods: number("nr_throttled")?, stopped_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let two = "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 20\nnr_bursts 0\n";
        assert_eq!(counters(two), Some(Throttling { periods: 3, stopped_ns: 20_000 }));
        let one = "nr_periods 9\nnr_throttled 3\nthrottled_time 20\n";
        assert_eq!(counters(one), Some(Throttling { periods: 3, stopped_ns: 20 }));
        assert_eq!(counters("usage_usec 5\n"), None);
        assert_eq!(counters("nr_throttled x\nthrottled_usec 1\n"), None);
    }

    #[test]
    fn differences_never_fall_below_zero() {
        let counters = |periods| ThrottlingCounters(Throttling { periods, stopped_ns: periods });
        assert_eq!(counters(5).since(&counters(2)), Throttling { periods: 3, stopped_ns: 3 });
        assert_eq!(counters(2).since(&counters(5)), Throttling::default());
    }
}
