//! Placements by the topology: pairs of processors that share a given level of it, and no more.

use std::{collections::BTreeMap, fmt};

use ipcmark_transport::Error;

use crate::topology::{Cpu, Relation};

/// The nearest level of the machine that the processors of a leader and of each of its followers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nearness {
    /// The physical core: two hardware threads of it.
    Smt,
    /// The last-level cache.
    SameCache,
    /// The memory node, without a common last-level cache.
    CrossCache,
    /// The machine: their memory nodes differ, or their packages where the system names no nodes.
    CrossNuma,
}

impl Nearness {
    /// All of them, the nearest first.
    pub const ALL: [Self; 4] = [Self::Smt, Self::SameCache, Self::CrossCache, Self::CrossNuma];

    /// The word for it in flags and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Smt => "smt",
            Self::SameCache => "same-cache",
            Self::CrossCache => "cross-cache",
            Self::CrossNuma => "cross-numa",
        }
    }

    /// The nearness of two processors; none if they are one. `nodes` has the memory node of each, as far as it is known.
    pub fn of(first: &Cpu, second: &Cpu, nodes: &BTreeMap<u32, u32>) -> Option<Self> {
        Some(match first.relation(second) {
            Relation::Same => return None,
            Relation::Core => Self::Smt,
            Relation::Cache => Self::SameCache,
            relation => {
                let node = |cpu: &Cpu| nodes.get(&cpu.id);
                let is_far = match (node(first), node(second)) {
                    (Some(first), Some(second)) => first != second,
                    _ => relation == Relation::Machine,
                };
                if is_far { Self::CrossNuma } else { Self::CrossCache }
            }
        })
    }

    /// The levels at which some two of these processors are.
    fn found(cpus: &[Cpu], nodes: &BTreeMap<u32, u32>) -> Vec<Self> {
        let has = |wanted: &Self| {
            let pairs = cpus.iter().flat_map(|a| cpus.iter().map(move |b| (a, b)));
            pairs.into_iter().any(|(a, b)| Self::of(a, b, nodes) == Some(*wanted))
        };
        Self::ALL.into_iter().filter(has).collect()
    }

    /// A leader's processor and those of `followers` followers, each of which is as near to the leader's as this says.
    /// The followers have physical cores of their own where there are enough, and the first core is left to the system
    /// where others do.
    ///
    /// # Errors
    /// The machine has too few processors that are related like this.
    pub(crate) fn choose<'a>(
        self,
        cpus: &'a [Cpu],
        nodes: &BTreeMap<u32, u32>,
        followers: usize,
    ) -> Result<Vec<&'a Cpu>, Error> {
        let first_core = cpus.first().map(Cpu::physical_core);
        let others: Vec<&Cpu> =
            cpus.iter().filter(|cpu| Some(cpu.physical_core()) != first_core).collect();
        let all: Vec<&Cpu> = cpus.iter().collect();
        let chosen = [others, all].iter().find_map(|from| self.among(from, nodes, followers));
        chosen.ok_or_else(|| self.not_found(cpus, nodes, followers))
    }

    fn among<'a>(
        self,
        cpus: &[&'a Cpu],
        nodes: &BTreeMap<u32, u32>,
        followers: usize,
    ) -> Option<Vec<&'a Cpu>> {
        cpus.iter().find_map(|leader| {
            let near = cpus.iter().filter(|cpu| Self::of(leader, cpu, nodes) == Some(self));
            let (mut own, mut shared): (Vec<&Cpu>, Vec<&Cpu>) = (Vec::new(), Vec::new());
            for cpu in near {
                let is_taken = own.iter().any(|own| own.physical_core() == cpu.physical_core());
                if is_taken { shared.push(cpu) } else { own.push(cpu) }
            }
            let mut chosen = vec![*leader];
            chosen.extend(own.into_iter().chain(shared).take(followers));
            (chosen.len() == followers + 1).then_some(chosen)
        })
    }

    fn not_found(self, cpus: &[Cpu], nodes: &BTreeMap<u32, u32>, followers: usize) -> Error {
        let found: Vec<_> = Self::found(cpus, nodes).into_iter().map(Self::as_str).collect();
        let cause = format!(
            "none of the {} processors that this process may use has {followers} other(s) that near",
            cpus.len()
        );
        let remedy = match found.is_empty() {
            true => "this process may use one processor only".into(),
            false => format!("there are pairs for --placement {}", found.join(", ")),
        };
        Error::new("place", format!("the processes {self}"), cause).remedy(remedy)
    }
}

impl fmt::Display for Nearness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two caches of two cores of two threads; a memory node a package.
    fn machine() -> (Vec<Cpu>, BTreeMap<u32, u32>) {
        let cpu = |id: u32| Cpu {
            id,
            package: i64::from(id / 8),
            core: i64::from(id % 8 / 2),
            cache: (id / 4).to_string(),
        };
        ((0..16).map(cpu).collect(), (0..16).map(|id| (id, id / 8)).collect())
    }

    fn chosen(nearness: Nearness, followers: usize) -> Result<Vec<u32>, String> {
        let (cpus, nodes) = machine();
        let chosen = nearness.choose(&cpus, &nodes, followers).map_err(|e| e.to_string())?;
        Ok(chosen.iter().map(|cpu| cpu.id).collect())
    }

    #[test]
    fn each_placement_word_has_its_own_pair() {
        assert_eq!(chosen(Nearness::Smt, 1).unwrap(), [2, 3]);
        assert_eq!(chosen(Nearness::SameCache, 1).unwrap(), [4, 6]);
        assert_eq!(chosen(Nearness::CrossCache, 1).unwrap(), [2, 4]);
        assert_eq!(chosen(Nearness::CrossNuma, 1).unwrap(), [2, 8]);
    }

    #[test]
    fn followers_have_cores_of_their_own_first() {
        assert_eq!(chosen(Nearness::CrossNuma, 5).unwrap(), [2, 8, 10, 12, 14, 9]);
        assert_eq!(chosen(Nearness::CrossCache, 4).unwrap(), [2, 4, 6, 5, 7]);
    }

    #[test]
    fn the_error_for_a_missing_placement_lists_the_available_ones() {
        let why = chosen(Nearness::Smt, 2).unwrap_err();
        assert!(why.contains("place the processes smt"), "{why}");
        assert!(why.contains("smt, same-cache, cross-cache, cross-numa"), "{why}");
        let (cpus, nodes) = machine();
        let why = Nearness::CrossNuma.choose(&cpus[..4], &nodes, 1).unwrap_err().to_string();
        assert!(why.ends_with("--placement smt, same-cache"), "{why}");
        let why = Nearness::SameCache.choose(&cpus[..1], &nodes, 1).unwrap_err().to_string();
        assert!(why.contains("one processor only"), "{why}");
    }

    #[test]
    fn without_memory_nodes_packages_separate_processors() {
        let (cpus, _) = machine();
        let nearness = |a: usize, b: usize| Nearness::of(&cpus[a], &cpus[b], &BTreeMap::new());
        assert_eq!(nearness(0, 4), Some(Nearness::CrossCache));
        assert_eq!(nearness(0, 8), Some(Nearness::CrossNuma));
        assert_eq!(nearness(3, 3), None);
    }
}
