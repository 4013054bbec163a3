//! Ranks of identical rows, and of different ones.

use ipcmark_results::stats::{Ranked, RankedRow, rank, trial_log_ratios};

use super::{error, noise::Noise, rate};

/// Logarithms of times by row and trial: rows at the given logarithms, a moment of the machine that all rows of a trial
/// share, and a session's own deviation, which grows over the rows from 0.5 % to 2 %.
fn trials(noise: &mut Noise, rows: &[f64], trials: usize) -> Vec<Vec<Option<f64>>> {
    let moments = noise.normals(trials, 0.2);
    let own = |row: usize| 0.005 + 0.015 * row as f64 / rows.len() as f64;
    let time = |noise: &mut Noise, row: usize, moment: &f64| {
        Some(rows[row] + moment + own(row) * noise.normal())
    };
    (0..rows.len())
        .map(|row| moments.iter().map(|moment| time(noise, row, moment)).collect())
        .collect()
}

fn ranked(times: &[Vec<Option<f64>>]) -> Vec<Ranked> {
    let location = |row: &Vec<Option<f64>>| row.iter().flatten().sum::<f64>();
    let row = |(at, times)| RankedRow { name: format!("row-{at:02}"), location: location(times) };
    let rows: Vec<RankedRow> = times.iter().enumerate().map(row).collect();
    rank(&rows, |a, b| trial_log_ratios(&times[a], &times[b]))
}

fn rank_of(ranked: &[Ranked], row: usize) -> usize {
    ranked.iter().find(|place| place.row == row).unwrap().rank
}

/// Four rows of one mechanism, and twelve others, from a tenth to three times slower.
fn group() -> Vec<f64> {
    (0..16_i32).map(|row| f64::from((row - 3).max(0)) * 0.1).collect()
}

#[test]
fn rows_of_one_mechanism_share_a_rank() {
    let mut noise = Noise::new(21);
    for count in [3, 5, 8] {
        let rate = rate(&format!("one mechanism, {count} trials"), 1_000, |_| {
            let ranked = ranked(&trials(&mut noise, &group(), count));
            (1..4).all(|row| rank_of(&ranked, row) == rank_of(&ranked, 0))
        });
        assert!(rate >= 0.95 - error(0.95, 1_000), "{rate}");
    }
}

#[test]
fn rows_that_differ_by_a_tenth_have_different_ranks() {
    let mut noise = Noise::new(22);
    for (count, least) in [(3, 0.9), (5, 0.99)] {
        let rate = rate(&format!("10 % apart, {count} trials"), 500, |_| {
            let ranked = ranked(&trials(&mut noise, &group(), count));
            rank_of(&ranked, 3) < rank_of(&ranked, 4) && rank_of(&ranked, 4) < rank_of(&ranked, 5)
        });
        assert!(rate >= least, "{rate}");
    }
}
