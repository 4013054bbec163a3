//! The percentile curve of a case: the samples of all its trials together.

use hdrhistogram::Histogram;

use crate::model::Trial;

/// The points of a curve, as 1 / (1 - quantile): 1 is the shortest, 2 is p50, 10 is p90,
/// 10,000 is p99.99. On a logarithmic axis they are about evenly apart.
pub const GRID: [f64; 41] = [
    1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.4, 8.0, //
    10.0, 12.5, 16.0, 20.0, 25.0, 32.0, 40.0, 50.0, 64.0, 80.0, //
    100.0, 125.0, 160.0, 200.0, 250.0, 320.0, 400.0, 500.0, 640.0, 800.0, //
    1e3, 1.25e3, 1.6e3, 2e3, 2.5e3, 3.2e3, 4e3, 5e3, 6.4e3, 8e3, 1e4,
];

/// The samples of all trials together, at each point of [`GRID`] for which there are enough: with n
/// samples the curve ends at 1 - 1/n. Round trips in ns.
pub fn curve(trials: &[Trial]) -> Result<Vec<u64>, String> {
    let mut pooled: Option<Histogram<u64>> = None;
    for trial in trials {
        let samples = trial.times_ns.samples()?;
        match &mut pooled {
            Some(pooled) => pooled.add(&samples).map_err(|e| e.to_string())?,
            none => *none = Some(samples),
        }
    }
    Ok(pooled.map_or_else(Vec::new, |samples| points(&samples)))
}

fn points(samples: &Histogram<u64>) -> Vec<u64> {
    let count = samples.len() as f64;
    let carried = GRID.iter().take_while(|point| **point <= count);
    let value = |point: &f64| match point {
        1.0 => samples.min(),
        point => samples.value_at_quantile(1.0 - 1.0 / point),
    };
    carried.map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Times, stats::histogram::new_histogram};

    #[test]
    fn a_curve_goes_through_the_percentiles_of_the_file() {
        let mut samples = new_histogram();
        for sample in 0..100_000_u64 {
            samples.record(100 + sample * sample % 77_777).unwrap();
        }
        let (points, times) = (points(&samples), Times::of(&samples));
        let at = |x: f64| points[GRID.iter().position(|point| *point == x).unwrap()];
        let named = [at(1.0), at(2.0), at(10.0), at(100.0), at(1e3), at(1e4)];
        assert_eq!(named, [times.min, times.p50, times.p90, times.p99, times.p99_9, times.p99_99]);
    }

    #[test]
    fn a_curve_ends_where_its_samples_end() {
        let mut samples = new_histogram();
        for sample in 0..100 {
            samples.record(100 + sample).unwrap();
        }
        assert_eq!(points(&samples).len(), 21, "up to p99");
        assert!(points(&new_histogram()).is_empty());
    }
}
