//! Ranks of rows, equal if the trials do not distinguish two rows.

use super::row_spread::{LogTimes, RowSpreads};

/// The nominal probability that any two of a group's rows that do not differ are distinguished. In
/// simulations of three trials, with spreads that differ as those of measured rows, up to 5 % of
/// the groups of equal rows were divided: three trials tell little of a row's spread.
const LEVEL: f64 = 0.01;

/// A row to be ranked.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedRow {
    /// The name, by which rows of one rank are ordered.
    pub name: String,
    /// The time, in any unit that grows with it.
    pub location: f64,
}

/// A row's place in a ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The row, as an index into the ranked rows.
    pub row: usize,
    /// One more than the number of rows in better ranks.
    pub rank: usize,
    /// True if other rows have the same rank.
    pub shared: bool,
    /// True if the trials do not distinguish this row from every row of the rank before.
    pub near_previous: bool,
}

/// Ranks the rows of one group by their time, the shortest first, rows of one rank by name. `times` are the
/// logarithms of each row's time by trial.
///
/// **No two rows of one rank are distinguished.** This holds for all of them, not only for neighbours, so that no chain
/// A = B = C unites A with a slower C. From the shortest on, a row joins the rank if it is distinguished from none of
/// its rows; else it opens the next rank. The price: B and C can be in two ranks without being distinguished, if only A
/// is distinguished from C. [`Ranked::near_previous`] of row C reports this.
///
/// The test is Welch's t over the trials with Smyth's moderated variances of the rows, over all pairs of the group with
/// the correction of Holm ("A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
/// Statistics 6(2), 1979). Its unit is the trial and not the block: the blocks of a session share its memory and its
/// threads, and a hundred of them would prove a difference that the next session does not have.
pub fn rank(rows: &[RankedRow], times: &[LogTimes]) -> Vec<Ranked> {
    let apart = DistinctPairs::of(times);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| rows[*a].location.total_cmp(&rows[*b].location));
    let mut ranks: Vec<Vec<usize>> = Vec::new();
    for row in order {
        match ranks.last_mut() {
            Some(rank) if !apart.any(row, rank) => rank.push(row),
            _ => ranks.push(vec![row]),
        }
    }
    ranks.iter_mut().for_each(|rank| rank.sort_by(|a, b| rows[*a].name.cmp(&rows[*b].name)));
    places(&ranks, &apart)
}

fn places(ranks: &[Vec<usize>], apart: &DistinctPairs) -> Vec<Ranked> {
    let mut places = Vec::new();
    let mut previous: &[usize] = &[];
    for members in ranks {
        let rank = places.len() + 1;
        let shared = members.len() > 1;
        let near_previous = |row: usize| previous.iter().any(|other| !apart.are(row, *other));
        places.extend(members.iter().map(|row| Ranked {
            row: *row,
            rank,
            shared,
            near_previous: near_previous(*row),
        }));
        previous = members;
    }
    places
}

/// The pairs of rows that the trials distinguish.
struct DistinctPairs {
    rows: usize,
    pairs: Vec<bool>,
}

impl DistinctPairs {
    fn of(times: &[LogTimes]) -> Self {
        let rows = times.len();
        let pairs: Vec<(usize, usize)> = (0..rows)
            .flat_map(|first| (first + 1..rows).map(move |second| (first, second)))
            .collect();
        let spreads = RowSpreads::of(times);
        let p_values: Vec<Option<f64>> = pairs.iter().map(|(a, b)| spreads.p(*a, *b)).collect();
        let rejected = holm(&p_values, LEVEL);
        let mut apart = Self { rows, pairs: vec![false; rows * rows] };
        for ((first, second), rejected) in pairs.into_iter().zip(rejected) {
            apart.pairs[first * rows + second] = rejected;
            apart.pairs[second * rows + first] = rejected;
        }
        apart
    }

    fn are(&self, first: usize, second: usize) -> bool {
        self.pairs[first * self.rows + second]
    }

    fn any(&self, row: usize, others: &[usize]) -> bool {
        others.iter().any(|other| self.are(row, *other))
    }
}

/// The hypotheses that Holm's procedure rejects. A hypothesis without a p-value is never rejected and does not count.
fn holm(p_values: &[Option<f64>], level: f64) -> Vec<bool> {
    let mut tested: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(at, p)| Some((at, (*p)?))).collect();
    tested.sort_by(|a, b| a.1.total_cmp(&b.1));
    let passes =
        |(done, (_, p)): &(usize, &(usize, f64))| *p <= level / (tested.len() - done) as f64;
    let mut rejected = vec![false; p_values.len()];
    tested.iter().enumerate().take_while(passes).for_each(|(_, (at, _))| rejected[*at] = true);
    rejected
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(times: &[(&str, LogTimes)]) -> Vec<RankedRow> {
        let location = |trials: &LogTimes| {
            let measured: Vec<f64> = trials.iter().flatten().copied().collect();
            measured.iter().sum::<f64>() / measured.len() as f64
        };
        times
            .iter()
            .map(|(name, trials)| RankedRow { name: (*name).into(), location: location(trials) })
            .collect()
    }

    fn ranked(times: &[(&str, LogTimes)]) -> Vec<Ranked> {
        let logs: Vec<LogTimes> = times.iter().map(|(_, logs)| logs.clone()).collect();
        rank(&rows(times), &logs)
    }

    /// LogTimes around `center`, which deviate by `deviation` times 1, −1 or 0, in a different order for each row.
    fn trials(center: f64, deviation: f64, turn: usize) -> LogTimes {
        let pattern = [1.0, -1.0, 0.0, -1.0, 1.0, 0.0, 1.0, 0.0, -1.0];
        (0..9).map(|trial| Some(center + deviation * pattern[(trial * (turn + 1)) % 9])).collect()
    }

    fn shown(times: &[(&str, LogTimes)]) -> Vec<(String, usize, bool, bool)> {
        let shown = |place: &Ranked| {
            (times[place.row].0.to_string(), place.rank, place.shared, place.near_previous)
        };
        ranked(times).iter().map(shown).collect()
    }

    #[test]
    fn rows_of_one_rank_stand_in_alphabetical_order() {
        let times = [
            ("slow", trials(2.0, 0.01, 0)),
            ("b", trials(1.0, 0.01, 1)),
            ("a", trials(1.001, 0.01, 3)),
        ];
        let expected = [("a", 1, true, false), ("b", 1, true, false), ("slow", 3, false, false)];
        let expected =
            expected.map(|(name, rank, shared, near)| (name.to_string(), rank, shared, near));
        assert_eq!(shown(&times), expected);
    }

    #[test]
    fn a_chain_of_ties_is_divided_and_marked() {
        let times = [
            ("first", trials(1.00, 0.01, 0)),
            ("middle", trials(1.01, 0.01, 1)),
            ("last", trials(1.02, 0.01, 3)),
        ];
        let [middle, last] = [(0, 1), (1, 2)].map(|(a, b)| {
            RowSpreads::of(&[times[a].1.clone(), times[b].1.clone()]).p(0, 1).unwrap()
        });
        assert!(middle > 0.05 && last > 0.05, "neighbours are not told apart");
        let expected = [
            ("first".to_string(), 1, true, false),
            ("middle".to_string(), 1, true, false),
            ("last".to_string(), 3, false, true),
        ];
        assert_eq!(shown(&times), expected);
    }

    #[test]
    fn rows_without_two_common_trials_share_a_rank() {
        let times = [
            ("b", vec![Some(1.0), Some(1.0), None, None]),
            ("a", vec![None, Some(9.0), Some(9.0), Some(9.0)]),
        ];
        let places = shown(&times);
        assert!(places.iter().all(|(_, rank, shared, _)| *rank == 1 && *shared), "{places:?}");
        assert!(ranked(&[]).is_empty());
    }

    #[test]
    fn holm_is_less_strict_than_bonferroni() {
        let p_values = [Some(0.03), None, Some(0.01), Some(0.02), Some(0.9)];
        assert_eq!(holm(&p_values, 0.05), [false, false, true, false, false]);
        assert_eq!(holm(&[Some(0.02), Some(0.04)], 0.05), [true, true]);
        assert_eq!(holm(&[Some(0.04), Some(0.03)], 0.05), [false, false]);
    }

    proptest! {
        #[test]
        fn ranks_are_well_behaved(
            times in prop::collection::vec(
                (0.0..0.3, prop::collection::vec(prop::option::weighted(0.9, -0.02..0.02), 5)),
                1..12,
            ),
        ) {
            let shift = |(center, trials): &(f64, LogTimes)| -> LogTimes {
                trials.iter().map(|trial| trial.map(|trial| trial + center)).collect()
            };
            let times: Vec<LogTimes> = times.iter().map(shift).collect();
            let names: Vec<String> = (0..times.len()).map(|at| format!("{}", 97 * at % 13)).collect();
            let named: Vec<(&str, LogTimes)> =
                names.iter().map(String::as_str).zip(times.iter().cloned()).collect();
            prop_assume!(times.iter().all(|trials| trials.iter().any(Option::is_some)));
            let apart = DistinctPairs::of(&times);
            let ranked = ranked(&named);
            let mut seen: Vec<usize> = ranked.iter().map(|place| place.row).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..times.len()).collect::<Vec<_>>());
            for (at, place) in ranked.iter().enumerate() {
                let same: Vec<_> = ranked.iter().filter(|other| other.rank == place.rank).collect();
                prop_assert_eq!(place.shared, same.len() > 1);
                prop_assert!(same.iter().all(|other| !apart.are(place.row, other.row)));
                let before = ranked.iter().filter(|other| other.rank < place.rank).count();
                prop_assert_eq!(place.rank, before + 1);
                if let Some(next) = ranked.get(at + 1) {
                    prop_assert!(place.rank < next.rank || names[place.row] <= names[next.row]);
                }
            }
        }
    }
}
