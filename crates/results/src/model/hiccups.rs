//! Hiccups: the moments in which a processor did not run a thread that wanted it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The hiccups of one processor while a thread read the clock there without a pause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hiccups {
    /// The processor's number.
    pub cpu: u32,
    /// How long it was watched.
    pub watched_ns: u64,
    /// The gaps between two readings of the clock that lasted at least 1, 10 and 100 µs.
    pub gaps: Vec<Gaps>,
    /// The longest gap; 0 if none reached 1 µs.
    pub longest_ns: u64,
}

/// The gaps of one processor from a length on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gaps {
    /// The least length.
    pub least_ns: u64,
    /// The number of gaps of at least this length.
    pub count: u64,
    /// Their total length.
    pub total_ns: u64,
}

impl Hiccups {
    /// Adds those of the same processor at another time.
    fn add(&mut self, more: &Self) {
        self.watched_ns = self.watched_ns.saturating_add(more.watched_ns);
        self.longest_ns = self.longest_ns.max(more.longest_ns);
        for gaps in &more.gaps {
            match self.gaps.iter_mut().find(|known| known.least_ns == gaps.least_ns) {
                Some(known) => {
                    known.count = known.count.saturating_add(gaps.count);
                    known.total_ns = known.total_ns.saturating_add(gaps.total_ns);
                }
                None => self.gaps.push(*gaps),
            }
        }
    }

    /// The share of the time that all gaps took.
    pub fn share(&self) -> f64 {
        // Gaps count from every length that they reach, so those of the least length are all of them.
        let all_ns = self.gaps.iter().map(|gaps| gaps.total_ns).max().unwrap_or(0);
        all_ns as f64 / self.watched_ns.max(1) as f64
    }

    /// The gaps of at least this length per second.
    pub fn per_second(&self, least_ns: u64) -> f64 {
        let gaps = self.gaps.iter().find(|gaps| gaps.least_ns == least_ns);
        gaps.map_or(0, |gaps| gaps.count) as f64 / (self.watched_ns.max(1) as f64 / 1e9)
    }
}

/// The hiccups of each processor over all times at which it was watched.
pub(super) fn joined<'a>(all: impl Iterator<Item = &'a Hiccups>) -> Vec<Hiccups> {
    let mut joined: Vec<Hiccups> = Vec::new();
    for hiccups in all {
        match joined.iter_mut().find(|known| known.cpu == hiccups.cpu) {
            Some(known) => known.add(hiccups),
            None => joined.push(hiccups.clone()),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hiccups(cpu: u32, watched_ns: u64, longest_ns: u64) -> Hiccups {
        let gaps = vec![
            Gaps { least_ns: 1_000, count: 3, total_ns: watched_ns / 10 },
            Gaps { least_ns: 10_000, count: 1, total_ns: longest_ns },
        ];
        Hiccups { cpu, watched_ns, gaps, longest_ns }
    }

    #[test]
    fn those_of_one_processor_add_up() {
        let all =
            [hiccups(0, 1_000_000, 20_000), hiccups(1, 500_000, 0), hiccups(0, 3_000_000, 70_000)];
        let joined = joined(all.iter());
        assert_eq!(joined.iter().map(|of| of.cpu).collect::<Vec<_>>(), [0, 1]);
        assert_eq!((joined[0].watched_ns, joined[0].longest_ns), (4_000_000, 70_000));
        assert!((joined[0].share() - 0.1).abs() < 1e-9);
        assert!((joined[0].per_second(10_000) - 500.0).abs() < 1e-9);
        assert_eq!(joined[0].per_second(100_000), 0.0);
    }

    #[test]
    fn those_of_a_file_cannot_overflow() {
        let most = Gaps { least_ns: 1_000, count: u64::MAX, total_ns: u64::MAX };
        let all = [0, 1].map(|_| Hiccups {
            cpu: 0,
            watched_ns: u64::MAX,
            gaps: vec![most],
            longest_ns: 1,
        });
        assert_eq!(joined(all.iter()), all[..1]);
    }
}
