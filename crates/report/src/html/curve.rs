//! The percentile curve of a row, read from the histograms of its trials.

use hdrhistogram::Histogram;
use ipcmark_results::Case;

/// Where a curve has its points, as 1 / (1 - quantile): 1 is the shortest, 2 is p50, 10 is p90,
/// 10,000 is p99.99. On a logarithmic axis they are about evenly apart.
pub const GRID: [f64; 41] = [
    1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.4, 8.0, //
    10.0, 12.5, 16.0, 20.0, 25.0, 32.0, 40.0, 50.0, 64.0, 80.0, //
    100.0, 125.0, 160.0, 200.0, 250.0, 320.0, 400.0, 500.0, 640.0, 800.0, //
    1e3, 1.25e3, 1.6e3, 2e3, 2.5e3, 3.2e3, 4e3, 5e3, 6.4e3, 8e3, 1e4,
];

/// The samples of all trials together, at each point of the grid that the samples carry: with n of
/// them the curve ends at 1 - 1/n. Round trips in ns.
pub fn curve(cases: &[&Case]) -> Result<Vec<u64>, String> {
    let mut pooled: Option<Histogram<u64>> = None;
    for case in cases {
        let Some(figures) = &case.figures else { continue };
        let histogram = ipcmark_results::decode(&figures.histogram)
            .map_err(|cause| format!("the histogram of {} is {cause}", case.transport))?;
        match &mut pooled {
            Some(pooled) => pooled.add(&histogram).map_err(|e| e.to_string())?,
            none => *none = Some(histogram),
        }
    }
    Ok(pooled.map_or_else(Vec::new, |histogram| points(&histogram)))
}

fn points(histogram: &Histogram<u64>) -> Vec<u64> {
    let samples = histogram.len() as f64;
    let carried = GRID.iter().take_while(|point| **point <= samples);
    let value = |point: &f64| match point {
        1.0 => histogram.min(),
        point => histogram.value_at_quantile(1.0 - 1.0 / point),
    };
    carried.map(value).collect()
}

#[cfg(test)]
mod tests {
    use ipcmark_results::{new_histogram, statistics};

    use super::*;

    #[test]
    fn a_curve_goes_through_the_percentiles_of_the_file() {
        let mut histogram = new_histogram();
        for sample in 0..100_000_u64 {
            histogram.record(100 + sample * sample % 77_777).unwrap();
        }
        let (points, figures) = (points(&histogram), statistics(&histogram, 0.0));
        let at = |x: f64| points[GRID.iter().position(|point| *point == x).unwrap()];
        let named = [at(1.0), at(2.0), at(10.0), at(100.0), at(1e3), at(1e4)];
        let told =
            [figures.min, figures.p50, figures.p90, figures.p99, figures.p99_9, figures.p99_99];
        assert_eq!(named, told);
    }

    #[test]
    fn a_curve_ends_where_its_samples_end() {
        let mut histogram = new_histogram();
        for sample in 0..100 {
            histogram.record(100 + sample).unwrap();
        }
        assert_eq!(points(&histogram).len(), 21, "up to p99");
        assert!(points(&new_histogram()).is_empty());
    }
}
