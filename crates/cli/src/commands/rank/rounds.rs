//! The schedule of the pairs of ranks: every pair once, in rounds in which no rank is in two pairs.

/// Two ranks, the smaller first: it leads.
pub(super) type RankPair = (u32, u32);

/// The rounds of pairs of ranks 0 to `count` - 1, by the circle method of round-robin tournaments: the first rank
/// stays, the others rotate by one position per round, and opposite ranks are paired. The first round has a pair of
/// rank 0, with which its result begins.
pub(super) fn rounds(count: u32) -> Vec<Vec<RankPair>> {
    let mut positions: Vec<Option<u32>> = (0..count).map(Some).collect();
    // The rank opposite the empty position pauses.
    if count % 2 == 1 {
        positions.insert(1, None);
    }
    let mut rounds = Vec::new();
    for _ in 1..positions.len() {
        let (near, far) = positions.split_at(positions.len() / 2);
        let opposite = near.iter().zip(far.iter().rev());
        let pair = |(a, b): (&Option<u32>, &Option<u32>)| {
            let (a, b) = ((*a)?, (*b)?);
            Some((a.min(b), a.max(b)))
        };
        let mut round: Vec<RankPair> = opposite.filter_map(pair).collect();
        round.sort();
        rounds.push(round);
        positions[1..].rotate_right(1);
    }
    rounds
}

/// The pairs that are measured at the same time, in order: each round is split until no machine has two pairs at once.
/// `machines` has the machine of each rank.
pub(super) fn slots(machines: &[&str]) -> Vec<Vec<RankPair>> {
    let mut slots = Vec::new();
    for mut left in rounds(machines.len() as u32) {
        while !left.is_empty() {
            let mut busy: Vec<&str> = Vec::new();
            let (now, later) = left.into_iter().partition(|(a, b)| {
                let ends = [machines[*a as usize], machines[*b as usize]];
                let is_free = ends.iter().all(|machine| !busy.contains(machine));
                if is_free {
                    busy.extend(ends);
                }
                is_free
            });
            slots.push(now);
            left = later;
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all(count: u32) -> BTreeSet<RankPair> {
        (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect()
    }

    fn flat(parts: &[Vec<RankPair>]) -> Vec<RankPair> {
        parts.iter().flatten().copied().collect()
    }

    #[test]
    fn every_pair_is_in_one_round_and_no_rank_twice_in_one() {
        for count in 2..=65 {
            let rounds = rounds(count);
            let pairs = flat(&rounds);
            assert_eq!(pairs.len(), all(count).len(), "{count} ranks");
            assert_eq!(pairs.into_iter().collect::<BTreeSet<_>>(), all(count), "{count} ranks");
            for round in &rounds {
                let ranks: BTreeSet<u32> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
                assert_eq!(ranks.len(), 2 * round.len(), "{count} ranks: {round:?}");
            }
            // The fewest possible rounds, and rank 0 in the first.
            assert_eq!(rounds.len() as u32, count - 1 + count % 2, "{count} ranks");
            assert_eq!(rounds[0][0].0, 0, "{count} ranks");
        }
    }

    #[test]
    fn on_one_machine_one_pair_is_measured_at_a_time() {
        let slots = slots(&["a"; 4]);
        assert_eq!(slots.len(), 6);
        assert!(slots.iter().all(|slot| slot.len() == 1));
        assert_eq!(flat(&slots).into_iter().collect::<BTreeSet<_>>(), all(4));
    }

    #[test]
    fn pairs_on_other_machines_are_measured_at_the_same_time() {
        assert_eq!(slots(&["a", "b", "c", "d"]), rounds(4));
        let machines = ["a", "a", "b", "b", "c"];
        let slots = slots(&machines);
        let machine = |rank: u32| machines[rank as usize];
        for slot in &slots {
            let of_pair = |(a, b): &RankPair| BTreeSet::from([machine(*a), machine(*b)]);
            let each: usize = slot.iter().map(|pair| of_pair(pair).len()).sum();
            let together: BTreeSet<&str> = slot.iter().flat_map(of_pair).collect();
            assert_eq!(together.len(), each, "{slot:?}");
        }
        assert_eq!(flat(&slots).len(), 10);
        assert!(slots.iter().any(|slot| slot.len() == 2), "{slots:?}");
    }
}
