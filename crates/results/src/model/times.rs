//! Recorded times: every sample in a histogram, and its statistics.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    figure::check_figures,
    stats::histogram::{MAX_SAMPLES, decode, encode},
};

/// Recorded times. Statistics are accurate to one part in a thousand (the histogram's 3 significant
/// digits); a percentile is the upper end of the histogram's bin that contains it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// Number of samples, all of them in the histogram.
    pub count: u64,
    /// Mean.
    #[schemars(range(min = 0))]
    pub mean: f64,
    /// Standard deviation of the samples.
    #[schemars(range(min = 0))]
    pub stdev: f64,
    /// Shortest.
    pub min: u64,
    /// Half of all samples are at most this long.
    pub p50: u64,
    /// 90 of 100.
    pub p90: u64,
    /// 99 of 100.
    pub p99: u64,
    /// 999 of 1,000.
    pub p99_9: u64,
    /// 9,999 of 10,000.
    pub p99_99: u64,
    /// Longest.
    pub max: u64,
    /// Every sample: HdrHistogram V2 compressed, base64, 3 significant digits.
    pub histogram: String,
}

impl Times {
    /// The times of a histogram; an empty one gives zeros.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        Self::read_from(histogram, encode(histogram))
    }

    /// The times of a histogram in its text form.
    pub fn parse(text: String) -> Result<Self, String> {
        decode(&text).map(|histogram| Self::read_from(&histogram, text))
    }

    /// The samples.
    pub fn samples(&self) -> Result<Histogram<u64>, String> {
        decode(&self.histogram)
    }

    fn read_from(samples: &Histogram<u64>, text: String) -> Self {
        Self {
            count: samples.len(),
            mean: samples.mean(),
            stdev: samples.stdev(),
            min: samples.min(),
            p50: samples.value_at_quantile(0.5),
            p90: samples.value_at_quantile(0.9),
            p99: samples.value_at_quantile(0.99),
            p99_9: samples.value_at_quantile(0.999),
            p99_99: samples.value_at_quantile(0.9999),
            max: samples.max(),
            histogram: text,
        }
    }

    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        if self.count > MAX_SAMPLES {
            return Err(format!("{name}.count is {}, more than a trial has", self.count));
        }
        check_figures(&[("mean", self.mean), ("stdev", self.stdev)])
            .map_err(|cause| format!("{name}.{cause}"))
    }
}
