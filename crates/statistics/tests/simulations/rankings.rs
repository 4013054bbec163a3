//! Ranks of identical rows, and of different ones.

use ipcmark_statistics::{Ranked, RankedRow, rank};

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
    rank(&rows, times)
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

/// Rows at these logarithms, each with a spread of its own: around 6 %, by factors as those of the rows of a run of
/// everything.
fn uneven(noise: &mut Noise, rows: &[f64], trials: usize) -> Vec<Vec<Option<f64>>> {
    let moments = noise.normals(trials, 0.02);
    let row = |noise: &mut Noise, row: &f64| {
        let spread = 0.06 * (0.9 * noise.normal()).exp();
        moments.iter().map(|moment| Some(row + moment + spread * noise.normal())).collect()
    };
    rows.iter().map(|at| row(noise, at)).collect()
}

#[test]
fn equal_rows_of_uneven_spreads_share_a_rank() {
    let mut noise = Noise::new(23);
    for (rows, count) in [(3, 3), (5, 3), (12, 3), (40, 3), (12, 5), (40, 5)] {
        let rate = rate(&format!("{rows} equal rows, {count} trials"), 500, |_| {
            let ranked = ranked(&uneven(&mut noise, &vec![0.0; rows], count));
            ranked.iter().all(|place| place.rank == 1)
        });
        assert!(rate >= 0.95 - error(0.95, 500), "{rate}");
    }
}

/// A run of everything has three trials: the fastest row must not share its rank with one of three times its time
/// because other rows are noisy.
#[test]
fn rows_a_factor_apart_are_distinguished_among_noisy_ones() {
    let mut noise = Noise::new(24);
    let rows: Vec<f64> = (0..40_i32).map(|row| f64::from(row / 4) * 3_f64.ln()).collect();
    let mut distinguished = 0;
    for _ in 0..200 {
        let ranked = ranked(&uneven(&mut noise, &rows, 3));
        let ranks: std::collections::BTreeSet<usize> = ranked.iter().map(|p| p.rank).collect();
        distinguished += ranks.len();
    }
    let mean = f64::from(distinguished as u32) / 200.0;
    println!("{mean} ranks of 10 levels");
    assert!(mean > 6.0, "{mean}");
}
