//! Chooses the processors of the workers.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_transport::Error;

use crate::{
    nearness::Nearness,
    topology::{Cpu, Relation, nodes, usable},
};

/// The processors of the workers of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The leader's processor; `None` if it is not pinned.
    pub leader: Option<u32>,
    /// The followers' processors.
    pub followers: Vec<Option<u32>>,
    /// The placement as text.
    pub words: String,
    /// The problem with the placement, if any.
    pub warning: Option<String>,
}

impl Placement {
    /// True if two of its processes have the same processor.
    pub fn shares_processors(&self) -> bool {
        let cpus: Vec<u32> = self.cpus().collect();
        cpus.iter().collect::<BTreeSet<_>>().len() < cpus.len()
    }

    /// The processors of all ends that are pinned, the leader's first.
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.leader.into_iter().chain(self.followers.iter().copied().flatten())
    }

    /// The same with the processors of the leader and of the first follower exchanged.
    pub fn swapped(&self) -> Self {
        let mut swapped = self.clone();
        if let Some(first) = swapped.followers.first_mut() {
            std::mem::swap(&mut swapped.leader, first);
        }
        swapped
    }
}

/// The placement that the user wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// Different physical cores, from the system's topology.
    #[default]
    Auto,
    /// These processors: the leader's first, then the followers'.
    Cpus(Vec<u32>),
    /// Processors that share this level of the machine and no nearer one.
    Near(Nearness),
    /// The same for each level that the machine has, in turn.
    EachLevel,
    /// The scheduler decides.
    Off,
}

impl Pinning {
    /// Checks that this many leaders with `followers` followers each can be placed. Called before measuring.
    ///
    /// # Errors
    /// As [`choose`].
    pub fn check(&self, followers: u32, pairs: u32) -> Result<(), Error> {
        choose_pairs(self, followers, pairs).map(drop)
    }
}

/// Chooses processors for a leader and `followers` followers.
///
/// # Errors
/// `pinning` names too few processors, one that this process may not run on, or a level that no processors share.
pub fn choose(pinning: &Pinning, followers: u32) -> Result<Placement, Error> {
    let cpus = usable()?;
    match pinning {
        Pinning::Off => Ok(Placement {
            leader: None,
            followers: vec![None; followers as usize],
            words: "not pinned: the scheduler moves the processes".into(),
            warning: None,
        }),
        Pinning::Cpus(ids) => given(ids, &cpus, followers),
        Pinning::Near(nearness) => {
            Ok(placed(&nearness.choose(&cpus, &nodes(), followers as usize)?))
        }
        Pinning::EachLevel => Ok(each_level(&cpus, &nodes(), followers as usize)?.swap_remove(0)),
        Pinning::Auto => Ok(placed(&automatic(&cpus, followers as usize + 1))),
    }
}

/// Chooses processors for several pairs that run at once, each of a leader and `followers` followers. The first pair,
/// which is measured, has the processors that it would have alone; its text and its warning describe all pairs.
///
/// # Errors
/// As [`choose`].
pub fn choose_pairs(
    pinning: &Pinning,
    followers: u32,
    pairs: u32,
) -> Result<Vec<Placement>, Error> {
    if pairs <= 1 {
        return Ok(vec![choose(pinning, followers)?]);
    }
    let cpus = usable()?;
    let ends = followers as usize + 1;
    match pinning {
        Pinning::Off => Ok(vec![choose(pinning, followers)?; pairs as usize]),
        Pinning::Cpus(ids) => Ok(placed_pairs(&found(ids, &cpus, ends * pairs as usize)?, ends)),
        Pinning::Near(nearness) => Err(one_pair_only(pairs, nearness.as_str())),
        Pinning::EachLevel => Err(one_pair_only(pairs, "all")),
        Pinning::Auto => Ok(placed_pairs(&automatic_pairs(&cpus, ends, pairs as usize), ends)),
    }
}

fn one_pair_only(pairs: u32, placement: &str) -> Error {
    let cause = "--placement chooses the processors of one pair";
    Error::new("place", format!("{pairs} pairs {placement}"), cause)
        .remedy("name those of all pairs with --cpus")
}

/// Chooses processors as [`choose_pairs`]; several times for [`Pinning::EachLevel`], for trials in turn.
///
/// # Errors
/// As [`choose`].
pub fn choose_in_turn(
    pinning: &Pinning,
    followers: u32,
    pairs: u32,
) -> Result<Vec<Vec<Placement>>, Error> {
    if *pinning != Pinning::EachLevel || pairs > 1 {
        return Ok(vec![choose_pairs(pinning, followers, pairs)?]);
    }
    let all = each_level(&usable()?, &nodes(), followers as usize)?;
    Ok(all.into_iter().map(|placement| vec![placement]).collect())
}

/// A placement for each level at which there are enough processors, the nearest first; at least one.
fn each_level(
    cpus: &[Cpu],
    nodes: &BTreeMap<u32, u32>,
    followers: usize,
) -> Result<Vec<Placement>, Error> {
    let choices = Nearness::ALL.map(|level| level.choose(cpus, nodes, followers));
    let found: Vec<Placement> = choices.iter().flatten().map(|cpus| placed(cpus)).collect();
    let [nearest, ..] = choices;
    if found.is_empty() { Err(nearest.expect_err("none was found")) } else { Ok(found) }
}

/// A processor for one end of two on different hosts. If both are on one host after all, the other end gets another
/// processor.
///
/// # Errors
/// As [`choose`].
pub fn choose_one(pinning: &Pinning, leads: bool) -> Result<Option<u32>, Error> {
    Ok(match pinning {
        Pinning::Auto | Pinning::Near(_) | Pinning::EachLevel => {
            let pair = choose(pinning, 1)?;
            if leads { pair.leader } else { pair.followers[0] }
        }
        Pinning::Cpus(_) | Pinning::Off => choose(pinning, 0)?.leader,
    })
}

/// Chooses a processor for a leader whose followers are on other hosts and choose their own.
///
/// # Errors
/// As [`choose`].
pub fn choose_alone(pinning: &Pinning, followers: u32) -> Result<Placement, Error> {
    let leader = choose_one(pinning, true)?;
    let on = leader.map_or("not pinned".into(), |cpu| format!("on cpu {cpu}"));
    Ok(Placement {
        leader,
        followers: vec![None; followers as usize],
        words: format!("leader {on}, followers on other hosts"),
        warning: None,
    })
}

fn given(ids: &[u32], cpus: &[Cpu], followers: u32) -> Result<Placement, Error> {
    Ok(placed(&found(ids, cpus, followers as usize + 1)?))
}

/// The processors that a user names; there must be one an end.
fn found<'a>(ids: &[u32], cpus: &'a [Cpu], ends: usize) -> Result<Vec<&'a Cpu>, Error> {
    if ids.len() != ends {
        let cause = format!("{ends} processors are needed, one a process");
        return Err(Error::new("use", format!("--cpus with {} processors", ids.len()), cause));
    }
    let find =
        |id: &u32| cpus.iter().find(|cpu| cpu.id == *id).ok_or_else(|| not_usable(*id, cpus));
    ids.iter().map(find).collect()
}

/// The processors of pair after pair. Each pair is placed, as if alone, on the cores that earlier pairs left; if these
/// are too few, the rounds start again with all.
fn automatic_pairs(cpus: &[Cpu], ends: usize, pairs: usize) -> Vec<&Cpu> {
    let mut all: Vec<&Cpu> = Vec::new();
    let mut taken: Vec<u32> = Vec::new();
    for _ in 0..pairs {
        let cores_left =
            left(cpus, &taken, |cpu, other| cpu.physical_core() == other.physical_core());
        let cpus_left = left(cpus, &taken, |cpu, other| cpu.id == other.id);
        let enough = [cores_left, cpus_left].into_iter().find(|left| left.len() >= ends);
        let of_pair: Vec<u32> = match enough {
            Some(left) => automatic(&left, ends).iter().map(|cpu| cpu.id).collect(),
            None => {
                taken.clear();
                automatic(cpus, ends).iter().map(|cpu| cpu.id).collect()
            }
        };
        taken.extend(&of_pair);
        all.extend(of_pair.iter().filter_map(|id| cpus.iter().find(|cpu| cpu.id == *id)));
    }
    all
}

/// The processors that share nothing with the taken ones; one of each core if `shares` compares cores.
fn left(cpus: &[Cpu], taken: &[u32], shares: impl Fn(&Cpu, &Cpu) -> bool) -> Vec<Cpu> {
    let mut left: Vec<Cpu> = Vec::new();
    for cpu in cpus {
        let is_taken = |other: &&Cpu| taken.contains(&other.id);
        let shared = cpus.iter().filter(is_taken).chain(&left).any(|other| shares(cpu, other));
        if !shared {
            left.push(cpu.clone());
        }
    }
    left
}

/// The pairs on these processors, each with this many ends.
fn placed_pairs(chosen: &[&Cpu], ends: usize) -> Vec<Placement> {
    let mut pairs: Vec<Placement> = chosen.chunks(ends).map(placed).collect();
    pairs[0].words = format!("{}; beside it {}", pairs[0].words, beside(&pairs[1..]));
    pairs[0].warning = warning_of_pairs(chosen);
    pairs
}

/// The places of further pairs; those of equal places are counted.
fn beside(pairs: &[Placement]) -> String {
    let mut places: Vec<(&str, usize)> = Vec::new();
    for pair in pairs {
        match places.iter_mut().find(|(words, _)| *words == pair.words) {
            Some((_, count)) => *count += 1,
            None => places.push((&pair.words, 1)),
        }
    }
    let words = places.iter().map(|(words, count)| match count {
        1 => (*words).to_owned(),
        count => format!("{count} times {words}"),
    });
    words.collect::<Vec<_>>().join("; ")
}

fn warning_of_pairs(chosen: &[&Cpu]) -> Option<String> {
    let ids: BTreeSet<u32> = chosen.iter().map(|cpu| cpu.id).collect();
    if ids.len() == chosen.len() {
        return warning(chosen);
    }
    Some(format!(
        "{} processes of several pairs share {} processor(s): figures include the competition of the pairs in the \
        scheduler as well as in the transport",
        chosen.len(),
        ids.len()
    ))
}

fn not_usable(id: u32, cpus: &[Cpu]) -> Error {
    let ids: Vec<_> = cpus.iter().map(|cpu| cpu.id.to_string()).collect();
    Error::new("use", format!("processor {id}"), "this process may not run on it")
        .remedy(format!("choose from {}", ids.join(",")))
}

/// Different physical cores under one last-level cache if there are enough. The first core is left to the system's own
/// work if there are others.
fn automatic(cpus: &[Cpu], count: usize) -> Vec<&Cpu> {
    let mut cores: Vec<&Cpu> = Vec::new();
    for cpu in cpus {
        if !cores.iter().any(|other| other.physical_core() == cpu.physical_core()) {
            cores.push(cpu);
        }
    }
    let chosen = neighbours(&cores[1..], count).or_else(|| neighbours(&cores, count));
    let chosen = chosen.unwrap_or(cores);
    // With fewer cores than processes: their other threads, then the same ones again.
    let others = cpus.iter().filter(|cpu| !chosen.contains(cpu));
    let mut all: Vec<&Cpu> = chosen.iter().copied().chain(others).collect();
    all.truncate(count);
    let round = all.clone();
    all.extend(round.iter().cycle().take(count - round.len()));
    all
}

/// The first `count` cores that share a last-level cache.
fn neighbours<'a>(cores: &[&'a Cpu], count: usize) -> Option<Vec<&'a Cpu>> {
    let sharing = |first: &&Cpu| -> Vec<&'a Cpu> {
        cores.iter().filter(|core| core.cache == first.cache).copied().collect()
    };
    cores.iter().map(sharing).find(|group| group.len() >= count)
}

fn placed(cpus: &[&Cpu]) -> Placement {
    let (leader, followers) = (cpus[0], &cpus[1..]);
    let ids: Vec<_> = followers.iter().map(|cpu| cpu.id.to_string()).collect();
    let noun = if followers.len() == 1 { "follower" } else { "followers" };
    let distance = distance(leader, followers);
    Placement {
        leader: Some(leader.id),
        followers: followers.iter().map(|cpu| Some(cpu.id)).collect(),
        words: format!("leader on cpu {}, {noun} on cpu {}: {distance}", leader.id, ids.join(",")),
        warning: warning(cpus),
    }
}

/// The relation of the leader to its farthest follower.
fn distance(leader: &Cpu, followers: &[&Cpu]) -> Relation {
    followers.iter().map(|cpu| leader.relation(cpu)).max().unwrap_or(Relation::Same)
}

fn warning(cpus: &[&Cpu]) -> Option<String> {
    let ids: BTreeSet<u32> = cpus.iter().map(|cpu| cpu.id).collect();
    let cores: BTreeSet<_> = cpus.iter().map(|cpu| cpu.physical_core()).collect();
    if ids.len() < cpus.len() {
        Some(format!(
            "{} processes share {} processor(s): they cannot all run at once",
            cpus.len(),
            ids.len()
        ))
    } else if cores.len() < cpus.len() {
        Some("two processes share one physical core: they slow each other down".into())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(id: u32, package: i64, core: i64, cache: &str) -> Cpu {
        Cpu { id, package, core, cache: cache.into() }
    }

    fn ids(cpus: &[Cpu], count: usize) -> Vec<u32> {
        automatic(cpus, count).iter().map(|cpu| cpu.id).collect()
    }

    #[test]
    fn two_cores_are_taken_rather_than_two_threads_of_one() {
        let cpus =
            [cpu(0, 0, 0, "0-3"), cpu(1, 0, 0, "0-3"), cpu(2, 0, 1, "0-3"), cpu(3, 0, 1, "0-3")];
        assert_eq!(ids(&cpus, 2), [0, 2]);
        assert_eq!(ids(&cpus, 3), [0, 2, 1]);
    }

    #[test]
    fn cores_share_a_cache_where_they_can_and_the_first_is_left_free() {
        let caches = ["0-1", "0-1", "2-3", "2-3"];
        let cpus: Vec<Cpu> = (0..4).map(|n| cpu(n, 0, i64::from(n), caches[n as usize])).collect();
        assert_eq!(ids(&cpus, 2), [2, 3]);
        let one_cache: Vec<Cpu> = (0..4).map(|n| cpu(n, 0, i64::from(n), "0-3")).collect();
        assert_eq!(ids(&one_cache, 2), [1, 2]);
    }

    #[test]
    fn one_processor_serves_both_with_a_warning() {
        let cpus = [cpu(0, 0, 0, "0")];
        assert_eq!(ids(&cpus, 2), [0, 0]);
        let placement = placed(&automatic(&cpus, 2));
        assert!(placement.shares_processors());
        assert!(placement.warning.is_some_and(|warning| warning.contains("share 1 processor")));
        assert!(placement.words.contains("the same processor"));
    }

    #[test]
    fn pairs_have_cores_of_their_own_as_long_as_there_are_any() {
        let pairs = |cpus: &[Cpu], pairs| -> Vec<u32> {
            automatic_pairs(cpus, 2, pairs).iter().map(|cpu| cpu.id).collect()
        };
        let six: Vec<Cpu> = (0..6).map(|n| cpu(n, 0, i64::from(n), "0-5")).collect();
        assert_eq!(pairs(&six, 1), [1, 2], "the measured one is where it is alone");
        assert_eq!(pairs(&six, 2), [1, 2, 3, 4]);
        assert_eq!(pairs(&six, 4), [1, 2, 3, 4, 0, 5, 1, 2], "then all begin anew");
        let threads =
            [cpu(0, 0, 0, "0-3"), cpu(1, 0, 0, "0-3"), cpu(2, 0, 1, "0-3"), cpu(3, 0, 1, "0-3")];
        assert_eq!(pairs(&threads, 2), [0, 2, 1, 3], "the other threads of its cores");
        let two = [cpu(0, 0, 0, "0"), cpu(1, 0, 1, "0")];
        assert_eq!(pairs(&two, 3), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn the_description_and_the_warning_of_pairs_cover_all_of_them() {
        let two = [cpu(0, 0, 0, "0"), cpu(1, 0, 1, "0")];
        let placed = placed_pairs(&automatic_pairs(&two, 2, 2), 2);
        assert_eq!(placed.len(), 2);
        assert_eq!((placed[1].leader, &placed[1].followers[..]), (Some(0), &[Some(1)][..]));
        assert!(placed[0].words.contains("; beside it leader on cpu 0"), "{}", placed[0].words);
        let warning = placed[0].warning.clone().unwrap();
        assert!(warning.contains("4 processes of several pairs share 2"), "{warning}");
        let four: Vec<Cpu> = (0..4).map(|n| cpu(n, 0, i64::from(n), "0-3")).collect();
        assert_eq!(placed_pairs(&automatic_pairs(&four, 2, 2), 2)[0].warning, None);
        let many = placed_pairs(&automatic_pairs(&two, 2, 16), 2);
        assert!(
            many[0].words.contains("; beside it 15 times leader on cpu 0"),
            "{}",
            many[0].words
        );
    }

    #[test]
    fn each_level_has_one_placement() {
        let four = [cpu(0, 0, 0, "0"), cpu(1, 0, 0, "0"), cpu(2, 0, 1, "0"), cpu(3, 1, 2, "3")];
        let cpus = |followers| -> Vec<Vec<u32>> {
            let found = each_level(&four, &BTreeMap::new(), followers).unwrap();
            found.iter().map(|placement| placement.cpus().collect()).collect()
        };
        assert_eq!(cpus(1), [[0, 1], [0, 2], [2, 3]], "two threads, two cores, two packages");
        assert_eq!(cpus(3), [[3, 0, 2, 1]], "no level has three others but the farthest");
        let error = each_level(&four[..1], &BTreeMap::new(), 1).unwrap_err().to_string();
        assert!(error.contains("this process may use one processor only"), "{error}");
    }

    #[test]
    fn requested_processors_are_checked() {
        let cpus = [cpu(0, 0, 0, "0"), cpu(1, 0, 1, "1")];
        assert_eq!(given(&[1, 0], &cpus, 1).unwrap().leader, Some(1));
        assert!(given(&[1], &cpus, 1).unwrap_err().to_string().contains("2 processors are needed"));
        assert!(given(&[0, 7], &cpus, 1).unwrap_err().to_string().contains("choose from 0,1"));
    }
}
