//! Steady trials that are reported as unsettled, and unsettled ones that are detected.

use ipcmark_statistics::steadiness;

use super::{noise::Noise, rate};

fn is_settled(logs: &[f64]) -> bool {
    let means: Vec<f64> = logs.iter().map(|log| 120.0 * log.exp()).collect();
    steadiness(&means).unwrap().settled
}

#[test]
fn steady_trials_are_settled() {
    let mut noise = Noise::new(31);
    // Batches of five blocks still depend on their neighbours, which the tests ignore.
    let cases = [(100, 0.02, 0.93), (200, 0.02, 0.96), (200, 0.05, 0.96), (2_000, 0.05, 0.98)];
    for (count, deviation, least) in cases {
        let name = format!("steady, {count} blocks at {} %", 100.0 * deviation);
        let rate = rate(&name, 1_000, |_| is_settled(&noise.blocks(count, deviation)));
        assert!(rate >= least, "{name}: {rate}");
    }
}

#[test]
fn a_drift_of_a_tenth_is_found() {
    let mut noise = Noise::new(32);
    for (count, deviation) in [(200, 0.02), (2_000, 0.05)] {
        let name = format!("drift of 10 %, {count} blocks at {} %", 100.0 * deviation);
        let rate = rate(&name, 500, |_| {
            let drift = |at: i32| 0.1 * f64::from(at) / count as f64;
            let blocks = noise.blocks(count, deviation);
            !is_settled(
                &blocks.iter().zip(0..).map(|(log, at)| log + drift(at)).collect::<Vec<_>>(),
            )
        });
        assert!(rate >= 0.95, "{name}: {rate}");
    }
}

#[test]
fn a_trial_that_is_slow_for_its_first_two_thirds_is_found() {
    let mut noise = Noise::new(33);
    let rate = rate("slow for two thirds", 500, |_| {
        let slow = |at: i32| if at < 1_400 { 0.2 } else { 0.0 };
        let blocks = noise.blocks(2_100, 0.05);
        !is_settled(&blocks.iter().zip(0..).map(|(log, at)| log + slow(at)).collect::<Vec<_>>())
    });
    assert!(rate >= 0.99, "{rate}");
}
