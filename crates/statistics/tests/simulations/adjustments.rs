//! The adjustment of blocks by their own probes.

use ipcmark_statistics::{ProbedBlock, adjusted_location, elasticity, log_location};

use super::noise::Noise;

/// Trials of 100 blocks of a row that takes `fixed` ns plus the number of floor round trips that
/// makes 240 ns at 126 ns, while the floor changes between 126 and 140 ns, every 20 blocks on
/// average.
fn trials(noise: &mut Noise, fixed: f64) -> Vec<Vec<ProbedBlock>> {
    let hops = (240.0 - fixed) / 126.0;
    (0..200)
        .map(|_| {
            let mut floor = if noise.happens(0.5) { 126.0 } else { 140.0 };
            let mut block = |log: f64| {
                if noise.happens(0.05) {
                    floor = 266.0 - floor;
                }
                let probe = |noise: &mut Noise| floor * (0.015 * noise.normal()).exp();
                let mean_ns = (fixed + hops * floor) * log.exp();
                ProbedBlock { mean_ns, before_ns: probe(noise), after_ns: probe(noise) }
            };
            let deviations: Vec<f64> = (0..100).map(|at| 0.02 * f64::from(at % 5 - 2)).collect();
            deviations.into_iter().map(&mut block).collect()
        })
        .collect()
}

fn spread(logs: &[f64]) -> f64 {
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (squares / (logs.len() - 1) as f64).sqrt()
}

/// Spread of the trials' locations, unadjusted and adjusted, with the elasticity.
fn spreads(fixed: f64) -> (f64, f64, f64) {
    let trials = trials(&mut Noise::new(41), fixed);
    let elasticity = elasticity(&trials);
    let plain = |blocks: &Vec<ProbedBlock>| {
        log_location(&blocks.iter().map(|block| block.mean_ns).collect::<Vec<_>>()).unwrap()
    };
    let adjusted =
        |blocks: &Vec<ProbedBlock>| adjusted_location(blocks, 133.0, elasticity).unwrap();
    let plain = spread(&trials.iter().map(plain).collect::<Vec<_>>());
    let adjusted = spread(&trials.iter().map(adjusted).collect::<Vec<_>>());
    println!(
        "fixed {fixed} ns: {:.2} % → {:.2} %, {elasticity:.2}",
        100.0 * plain,
        100.0 * adjusted
    );
    (plain, adjusted, elasticity)
}

#[test]
fn a_row_of_cache_lines_follows_its_probes() {
    let (plain, adjusted, elasticity) = spreads(0.0);
    assert!((0.9..=1.0).contains(&elasticity), "{elasticity}");
    assert!(adjusted < plain / 4.0, "{plain} → {adjusted}");
}

#[test]
fn a_row_that_hardly_depends_on_the_floor_is_left_as_it_is() {
    let (plain, adjusted, elasticity) = spreads(220.0);
    assert!(elasticity < 0.15, "{elasticity}");
    assert!(adjusted <= plain, "{plain} → {adjusted}");
}
