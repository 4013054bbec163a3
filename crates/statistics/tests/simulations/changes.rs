//! False and missed changes in the history of a row.

use ipcmark_statistics::change_points;

use super::{error, noise::Noise, rate};

/// The logarithms of this many runs, each a point, that differ by 3 %.
fn runs(noise: &mut Noise, count: usize) -> Vec<Vec<f64>> {
    noise.normals(count, 0.03).into_iter().map(|log| vec![log]).collect()
}

#[test]
fn at_most_one_steady_history_of_a_hundred_has_a_change() {
    let mut noise = Noise::new(1);
    for count in [6, 12, 30, 100] {
        let name = format!("a change in {count} equal runs");
        let rate = rate(&name, 500, |_| !change_points(&runs(&mut noise, count)).is_empty());
        assert!(rate <= 0.01 + error(0.01, 500), "{name}: {rate}");
    }
}

#[test]
fn a_change_by_ten_percent_is_found_where_it_is() {
    let mut noise = Noise::new(2);
    let rate = rate("10 % in the middle of 20 runs", 500, |_| {
        let mut runs = runs(&mut noise, 20);
        runs[10..].iter_mut().flatten().for_each(|log| *log += 0.1);
        matches!(&change_points(&runs)[..], [only] if only.at.abs_diff(10) <= 1)
    });
    assert!(rate >= 0.9, "{rate}");
}
