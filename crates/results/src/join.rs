//! Joins several results of one sitting into one: a sweep measures point by point.

use crate::model::{Case, Outcome, RunDistance, RunDistances, RunResult, Trial};
use crate::obstacles::ONE_DISTANCE;

impl RunResult {
    /// Adds the measurements of another run of the same sitting on the same machine: its cases, its rounds after the
    /// existing ones, and its distances. The facts about the run and the machine stay unchanged.
    pub fn join(&mut self, mut more: RunResult) {
        let rounds = self.rounds.len() as u32;
        let blocks = [&*self, &more].map(blocks);
        let moved = match (&mut self.distances, more.distances.take()) {
            (Some(distances), Some(others)) => Some(distances.join(others, blocks)),
            (None, others) => {
                self.distances = others;
                None
            }
            (Some(_), None) => None,
        };
        for round in &mut more.rounds {
            round.number += rounds;
        }
        for trial in more.cases.iter_mut().flat_map(trials_mut) {
            trial.round += rounds;
            for at in &mut trial.by_distance {
                let place = moved.as_ref().and_then(|moved| moved.new.get(at.distance as usize));
                at.distance = place.copied().unwrap_or(at.distance);
            }
            trial.by_distance.sort_by_key(|at| at.distance);
        }
        if let Some(moved) = &moved {
            let own = self.cases.iter_mut().flat_map(trials_mut);
            for at in own.flat_map(|trial| &mut trial.by_distance) {
                at.distance = moved.old.get(at.distance as usize).copied().unwrap_or(at.distance);
            }
        }
        self.rounds.append(&mut more.rounds);
        let cases = self.cases.len();
        for case in more.cases {
            self.record(case.identity, case.outcome);
        }
        self.time = self.time.zip(more.time).map(|(time, more)| time + more);
        self.planned_cases += (self.cases.len() - cases) as u64;
        self.complete &= more.complete;
        for note in more.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

fn trials_mut(case: &mut Case) -> impl Iterator<Item = &mut Trial> {
    let measurement = match &mut case.outcome {
        Outcome::Ok { measurement } => Some(measurement),
        _ => None,
    };
    measurement.into_iter().flat_map(|measurement| measurement.trials_mut())
}

/// The number of blocks of a result, as the weight of its shares.
fn blocks(result: &RunResult) -> f64 {
    let trials = result.cases.iter().flat_map(|case| case.trials());
    trials.map(|trial| trial.blocks.len() as f64).sum()
}

/// The new indices of distances, by their old indices.
struct NewIndices {
    old: Vec<u32>,
    new: Vec<u32>,
}

impl RunDistances {
    fn join(&mut self, others: RunDistances, [own_blocks, other_blocks]: [f64; 2]) -> NewIndices {
        let weight = other_blocks / (own_blocks + other_blocks).max(1.0);
        let floor = |of: &Self| of.reference.map(|at| of.all[at as usize].floor_round_trip_ns);
        let reference = floor(self).or_else(|| floor(&others));
        let known = self.all.len();
        for distance in &mut self.all {
            distance.share *= 1.0 - weight;
        }
        self.mixed_share = self.mixed_share * (1.0 - weight) + others.mixed_share * weight;
        let mut places: Vec<usize> = Vec::new();
        for other in others.all {
            let share = other.share * weight;
            let same = (0..known).filter(|at| is_same(&self.all[*at], &other)).min_by(|a, b| {
                let off = |at: usize| {
                    (self.all[at].floor_round_trip_ns / other.floor_round_trip_ns).ln().abs()
                };
                off(*a).total_cmp(&off(*b))
            });
            let place = same.unwrap_or(self.all.len());
            match self.all.get_mut(place) {
                Some(distance) => distance.share += share,
                None => self.all.push(RunDistance { share, ..other }),
            }
            places.push(place);
        }
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by(|a, b| {
            let floor = |at: usize| self.all[at].floor_round_trip_ns;
            floor(*a).total_cmp(&floor(*b))
        });
        let sorted = order.iter().map(|at| self.all[*at].clone()).collect();
        self.all = sorted;
        let place = |was: usize| order.iter().position(|at| *at == was).unwrap_or(was) as u32;
        self.reference = reference.and_then(|floor_ns| {
            let off = |at: &usize| (self.all[*at].floor_round_trip_ns / floor_ns).ln().abs();
            let nearest = (0..self.all.len()).min_by(|a, b| off(a).total_cmp(&off(b)));
            nearest.map(|at| at as u32)
        });
        NewIndices {
            old: (0..known).map(place).collect(),
            new: places.into_iter().map(place).collect(),
        }
    }
}

fn is_same(one: &RunDistance, other: &RunDistance) -> bool {
    let off = (one.floor_round_trip_ns / other.floor_round_trip_ns).ln().abs();
    one.apart == other.apart && off <= ONE_DISTANCE.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(all: &[(f64, f64)], reference: u32) -> RunDistances {
        let at =
            |(floor_round_trip_ns, share)| RunDistance { floor_round_trip_ns, apart: false, share };
        RunDistances {
            all: all.iter().copied().map(at).collect(),
            reference: Some(reference),
            mixed_share: 0.0,
        }
    }

    #[test]
    fn distances_that_are_one_are_joined_and_others_stand_in_their_order() {
        let mut all = distances(&[(60.0, 0.5), (400.0, 0.5)], 1);
        let moved = all.join(distances(&[(30.0, 0.5), (62.0, 0.5)], 0), [100.0, 100.0]);
        let floors: Vec<f64> = all.all.iter().map(|at| at.floor_round_trip_ns).collect();
        assert_eq!(floors, [30.0, 60.0, 400.0]);
        let shares: Vec<f64> = all.all.iter().map(|at| at.share).collect();
        assert_eq!(shares, [0.25, 0.5, 0.25]);
        assert_eq!((moved.old, moved.new), (vec![1, 2], vec![0, 1]));
        assert_eq!(all.reference, Some(2), "rows are still compared at 400 ns");
    }

    /// Regression: if the first part had none, the whole had none.
    #[test]
    fn the_reference_of_a_later_part_is_better_than_none() {
        let mut all = RunDistances { reference: None, ..distances(&[(60.0, 1.0)], 0) };
        all.join(distances(&[(62.0, 0.2), (400.0, 0.8)], 0), [1.0, 100.0]);
        assert_eq!((all.reference, all.all.len()), (Some(0), 2));
    }
}
