//! The experiments.

use std::time::Duration;

use ipcmark_results::{
    Row, Trial, groups,
    stats::{Comparison, Verdict, percentile},
};
use ipcmark_transport::Wait;

use crate::runs::{Measurement, Runs};

/// Transports over shared memory that differ only in how they name their memory.
const SPINNING: &[&str] = &["memfd", "mmap-file", "shm-ring", "sysv-shm"];
const SLEEPING: &[&str] = &["memfd", "mmap-file", "shm-futex", "sysv-shm"];

/// The transports whose trials are compared with trials of the same transport.
const COMPARED: &[&str] =
    &["memfd", "mmap-file", "pipe", "shm-ring", "shm-slot", "sysv-shm", "uds-stream"];

/// The numbers of pairs in a comparison: the fewest that can decide, and the numbers that 3 % needs at
/// a deviation of 3 % and of 5 %.
const PAIRS: [usize; 3] = [8, 22, 55];

/// The comparisons of a run with itself. A trial that had no block at the reference distance is in none, so 300 are left
/// of them on a machine whose distance changes.
const COMPARISONS: usize = 400;

/// The lengths of the trials whose spread is measured: a short one, the longest of a run with a budget, and one with
/// which the states of the machine that last for tenths of a second average out.
const LENGTHS: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(250), Duration::from_secs(1)];

/// Prints the spread of the middle 90 % of a row's trials, for each length of a trial.
pub(crate) fn spread(runs: &Runs) {
    println!("  spread of 50 trials of shm-ring, p5 to p95");
    for length in LENGTHS {
        let (names, wait) = (&["shm-ring"][..], Wait::Spin);
        let result = runs.measure(&Measurement { names, wait, trials: 50, length, seed: 1 });
        let groups = groups(&result);
        let row = &groups[0].rows[0];
        let raw: Vec<f64> = row.trials.iter().map(|trial| trial.clock_free_mean_ns).collect();
        let placed: Vec<f64> = row.locations().into_iter().flatten().collect();
        println!(
            "    of {:>4} ms: {:.1} % raw, {:.1} % at the reference distance, which {} had",
            length.as_millis(),
            width(&raw),
            width(&placed),
            placed.len(),
        );
    }
}

/// The distance from the 5th to the 95th percentile, in percent of the 5th.
fn width(times: &[f64]) -> f64 {
    let at = |q| percentile(times, q).unwrap_or(f64::NAN);
    (at(0.95) / at(0.05) - 1.0) * 100.0
}

/// Prints the share of pairs of rows of one mechanism that share a rank.
pub(crate) fn ties(runs: &Runs) {
    for (wait, names) in [(Wait::Spin, SPINNING), (Wait::Block, SLEEPING)] {
        let (mut shared, mut all) = (0, 0);
        for seed in 0..20 {
            let length = Duration::from_millis(100);
            let result = runs.measure(&Measurement { names, wait, trials: 3, length, seed });
            let ranks: Vec<usize> = groups(&result)
                .iter()
                .flat_map(|group| &group.rows)
                .filter_map(|row| Some(row.rank?.number))
                .collect();
            let pairs = (0..ranks.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            for (a, b) in pairs {
                shared += usize::from(ranks[a] == ranks[b]);
                all += 1;
            }
        }
        let share = 100.0 * f64::from(shared as u32) / f64::from(all.max(1) as u32);
        println!(
            "  ties, {wait}: {share:.1} % of {all} pairs of rows of one mechanism share a rank"
        );
    }
}

/// Compares neighbouring trials of a row as if they came from two programs.
pub(crate) fn verdicts(runs: &Runs) {
    let of_row = COMPARISONS.div_ceil(COMPARED.len());
    let trials = (2 * PAIRS[0] * of_row) as u32;
    let length = Duration::from_millis(20);
    let wait = Wait::Spin;
    let result = runs.measure(&Measurement { names: COMPARED, wait, trials, length, seed: 7 });
    let groups = groups(&result);
    let rows: Vec<Vec<f64>> = groups.iter().flat_map(|group| &group.rows).map(log_ratios).collect();
    let all: Vec<f64> = rows.iter().flatten().copied().collect();
    let deviation = (all.iter().map(|ratio| ratio * ratio).sum::<f64>() / all.len() as f64).sqrt();
    println!(
        "  verdicts: the ratio of two neighbouring trials has a deviation of {:.1} %",
        deviation * 100.0
    );
    for pairs in PAIRS {
        for slower in [1.0, 1.03, 1.05] {
            let compared = compared(&rows, pairs, slower);
            let count = |verdict: fn(&Verdict) -> bool| {
                let found = compared.iter().filter(|found| verdict(found)).count();
                100.0 * found as f64 / compared.len().max(1) as f64
            };
            let differ = count(|verdict| matches!(verdict, Verdict::Faster | Verdict::Slower));
            let cannot = count(|verdict| matches!(verdict, Verdict::CannotTell { .. }));
            let what = match slower {
                1.0 => "false verdicts".to_string(),
                slower => format!("{:.0} % slower: found", (slower - 1.0) * 100.0),
            };
            println!(
                "    {pairs:>2} pairs, {:>3} comparisons: {what} {differ:.1} %, cannot tell {cannot:.1} %",
                compared.len()
            );
        }
    }
}

/// The logarithms of the ratios of neighbouring trials. Every second ratio is inverted, as in the order A B
/// B A.
fn log_ratios(row: &Row) -> Vec<f64> {
    let locations = row.locations();
    let pairs = locations.chunks_exact(2).enumerate();
    let ratio = |(at, pair): (usize, &[Option<f64>])| {
        let ratio = (pair[1]? / pair[0]?).ln();
        Some(if at % 2 == 0 { ratio } else { -ratio })
    };
    pairs.filter_map(ratio).collect()
}

/// The verdicts of comparisons of `pairs` pairs each. The next comparison confirms each difference.
fn compared(rows: &[Vec<f64>], pairs: usize, slower: f64) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for ratios in rows {
        let slowed: Vec<f64> = ratios.iter().map(|ratio| ratio + slower.ln()).collect();
        let all: Vec<Comparison> = slowed.chunks_exact(pairs).map(Comparison::of_pairs).collect();
        let fresh = all.iter().cycle().skip(1);
        verdicts.extend(all.iter().zip(fresh).map(|(first, fresh)| match first.verdict {
            Verdict::Faster | Verdict::Slower => first.confirmed_by(fresh),
            verdict => verdict,
        }));
    }
    verdicts
}

/// Tests if 400 pairs of neighbouring blocks show that one side is 10 % slower.
pub(crate) fn sleeping(runs: &Runs) {
    const PAIRS: usize = 400;
    let question = Measurement {
        names: SLEEPING,
        wait: Wait::Block,
        trials: 12,
        length: Duration::from_secs(2),
        seed: 3,
    };
    let result = runs.measure(&question);
    let groups = groups(&result);
    let rows = groups.iter().flat_map(|group| &group.rows);
    let pairs: Vec<f64> = rows.flat_map(|row| row.trials).flat_map(block_ratios).collect();
    for slower in [1.0_f64, 1.1] {
        let compared: Vec<Comparison> = pairs
            .chunks_exact(PAIRS)
            .map(|pairs| pairs.iter().map(|ratio| ratio + slower.ln()).collect::<Vec<_>>())
            .map(|pairs| Comparison::of_pairs(&pairs))
            .collect();
        let differ =
            compared.iter().filter(|c| matches!(c.verdict, Verdict::Faster | Verdict::Slower));
        let what = if slower > 1.0 { "10 % slower: found in" } else { "false verdicts in" };
        println!(
            "  sleeping, {PAIRS} pairs of blocks: {what} {} of {}",
            differ.count(),
            compared.len()
        );
    }
}

/// The logarithms of the ratios of neighbouring clock-free blocks in which the ends slept.
fn block_ratios(trial: &Trial) -> Vec<f64> {
    let asleep = (0..trial.blocks.len()).filter(|at| !trial.blocks.is_awake(*at));
    let means: Vec<f64> = asleep.filter_map(|at| trial.blocks.location_mean_ns(at)).collect();
    let pairs = means.chunks_exact(2).enumerate();
    let ratio = |(at, pair): (usize, &[f64])| {
        let ratio = (pair[1] / pair[0]).ln();
        if at % 2 == 0 { ratio } else { -ratio }
    };
    pairs.map(ratio).collect()
}
