//! False verdicts and power of the paired comparison.

use ipcmark_statistics::{Comparison, DETECTABLE, Verdict, pairs_for_equality, pairs_needed};

use super::{error, noise::Noise, rate};

/// Log-ratios of `count` pairs of neighbouring blocks of one machine, with random order within each
/// pair; the second of each pair takes `difference` longer.
fn pairs(noise: &mut Noise, count: usize, deviation: f64, difference: f64) -> Vec<f64> {
    let blocks = noise.blocks(2 * count, deviation);
    let ratio = |pair: &[f64]| {
        let change = pair[1] - pair[0];
        difference.ln_1p() + if noise.happens(0.5) { change } else { -change }
    };
    blocks.chunks_exact(2).map(ratio).collect()
}

fn differs(log_ratios: &[f64]) -> bool {
    matches!(Comparison::of_pairs(log_ratios).verdict, Verdict::Faster | Verdict::Slower)
}

#[test]
fn equal_times_differ_in_at_most_one_comparison_of_a_hundred() {
    let mut noise = Noise::new(1);
    for count in [8, 12, 23, 57, 150] {
        let name = format!("null, {count} pairs");
        let runs = 2_000;
        let rate = rate(&name, runs, |_| differs(&pairs(&mut noise, count, 0.05, 0.0)));
        assert!(rate <= 0.01 + error(0.01, runs), "{name}: {rate}");
    }
}

#[test]
fn a_false_difference_is_not_confirmed_by_fresh_data() {
    let mut noise = Noise::new(2);
    let rate = rate("null, confirmed", 20_000, |_| {
        let [first, fresh] =
            [(); 2].map(|()| Comparison::of_pairs(&pairs(&mut noise, 12, 0.05, 0.0)));
        matches!(fresh.verdict, Verdict::Faster | Verdict::Slower)
            && first.confirmed_by(&fresh) == fresh.verdict
    });
    assert!(rate <= 0.0005, "{rate}");
}

#[test]
fn three_percent_are_found_with_the_pairs_needed() {
    let mut noise = Noise::new(3);
    for deviation in [0.01, 0.02, 0.03, 0.05] {
        let count = pairs_needed(deviation, DETECTABLE);
        let name = format!("3 % at {} %, {count} pairs", 100.0 * deviation);
        let rate = rate(&name, 2_000, |_| {
            let noise = noise.normals(count, deviation);
            let log_ratios: Vec<f64> = noise.iter().map(|x| x + DETECTABLE.ln_1p()).collect();
            Comparison::of_pairs(&log_ratios).verdict == Verdict::Slower
        });
        assert!(rate >= 0.95 - error(0.95, 2_000), "{name}: {rate}");
    }
}

#[test]
fn three_percent_are_found_in_bursts_with_the_pairs_that_the_verdict_asks_for() {
    let mut noise = Noise::new(4);
    for deviation in [0.03, 0.06] {
        let name = format!("3 % in bursts at {} %, as many pairs as asked for", 100.0 * deviation);
        let rate = rate(&name, 1_000, |_| {
            let mut count = 12;
            loop {
                match Comparison::of_pairs(&pairs(&mut noise, count, deviation, 0.03)).verdict {
                    Verdict::CannotTell { pairs_needed } if pairs_needed < 1_000 => {
                        count = pairs_needed
                    }
                    verdict => return verdict == Verdict::Slower,
                }
            }
        });
        assert!(rate >= 0.95 - error(0.95, 1_000), "{name}: {rate}");
    }
}

#[test]
fn equality_is_found_with_the_pairs_needed_and_not_where_it_does_not_hold() {
    let mut noise = Noise::new(5);
    let count = pairs_for_equality(0.03);
    let mut same = |difference: f64| {
        let name = format!("same at {} %, {count} pairs", 100.0 * difference);
        rate(&name, 2_000, |_| {
            let values = noise.normals(count, 0.03);
            let values: Vec<f64> = values.iter().map(|x| x + difference.ln_1p()).collect();
            Comparison::of_pairs(&values).verdict == Verdict::Same
        })
    };
    assert!(same(0.0) >= 0.95 - error(0.95, 2_000));
    assert!(same(0.02) <= 0.05 + error(0.05, 2_000));
    assert!(same(0.03) <= 0.005);
}
