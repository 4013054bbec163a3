//! Peaks and gaps of a sample: a Gaussian kernel density on a grid, divided at significant valleys.
//!
//! Source: modes by the persistence of a density's peaks (Chazal, Guibas, Oudot and Skraba,
//! "Persistence-Based Clustering in Riemannian Manifolds", J. ACM 60(6), 2013), in one dimension.
//! A gap between sorted values would be simpler, but one value in a thousand bridges it; a fixed
//! neighbourhood count (DBSCAN) sees a rare, broad class as noise beside a frequent, narrow one.

use std::ops::RangeInclusive;

/// Standard deviation of the kernel. Two equally frequent narrow classes are distinguished if they
/// are at least four of these apart: 0.32 on the natural logarithm, a factor of 1.4.
const BANDWIDTH: f64 = 0.08;

/// Distance between two points of the grid.
const BIN: f64 = BANDWIDTH / 8.0;

/// The reach of the kernel on each side of a value, in points of the grid: four bandwidths.
const REACH: usize = 32;

/// A valley divides two peaks if its density is at most this share of the lower one's.
const VALLEY: f64 = 0.3;

/// A valley divides two peaks only if the difference of their counts is this many times its
/// standard error: otherwise the gaps between few values would divide a broad class.
const SIGNIFICANCE: f64 = 3.0;

/// A class ends where the density falls below this share of its peak.
const EDGE: f64 = 0.01;

/// The density of a sample on a grid, in effective counts: the variance of each approximately
/// equals its value, as for a Poisson count.
struct Density {
    origin: f64,
    counts: Vec<f64>,
}

impl Density {
    fn of(values: &[f64]) -> Self {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The least value is in the middle of its bin, so that rounding does not move it.
        let origin = least - (REACH as f64 + 0.5) * BIN;
        let bins = ((most - origin) / BIN) as usize + REACH + 1;
        let mut histogram = vec![0_u32; bins];
        values.iter().for_each(|value| histogram[((value - origin) / BIN) as usize] += 1);
        Self { origin, counts: smoothed(&histogram) }
    }

    /// The middle of a bin.
    fn value(&self, bin: usize) -> f64 {
        self.origin + (bin as f64 + 0.5) * BIN
    }

    /// The local maxima; a plateau is given by its first bin.
    fn peaks(&self) -> Vec<usize> {
        let counts = &self.counts;
        let above = |bin: usize| counts[bin + 1..].iter().find(|next| **next != counts[bin]);
        let is_peak = |bin: usize| {
            let rises = bin == 0 || counts[bin - 1] < counts[bin];
            rises && above(bin).is_none_or(|next| *next < counts[bin])
        };
        (0..counts.len()).filter(|bin| counts[*bin] > 0.0 && is_peak(*bin)).collect()
    }

    /// The lowest bin between two peaks.
    fn valley(&self, left: usize, right: usize) -> usize {
        (left..=right).min_by(|a, b| self.counts[*a].total_cmp(&self.counts[*b])).unwrap_or(left)
    }

    /// True if the valley between two peaks divides them.
    fn divides(&self, left: usize, right: usize) -> bool {
        let lower = self.counts[left].min(self.counts[right]);
        let valley = self.counts[self.valley(left, right)];
        valley <= VALLEY * lower && lower - valley >= SIGNIFICANCE * (lower + valley).sqrt()
    }

    /// The peaks that remain after undivided neighbours are united, the pair with the shallowest
    /// valley first.
    fn divided_peaks(&self) -> Vec<usize> {
        let mut peaks = self.peaks();
        while let Some(at) = self.shallowest(&peaks) {
            let lower =
                if self.counts[peaks[at]] < self.counts[peaks[at + 1]] { at } else { at + 1 };
            peaks.remove(lower);
        }
        peaks
    }

    /// The undivided neighbours with the shallowest valley, as the index of the first.
    fn shallowest(&self, peaks: &[usize]) -> Option<usize> {
        let depth = |at: &usize| {
            let (left, right) = (peaks[*at], peaks[*at + 1]);
            let lower = self.counts[left].min(self.counts[right]);
            self.counts[self.valley(left, right)] / lower
        };
        (0..peaks.len().saturating_sub(1))
            .filter(|at| !self.divides(peaks[*at], peaks[*at + 1]))
            .max_by(|a, b| depth(a).total_cmp(&depth(b)))
    }

    /// From the peak down to its edge on both sides, or to the valley before the next peak.
    fn extent(&self, peak: usize, from: usize, to: usize) -> RangeInclusive<f64> {
        let inside = |bin: &usize| self.counts[*bin] >= EDGE * self.counts[peak];
        let low = (from..=peak).rev().take_while(inside).last().unwrap_or(peak);
        let high = (peak..=to).take_while(inside).last().unwrap_or(peak);
        self.value(low)..=self.value(high)
    }
}

/// Kernel sums, scaled so that their variance is their mean: √2 Σ exp(−u²/2).
fn smoothed(histogram: &[u32]) -> Vec<f64> {
    let weight = |bins: usize| {
        let distance = bins as f64 * BIN / BANDWIDTH;
        std::f64::consts::SQRT_2 * (-0.5 * distance * distance).exp()
    };
    let weights: Vec<f64> = (0..=REACH).map(weight).collect();
    let mut counts = vec![0.0; histogram.len()];
    for (bin, count) in histogram.iter().enumerate().filter(|(_, count)| **count > 0) {
        let last = (bin + REACH).min(histogram.len() - 1);
        for (place, sum) in counts[..=last].iter_mut().enumerate().skip(bin.saturating_sub(REACH)) {
            *sum += f64::from(*count) * weights[place.abs_diff(bin)];
        }
    }
    counts
}

/// The extents of the classes of `values` (finite), ascending and disjoint. Values in the sparse
/// space between two classes belong to none.
pub(super) fn classes(values: &[f64]) -> Vec<RangeInclusive<f64>> {
    if values.is_empty() {
        return Vec::new();
    }
    let density = Density::of(values);
    let peaks = density.divided_peaks();
    let mut bounds = vec![0];
    bounds.extend(peaks.windows(2).map(|pair| density.valley(pair[0], pair[1])));
    bounds.push(density.counts.len() - 1);
    let extent = |(peak, sides): (&usize, &[usize])| density.extent(*peak, sides[0], sides[1]);
    peaks.iter().zip(bounds.windows(2)).map(extent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_of_a_count_is_its_mean() {
        // A uniform sample of density d has Σ exp(−u²/2) = d √(2π) h and Σ exp(−u²) = d √π h.
        let values: Vec<f64> = (0..10_000).map(|at| f64::from(at) / 1_000.0).collect();
        let density = Density::of(&values);
        let middle = density.counts[density.counts.len() / 2];
        let expected = 1_000.0 * 2.0 * std::f64::consts::PI.sqrt() * BANDWIDTH;
        assert!((middle / expected - 1.0).abs() < 0.01, "{middle}, not {expected}");
    }

    #[test]
    fn one_value_is_one_class() {
        let classes = classes(&[4.0; 7]);
        assert_eq!(classes.len(), 1);
        assert!(classes[0].contains(&4.0));
    }

    #[test]
    fn classes_do_not_overlap() {
        let values: Vec<f64> = (0..300).map(|at| f64::from(at % 3) * 0.5).collect();
        let classes = classes(&values);
        assert_eq!(classes.len(), 3);
        assert!(classes.windows(2).all(|pair| pair[0].end() <= pair[1].start()));
    }
}
