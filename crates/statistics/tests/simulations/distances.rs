//! The distances of machines whose processors change their relation, and of those whose do not.

use ipcmark_statistics::Distances;

use super::noise::Noise;

/// A machine's distances: each with its floor in ns, its probes' standard deviation on the
/// logarithm, and its share of the time.
type Machine = [(f64, f64, f64)];

/// Probes before and after `count` blocks. A distance lasts ten blocks on average; the share
/// `disturbed` of all probes is longer by a factor of up to 30.
fn probes(noise: &mut Noise, machine: &Machine, count: usize, disturbed: f64) -> Vec<(usize, f64)> {
    let draw = |noise: &mut Noise| {
        let mut place = noise.uniform() * machine.iter().map(|distance| distance.2).sum::<f64>();
        let is_here = |distance: &(f64, f64, f64)| {
            place -= distance.2;
            place <= 0.0
        };
        machine.iter().position(is_here).unwrap_or(0)
    };
    let mut now = draw(noise);
    let mut next = || {
        if noise.happens(0.1) {
            now = draw(noise);
        }
        let (floor, deviation, _) = machine[now];
        let longer = if noise.happens(disturbed) { 30_f64.powf(noise.uniform()) } else { 1.0 };
        (now, floor * longer * (deviation * noise.normal()).exp())
    };
    (0..=count).map(|_| next()).collect()
}

/// The names of the found distances.
fn names(distances: &Distances) -> Vec<String> {
    distances.all().iter().map(ToString::to_string).collect()
}

fn times(probes: &[(usize, f64)]) -> Vec<f64> {
    probes.iter().map(|(_, time)| *time).collect()
}

/// The distances observed on a machine with two virtual processors.
const VIRTUAL: &Machine = &[
    (28.0, 0.02, 0.1),
    (75.0, 0.03, 0.2),
    (81.0, 0.03, 0.15),
    (88.0, 0.03, 0.1),
    (430.0, 0.1, 0.4),
    (400_000.0, 0.2, 0.05),
];

#[test]
fn a_virtual_machine_has_its_four_distances_and_keeps_its_blocks() {
    for (seed, count, disturbed) in [(1, 3_000, 0.001), (2, 30_000, 0.01), (3, 300_000, 0.01)] {
        let probes = probes(&mut Noise::new(seed), VIRTUAL, count, disturbed);
        let distances = Distances::of(&times(&probes));
        let floors: Vec<f64> = distances.all().iter().map(|distance| distance.floor_ns).collect();
        assert_eq!(floors.len(), 4, "{:?}", names(&distances));
        for (floor, least, most) in
            [(0, 27.0, 29.0), (1, 77.0, 83.0), (2, 420.0, 440.0), (3, 3e5, 5e5)]
        {
            assert!((least..=most).contains(&floors[floor]), "{:?}", names(&distances));
        }
        assert_eq!(names(&distances)[3], "apart");
    }
}

/// The true distance of a state of `VIRTUAL`.
fn class(state: usize) -> usize {
    [0, 1, 1, 1, 2, 3][state]
}

#[test]
fn blocks_are_placed_where_they_were() {
    let probes = probes(&mut Noise::new(4), VIRTUAL, 50_000, 0.002);
    let distances = Distances::of(&times(&probes));
    let (mut right, mut wrong, mut steady) = (0, 0, 0);
    for pair in probes.windows(2) {
        let truth = (class(pair[0].0) == class(pair[1].0)).then(|| class(pair[0].0));
        steady += usize::from(truth.is_some());
        match distances.of_block(pair[0].1, pair[1].1) {
            Some(at) if Some(at) == truth => right += 1,
            Some(_) => wrong += 1,
            None => {}
        }
    }
    println!("placed {right} of {steady}, {wrong} wrong");
    assert!(right * 1_000 >= steady * 990, "{right} of {steady}");
    assert!(wrong * 1_000 <= steady, "{wrong} of {steady}");
}

#[test]
fn a_quiet_machine_has_one_distance() {
    for (seed, deviation) in [(5, 0.002), (6, 0.02), (7, 0.08)] {
        for count in [20, 200, 2_000, 20_000] {
            for disturbed in [0.0, 0.001, 0.01] {
                let machine = &[(72.0, deviation, 1.0)];
                let probes = probes(&mut Noise::new(seed), machine, count, disturbed);
                let distances = Distances::of(&times(&probes));
                let names = names(&distances);
                let near = names.iter().filter(|name| *name != "apart").count();
                assert_eq!(near, 1, "{names:?} of {count} at {deviation}, {disturbed}");
            }
        }
    }
}

#[test]
fn a_broad_and_rare_distance_is_one_beside_a_narrow_and_frequent_one() {
    for seed in 0..50 {
        let machine = &[(130.0, 0.015, 0.97), (700.0, 0.25, 0.03)];
        let probes = probes(&mut Noise::new(100 + seed), machine, 10_000, 0.0);
        let distances = Distances::of(&times(&probes));
        assert_eq!(distances.all().len(), 2, "{seed}: {:?}", names(&distances));
    }
}
