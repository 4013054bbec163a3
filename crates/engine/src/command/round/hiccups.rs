//! The hiccups of the ends' processors before the first turn of a slot. All ends are open and sleep then, so that what is
//! seen is the machine's doing. Before they open, the kernel still removes the namespaces of earlier sessions, for
//! milliseconds.

use std::time::Duration;

use ipcmark_machine::hiccups::{self, THRESHOLDS_NS};
use ipcmark_results::{Gaps, Hiccups};

use crate::wire::Length;

/// The part of a row's time for which its processors are watched beforehand.
const PART: u32 = 50;

const LEAST: Duration = Duration::from_millis(1);
const MOST: Duration = Duration::from_millis(50);

/// The hiccups of these processors now; none if they cannot be watched.
pub(super) fn watch(cpus: &[u32], length: Length) -> Vec<Hiccups> {
    let time = match length {
        Length::Time(time) => (time / PART).clamp(LEAST, MOST),
        Length::RoundTrips(_) => LEAST,
    };
    let seen = hiccups::watch(cpus, time).unwrap_or_default();
    seen.iter().map(record).collect()
}

fn record(seen: &hiccups::Hiccups) -> Hiccups {
    let gaps = THRESHOLDS_NS.iter().zip(&seen.gaps);
    let gaps =
        gaps.map(|(&least_ns, gaps)| Gaps { least_ns, count: gaps.count, total_ns: gaps.total_ns });
    Hiccups {
        cpu: seen.cpu,
        watched_ns: seen.watched_ns,
        gaps: gaps.collect(),
        longest_ns: seen.longest_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_watched_for_a_part_of_the_time_of_a_row() {
        let cpu = ipcmark_machine::topology::usable().unwrap()[0].id;
        for (length, least) in [
            (Length::Time(Duration::from_millis(250)), 5_000_000),
            (Length::Time(Duration::from_micros(20)), 1_000_000),
            (Length::RoundTrips(1), 1_000_000),
        ] {
            let [ref seen] = watch(&[cpu], length)[..] else { panic!("one processor") };
            assert_eq!((seen.cpu, seen.gaps.len()), (cpu, 3));
            assert!(seen.watched_ns >= least, "{seen:?}");
        }
    }

    #[test]
    fn a_processor_that_is_not_there_has_no_hiccups() {
        assert_eq!(watch(&[1_023], Length::RoundTrips(1)), []);
    }
}
