//! The pairs of processors to measure, and their order.

use std::collections::BTreeMap;

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use ipcmark_machine::topology::{Cpu, Relation};

/// The number of pairs that are measured without --all.
const MOST: usize = 256;

/// A pair of processors, the one with the smaller number first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessorPair {
    pub cpus: (u32, u32),
    pub relation: Relation,
}

/// The pairs to measure and the number of pairs left out. The order is random, so that a machine that changes meanwhile
/// favours none.
pub(super) fn choose(cpus: &[Cpu], all: bool, seed: u64) -> (Vec<ProcessorPair>, usize) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut kinds: BTreeMap<Relation, Vec<ProcessorPair>> = BTreeMap::new();
    for (at, a) in cpus.iter().enumerate() {
        for b in &cpus[at + 1..] {
            let pair =
                ProcessorPair { cpus: (a.id.min(b.id), a.id.max(b.id)), relation: a.relation(b) };
            kinds.entry(pair.relation).or_default().push(pair);
        }
    }
    kinds.values_mut().for_each(|kind| shuffle(kind, &mut random));
    let count = kinds.values().map(Vec::len).sum();
    let wanted = if all { count } else { MOST.min(count) };
    let mut chosen = Vec::with_capacity(wanted);
    // One of each kind in turn: pairs of threads of one core are few, and must appear.
    while chosen.len() < wanted {
        let next = kinds.values_mut().filter_map(Vec::pop);
        chosen.extend(next.take(wanted - chosen.len()));
    }
    shuffle(&mut chosen, &mut random);
    (chosen, count - wanted)
}

fn shuffle(pairs: &mut [ProcessorPair], random: &mut ChaCha8Rng) {
    for at in (1..pairs.len()).rev() {
        pairs.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Cores of two threads, `under` cores under one cache.
    fn machine(count: u32, under: u32) -> Vec<Cpu> {
        let cpu = |id: u32| Cpu {
            id,
            package: 0,
            core: i64::from(id / 2),
            cache: (id / (2 * under)).to_string(),
        };
        (0..count).map(cpu).collect()
    }

    fn set(pairs: &[ProcessorPair]) -> BTreeSet<(u32, u32)> {
        pairs.iter().map(|pair| pair.cpus).collect()
    }

    #[test]
    fn few_processors_have_all_their_pairs_once() {
        let (pairs, left) = choose(&machine(8, 2), false, 1);
        assert_eq!((pairs.len(), set(&pairs).len(), left), (28, 28, 0));
        assert!(pairs.iter().all(|pair| pair.cpus.0 < pair.cpus.1));
        assert_ne!(choose(&machine(8, 2), false, 2).0, pairs, "another seed, another order");
        assert_eq!(choose(&machine(8, 2), false, 1).0, pairs);
    }

    #[test]
    fn every_kind_of_pair_is_chosen_among_many_processors() {
        let (pairs, left) = choose(&machine(128, 4), false, 1);
        assert_eq!((pairs.len(), set(&pairs).len(), left), (256, 256, 128 * 127 / 2 - 256));
        let of = |relation| pairs.iter().filter(|pair| pair.relation == relation).count();
        assert_eq!(of(Relation::Core), 64, "all of them");
        assert!(of(Relation::Cache) > 80 && of(Relation::Package) > 80);
        assert_eq!(choose(&machine(128, 4), true, 1).1, 0);
    }

    #[test]
    fn one_processor_has_no_pair() {
        assert_eq!(choose(&machine(1, 1), true, 1), (Vec::new(), 0));
    }
}
