//! Coverage of the intervals.

use hdrhistogram::Histogram;
use ipcmark_statistics::{
    histogram::new_histogram, hodges_lehmann_interval, log_location, merged_percentile,
    rank_interval, trial_interval,
};

use super::{error, noise::Noise, rate};

#[test]
fn intervals_over_trials_cover_the_location() {
    let mut noise = Noise::new(11);
    // The true location, bursts included: the limit for infinitely many trials.
    let locations: Vec<f64> = (0..4_000).map(|_| location(&mut noise)).collect();
    let truth = (locations.iter().sum::<f64>() / 4_000.0).exp();
    for trials in [3, 5, 10] {
        let rate = rate(&format!("location, {trials} trials"), 1_000, |_| {
            let times: Vec<f64> = (0..trials).map(|_| location(&mut noise).exp()).collect();
            let interval = trial_interval(&times).unwrap();
            (interval.low..=interval.high).contains(&truth)
        });
        assert!((rate - 0.95).abs() <= error(0.95, 1_000), "{rate}");
    }
}

/// The location of a fresh session, off by 3 %: the median of 100 of its blocks.
fn location(noise: &mut Noise) -> f64 {
    let session = 0.03 * noise.normal();
    let means: Vec<f64> =
        noise.blocks(100, 0.05).iter().map(|log| 120.0 * (session + log).exp()).collect();
    log_location(&means).unwrap()
}

#[test]
fn intervals_of_pairs_cover_the_ratio() {
    let mut noise = Noise::new(12);
    for (count, confidence) in [(8, 0.9), (22, 0.95), (150, 0.95)] {
        let rate = rate(&format!("ratio, {count} pairs at {confidence}"), 2_000, |_| {
            let blocks = noise.blocks(2 * count, 0.05);
            let sign = |noise: &mut Noise| if noise.happens(0.5) { 1.0 } else { -1.0 };
            let ratios: Vec<f64> =
                blocks.chunks_exact(2).map(|pair| sign(&mut noise) * (pair[1] - pair[0])).collect();
            let interval = hodges_lehmann_interval(&ratios, confidence).unwrap();
            (interval.low..=interval.high).contains(&0.0)
        });
        // Ranks are whole numbers: eight pairs have 92 % where 90 were requested.
        assert!(rate >= confidence - error(confidence, 2_000), "{rate}");
        assert!(rate <= confidence + 0.02 + error(confidence, 2_000), "{rate}");
    }
}

/// Whole ns: a session's factor, a body and, in one of 50 samples, an exponential tail.
fn samples(noise: &mut Noise, count: usize, session: f64) -> Histogram<u64> {
    let factor = (session * noise.normal()).exp();
    let mut histogram = new_histogram();
    for _ in 0..count {
        let tail = if noise.happens(0.02) { 1_000.0 * noise.exponential() } else { 0.0 };
        histogram.saturating_record((factor * (200.0 + 20.0 * noise.uniform() + tail)) as u64);
    }
    histogram
}

/// The value above which one sample of a thousand lies: exp(−x / 1000) · 2 % = 0.1 %, added to the
/// middle of the body.
const P99_9: f64 = 210.0 + 2_995.7;

#[test]
fn intervals_between_ranks_cover_the_percentile() {
    let mut noise = Noise::new(13);
    for (name, q, truth) in [("p99", 0.99, 210.0 + 693.1), ("p99.9", 0.999, P99_9)] {
        let rate = rate(&format!("{name} by ranks"), 1_000, |_| {
            let interval = rank_interval(&samples(&mut noise, 4_000, 0.0), q, 1.0).unwrap();
            (interval.low..=interval.high).contains(&truth)
        });
        assert!(rate >= 0.95 - error(0.95, 1_000) && rate <= 0.99, "{rate}");
    }
}

#[test]
fn intervals_of_the_merged_percentile_cover_it_though_sessions_differ() {
    let mut noise = Noise::new(14);
    for trials in [3, 5, 8] {
        let rate = rate(&format!("p99.9 of {trials} trials"), 400, |_| {
            let trials: Vec<_> = (0..trials).map(|_| samples(&mut noise, 4_000, 0.1)).collect();
            let interval = merged_percentile(&trials, 0.999, 1.0).unwrap();
            (interval.low..=interval.high).contains(&P99_9)
        });
        assert!(rate >= 0.95 - error(0.95, 400), "{rate}");
    }
}
