//! The distances of a pair of processors, and their shares of the time.

use ipcmark_machine::pair::PERIOD_NS;
use ipcmark_results::stats::{Distance, Distances};

/// The characters of the line that shows the distances over time.
const SIGNS: usize = 60;

/// The distances of a pair and their shares of the time.
#[derive(Clone, Debug)]
pub(crate) struct DistanceShares {
    /// The distances, the nearest first.
    pub distances: Vec<Distance>,
    /// The number of distance changes per second.
    pub changes_per_second: f64,
    /// The most frequent distance of each part of the time: 1 is the nearest, `x` apart, `?` none.
    pub over_time: String,
}

impl DistanceShares {
    /// Divides probes that were taken in equal intervals.
    pub(crate) fn of(probes_ns: &[f64]) -> Self {
        let distances = Distances::of(probes_ns);
        let places: Vec<Option<usize>> =
            probes_ns.iter().map(|probe| distances.of_probe(*probe)).collect();
        let length = places.len().div_ceil(SIGNS).max(1);
        Self {
            changes_per_second: changes(&places) / seconds(probes_ns.len()),
            over_time: places.chunks(length).map(|part| sign(part, distances.all())).collect(),
            distances: distances.all().to_vec(),
        }
    }

    /// The share of the time in which the processors did not run at the same time.
    pub(crate) fn apart(&self) -> f64 {
        let apart = self.distances.iter().filter(|distance| distance.apart);
        apart.map(|distance| distance.share_of_probes).sum()
    }

    /// Each distance with its frequency, near ones first: `61 ns 42 %, apart 3 %`.
    pub(crate) fn words(&self) -> String {
        let each =
            |distance: &Distance| format!("{distance} {}", percent(distance.share_of_probes));
        self.distances.iter().map(each).collect::<Vec<_>>().join(", ")
    }
}

/// Formats a share for people.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".into(),
        percent if percent < 0.01 => "under 0.01 %".into(),
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent < 99.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// The number of changes between probes with a distance; probes without one are skipped.
fn changes(places: &[Option<usize>]) -> f64 {
    let known: Vec<usize> = places.iter().copied().flatten().collect();
    known.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64
}

fn seconds(probes: usize) -> f64 {
    (probes.max(1) as u64 * PERIOD_NS) as f64 / 1e9
}

fn sign(part: &[Option<usize>], distances: &[Distance]) -> char {
    let mut counts = vec![0; distances.len()];
    part.iter().flatten().for_each(|place| counts[*place] += 1);
    let most = (0..counts.len()).rev().max_by_key(|place| counts[*place]);
    match most.filter(|place| counts[*place] > 0) {
        None => '?',
        Some(place) if distances[place].apart => 'x',
        Some(place) => char::from_digit(place as u32 + 1, 36).unwrap_or('+'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_changes_and_the_line_come_from_the_probes() {
        let parts = [(61.0, 1_000), (430.0, 600), (61.0, 200), (200_000.0, 200)];
        let probes: Vec<f64> = parts.iter().flat_map(|(ns, count)| vec![*ns; *count]).collect();
        let division = DistanceShares::of(&probes);
        assert_eq!(division.words(), "61 ns 60.0 %, 430 ns 30.0 %, apart 10.0 %");
        assert!((division.apart() - 0.1).abs() < 1e-9);
        assert!((division.changes_per_second - 6.0).abs() < 1e-9, "3 in half a second");
        let line = division.over_time;
        assert!(
            line.starts_with("1111") && line.contains("222") && line.ends_with("xxx"),
            "{line}"
        );
        assert!(line.len() <= SIGNS);
    }

    #[test]
    fn no_probes_are_no_distances() {
        let division = DistanceShares::of(&[]);
        assert_eq!((division.words().as_str(), division.over_time.as_str()), ("", ""));
        assert_eq!((division.apart(), division.changes_per_second), (0.0, 0.0));
    }

    #[test]
    fn shares_are_read_at_a_glance() {
        let words = [0.0, 0.000_01, 0.004_2, 0.421, 0.9997, 1.0].map(percent);
        assert_eq!(words, ["0 %", "under 0.01 %", "0.42 %", "42.1 %", "100 %", "100 %"]);
    }
}
