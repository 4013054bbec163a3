//! The statistics on noise with known truth: error rates, coverage and power.
//!
//! Every simulation has a fixed seed, so it gives the same rates each time; a bound allows for
//! three standard deviations of the rate's own error. `--nocapture` shows the rates.

mod adjustments;
mod changes;
mod comparisons;
mod distances;
mod intervals;
mod noise;
mod rankings;
mod steadiness;

/// The share of `count` experiments that return true, printed with the name.
fn rate(name: &str, count: usize, mut experiment: impl FnMut(usize) -> bool) -> f64 {
    let hits = (0..count).filter(|at| experiment(*at)).count();
    let rate = hits as f64 / count as f64;
    println!("{name}: {:.2} % of {count}", 100.0 * rate);
    rate
}

/// Three standard errors of a rate that is `nominal` over `count` experiments.
fn error(nominal: f64, count: usize) -> f64 {
    3.0 * (nominal * (1.0 - nominal) / count as f64).sqrt()
}
