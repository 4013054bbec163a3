//! The location of a sample: median and interpolated percentiles, of values and of a histogram.

use hdrhistogram::Histogram;

/// The percentile `q` (0 to 1) of finite values, interpolated linearly between the two nearest:
/// definition 7 of Hyndman and Fan ("Sample Quantiles in Statistical Packages", The American
/// Statistician 50(4), 1996), the one of NumPy and R. `None` if there is no value.
pub fn percentile(values: &[f64], q: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let mut values = values.to_vec();
    let (_, low, above) = values.select_nth_unstable_by(place as usize, f64::total_cmp);
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(*low);
    Some(*low + place.fract() * (high - *low))
}

/// The median of finite values; of an even number, the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 0.5)
}

/// The location of a trial: the median of the logarithms of its clock-free block means, in ns. The
/// median, because a block that was interrupted is many times longer; the logarithm, because
/// transports and distances differ by factors.
pub fn log_location(block_means_ns: &[f64]) -> Option<f64> {
    median(&logarithms(block_means_ns))
}

/// The natural logarithms of times.
pub fn logarithms(times: &[f64]) -> Vec<f64> {
    times.iter().map(|time| time.ln()).collect()
}

/// Equal values of a histogram: `count` samples spread over `width` around `center`.
#[derive(Clone, Copy)]
struct Bucket {
    center: f64,
    width: f64,
    count: f64,
}

/// The percentile `q` (0 to 1) of a histogram of whole nanoseconds, in ns; `None` if it is empty.
///
/// Samples of one value are spread evenly over the clock's step around it (over the width of the
/// histogram's bin if that is wider), as for the median of grouped data: with a step of 10 ns, p50
/// of equally many 120 and 130 is 125. Interpolation never leaves that cell, so no percentile lies
/// where nothing was measured, such as between a body and its far tail.
pub fn histogram_percentile(histogram: &Histogram<u64>, q: f64, step_ns: f64) -> Option<f64> {
    let cells = cells(histogram, step_ns);
    let target = q.clamp(0.0, 1.0) * histogram.len() as f64;
    let mut below = 0.0;
    let reaches = |cell: &Bucket| {
        below += cell.count;
        below >= target
    };
    let at = cells.iter().position(reaches)?;
    let part = 1.0 - (below - target) / cells[at].count;
    let (low, high) = edges(&cells, at);
    let within = low + part * (high - low);
    Some(within.clamp(histogram.min() as f64, histogram.max() as f64))
}

fn cells(histogram: &Histogram<u64>, step_ns: f64) -> Vec<Bucket> {
    let cell = |value: u64, count: u64| {
        let width = histogram.equivalent_range(value) as f64;
        let center = histogram.lowest_equivalent(value) as f64 + (width - 1.0) / 2.0;
        Bucket { center, width: width.max(step_ns), count: count as f64 }
    };
    let recorded = histogram.iter_recorded();
    recorded
        .map(|found| cell(found.value_iterated_to(), found.count_since_last_iteration()))
        .collect()
}

/// The ends of a cell, limited by neighbours that are closer than its width.
fn edges(cells: &[Bucket], at: usize) -> (f64, f64) {
    let Bucket { center, width, .. } = cells[at];
    let (mut low, mut high) = (center - width / 2.0, center + width / 2.0);
    if let Some(previous) = at.checked_sub(1).and_then(|before| cells.get(before)) {
        low = low.max((previous.center + center) / 2.0);
    }
    if let Some(next) = cells.get(at + 1) {
        high = high.min((center + next.center) / 2.0);
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::histogram::new_histogram;

    fn histogram(samples: &[u64]) -> Histogram<u64> {
        let mut histogram = new_histogram();
        samples.iter().for_each(|sample| histogram.record(*sample).unwrap());
        histogram
    }

    #[test]
    fn percentiles_agree_with_numpy() {
        // numpy.percentile([3, 1, 4, 1.5, 9, 2.6], [0, 10, 50, 90, 99.9, 100])
        let values = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6];
        let numpy = [(0.0, 1.0), (0.1, 1.25), (0.5, 2.8), (0.9, 6.5), (0.999, 8.975), (1.0, 9.0)];
        for (q, expected) in numpy {
            let found = percentile(&values, q).unwrap();
            assert!((found - expected).abs() < 1e-12, "{q}: {found}, not {expected}");
        }
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn the_location_of_a_trial_is_the_median_of_logarithms() {
        assert_eq!(log_location(&[1.0, 100.0]), Some(10.0_f64.ln()));
    }

    #[test]
    fn a_step_is_interpolated_as_in_grouped_data() {
        // statistics.median_grouped([100] * 3 + [110] * 5 + [250] * 2, 10)
        let histogram = histogram(&[100, 100, 100, 110, 110, 110, 110, 110, 250, 250]);
        assert_eq!(histogram_percentile(&histogram, 0.5, 10.0), Some(109.0));
    }

    #[test]
    fn no_percentile_lies_between_a_body_and_its_tail() {
        let mut samples = vec![120; 98];
        samples.extend([5_000, 6_000]);
        let histogram = histogram(&samples);
        for percent in 0..=98 {
            let found = histogram_percentile(&histogram, f64::from(percent) / 100.0, 10.0).unwrap();
            assert!((115.0..=125.0).contains(&found), "p{percent} {found}");
        }
    }

    #[test]
    fn an_empty_histogram_has_no_percentile() {
        assert_eq!(histogram_percentile(&new_histogram(), 0.5, 1.0), None);
    }

    proptest! {
        #[test]
        fn histogram_percentiles_rise_and_keep_to_the_samples(
            mut samples in prop::collection::vec(1..100_000_u64, 1..300),
            (low, high) in (0.0..=1.0, 0.0..=1.0),
            step in 1.0..50.0,
        ) {
            let histogram = histogram(&samples);
            samples.sort_unstable();
            let at = |q: f64| histogram_percentile(&histogram, q, step).unwrap();
            let (low, high) = if low < high { (low, high) } else { (high, low) };
            prop_assert!(at(low) <= at(high));
            let sample = samples[((high * samples.len() as f64) as usize).min(samples.len() - 1)];
            let previous = samples[((high * samples.len() as f64).ceil() as usize).max(1) - 1];
            let slack = step / 2.0 + sample as f64 / 500.0 + 0.5;
            prop_assert!(at(high) <= sample as f64 + slack, "{} above {sample}", at(high));
            prop_assert!(at(high) >= previous as f64 - slack, "{} below {previous}", at(high));
        }

        #[test]
        fn percentiles_are_equivariant(
            values in prop::collection::vec(-1e3..1e3, 1..100),
            q in 0.0..=1.0,
        ) {
            let changed: Vec<f64> = values.iter().map(|value| 3.0 * value + 7.0).collect();
            let expected = 3.0 * percentile(&values, q).unwrap() + 7.0;
            prop_assert!((percentile(&changed, q).unwrap() - expected).abs() < 1e-9);
        }
    }
}
