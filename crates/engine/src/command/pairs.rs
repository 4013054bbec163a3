//! The total rate of several pairs.

use std::collections::BTreeSet;

use crate::wire::{Block, LeaderReport};

/// Messages per second that a stream and those beside it carried together: for each pair the rate of arrival in its
/// own blocks, for the background pairs only in the blocks beside a turn of the measured pair. None if there is no
/// other pair.
pub(super) fn per_second_of_all<'a>(
    measured: &LeaderReport,
    others: impl Iterator<Item = &'a LeaderReport>,
) -> Option<f64> {
    let mut others = others.peekable();
    others.peek()?;
    let own = per_second(measured.blocks.iter())?;
    let turns: BTreeSet<u32> = measured.blocks.iter().map(|block| block.turn).collect();
    others.try_fold(own, |sum, other| {
        let beside = |block: &&Block| turns.contains(&block.turn);
        Some(sum + per_second(other.blocks.iter().filter(beside))?)
    })
}

fn per_second<'a>(blocks: impl Iterator<Item = &'a Block>) -> Option<f64> {
    let (events, elapsed_ns) = blocks.fold((0, 0), |(events, elapsed_ns), block| {
        (events + block.events, elapsed_ns + block.elapsed_ns)
    });
    (elapsed_ns > 0).then(|| events as f64 * 1e9 / elapsed_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::BlockKind;

    /// A leader with blocks in these turns, which last 10 µs and carry this many messages each.
    fn leader(blocks: &[(u32, u64)]) -> LeaderReport {
        let block = |(turn, events): &(u32, u64)| Block {
            turn: *turn,
            start_ns: 0,
            kind: BlockKind::Sampled,
            events: *events,
            samples: 1,
            elapsed_ns: 10_000,
            lost: 0,
            sleeps: None,
            probes_ns: None,
            shared: false,
        };
        LeaderReport { blocks: blocks.iter().map(block).collect(), ..LeaderReport::default() }
    }

    #[test]
    fn rates_of_the_same_turns_add_up() {
        let measured = leader(&[(0, 10), (1, 30)]);
        let beside = leader(&[(u32::MAX, 1000), (0, 40), (1, 30), (1, 50)]);
        let all = per_second_of_all(&measured, [&beside].into_iter()).unwrap();
        assert!((all - (2e6 + 4e6)).abs() < 1.0, "{all}: beside the warm-up it was faster");
        let three = per_second_of_all(&measured, [&beside, &beside].into_iter()).unwrap();
        assert!((three - 10e6).abs() < 1.0, "{three}");
    }

    #[test]
    fn without_overlapping_turns_no_rate_is_claimed() {
        let measured = leader(&[(0, 10)]);
        assert_eq!(per_second_of_all(&measured, std::iter::empty()), None, "it was alone");
        let later = leader(&[(5, 10)]);
        assert_eq!(per_second_of_all(&measured, [&later].into_iter()), None);
        assert_eq!(per_second_of_all(&leader(&[]), [&measured].into_iter()), None);
    }
}
