//! The measurements of the machine: several turns of hiccups, probes, clock comparisons and hand-overs, so that every
//! part covers the whole time.

use std::time::Duration;

use ipcmark_machine::{
    clock,
    clock_offset::Offset,
    conditions::{self, Conditions, Processes, Snapshot},
    hiccups::{self, Hiccups},
    pair,
    placement::{self, Pinning},
    shared_core::{self, CoreSharing},
    topology::{Cpu, Relation},
};
use ipcmark_transport::Error;

use super::clocks::ClockSpread;
use crate::distances::DistanceShares;
use crate::progress::ProgressLine;

/// The number of turns.
const TURNS: u32 = 5;

/// The parts of a turn, in percent; the rest is for the canary and the start of threads.
const HICCUPS: u32 = 34;
const PROBES: u32 = 36;
const CLOCKS: u32 = 2;
const SHARED_CORES: u32 = 8;
const HAND_OVERS: u32 = 15;

/// The most hand-overs that are kept from a turn.
const MOST_HAND_OVERS: usize = 100_000;

/// A thread that uses more than this share of a processor is busy.
const BUSY: f64 = 0.05;

/// The measurements of the machine.
pub(super) struct Examination {
    /// The hiccups of each processor.
    pub hiccups: Vec<Hiccups>,
    /// Pairs of processors; the first is the one that `ipcmark run` uses.
    pub pairs: Vec<MeasuredPair>,
    /// How often the core of each processor of the first pair was shared.
    pub shared_cores: Vec<CoreSharing>,
    /// Round trips between sleeping threads on the first pair, in nanoseconds.
    pub hand_overs_ns: Vec<u64>,
    /// The time of a canary step on the first processor, in nanoseconds; one for each turn and one at
    /// the end.
    pub canary_ns: Vec<f64>,
    /// The machine's conditions during the measurement.
    pub conditions: Conditions,
    /// The CPU time of this process during the measurement.
    pub own_cpu_ns: u64,
    /// Threads of other programs that were busy all the time, the busiest first.
    pub others: Vec<OtherThread>,
}

/// Two processors.
#[derive(Clone, Debug)]
pub(super) struct MeasuredPair {
    /// Their numbers.
    pub cpus: (u32, u32),
    /// Their relation according to the system.
    pub relation: Relation,
    /// The number of probes.
    pub probes: usize,
    /// Their distances.
    pub division: DistanceShares,
    /// How far the second one's clock was ahead, if they were compared.
    pub clocks: Option<ClockSpread>,
}

/// A busy thread of another program.
pub(super) struct OtherThread {
    /// The name of its process.
    pub process: String,
    /// The used CPU time, in processors.
    pub share: f64,
}

/// Measures on these processors for about `duration`.
///
/// # Errors
/// Threads cannot be started or pinned.
pub(super) fn examine(cpus: &[Cpu], duration: Duration) -> Result<Examination, Error> {
    let mut progress = ProgressLine::new();
    let mut measurement = RunningMeasurement::new(cpus)?;
    for number in 0..TURNS {
        let mut show = |what: &str, step: u32| {
            progress.show(what, f64::from(4 * number + step) / f64::from(4 * TURNS));
        };
        measurement.turn(duration / TURNS, &mut show)?;
    }
    progress.clear();
    measurement.finish()
}

/// A measurement in progress.
struct RunningMeasurement {
    ids: Vec<u32>,
    pairs: Vec<ProbedPair>,
    hiccups: Vec<Hiccups>,
    /// The processors of the first pair, or the only one, each with its bursts.
    cores: Vec<(u32, Vec<f64>)>,
    hand_overs_ns: Vec<u64>,
    canary_ns: Vec<f64>,
    start: Snapshot,
    start_cpu_ns: u64,
    others: Processes,
}

impl RunningMeasurement {
    fn new(cpus: &[Cpu]) -> Result<Self, Error> {
        let links = links(cpus)?;
        let measured =
            links.first().map_or(vec![cpus[0].id], |link| vec![link.cpus.0, link.cpus.1]);
        Ok(Self {
            ids: cpus.iter().map(|cpu| cpu.id).collect(),
            pairs: links,
            hiccups: Vec::new(),
            cores: measured.into_iter().map(|cpu| (cpu, Vec::new())).collect(),
            hand_overs_ns: Vec::new(),
            canary_ns: Vec::new(),
            start: Snapshot::now(&[], &[]),
            start_cpu_ns: clock::process_cpu_ns(),
            others: Processes::all(),
        })
    }

    fn turn(&mut self, time: Duration, show: &mut dyn FnMut(&str, u32)) -> Result<(), Error> {
        self.canary_ns.push(conditions::canary_on(self.ids[0])?);
        show("hiccups of the processors", 0);
        self.add_hiccups(hiccups::watch(&self.ids, time * HICCUPS / 100)?);
        show("distances between processors", 1);
        self.add_probes(time * PROBES / 100, time * CLOCKS / 100)?;
        show("sharing of the cores", 2);
        self.add_bursts(time * SHARED_CORES / 100)?;
        show("hand-overs between sleeping threads", 3);
        self.add_hand_overs(time * HAND_OVERS / 100)?;
        Ok(())
    }

    fn add_hiccups(&mut self, more: Vec<Hiccups>) {
        match self.hiccups.is_empty() {
            true => self.hiccups = more,
            false => self.hiccups.iter_mut().zip(&more).for_each(|(all, more)| all.merge(more)),
        }
    }

    /// Probes the pairs and compares their clocks. The first pair gets half of the times, or all if it is alone.
    fn add_probes(&mut self, probing: Duration, comparing: Duration) -> Result<(), Error> {
        let others = self.pairs.len().saturating_sub(1) as u32;
        for (at, pair) in self.pairs.iter_mut().enumerate() {
            let part = |time: Duration| match (at, others) {
                (0, 0) => time,
                (0, _) => time / 2,
                _ => time / (2 * others),
            };
            pair.probes.extend(pair::probes(pair.cpus, part(probing))?);
            pair.clock_offsets.extend(pair::clock_offsets(pair.cpus, part(comparing))?);
        }
        Ok(())
    }

    /// Watches one core after the other: the processors may be threads of one.
    fn add_bursts(&mut self, time: Duration) -> Result<(), Error> {
        let part = time / self.cores.len() as u32;
        for (cpu, bursts) in &mut self.cores {
            bursts.extend(shared_core::bursts(*cpu, part)?);
        }
        Ok(())
    }

    fn add_hand_overs(&mut self, time: Duration) -> Result<(), Error> {
        let cpus = self.pairs.first().map_or((self.ids[0], self.ids[0]), |pair| pair.cpus);
        self.hand_overs_ns.extend(pair::hand_overs(cpus, time, MOST_HAND_OVERS)?);
        Ok(())
    }

    fn finish(mut self) -> Result<Examination, Error> {
        self.canary_ns.push(conditions::canary_on(self.ids[0])?);
        let pair = |pair: ProbedPair| MeasuredPair {
            cpus: pair.cpus,
            relation: pair.relation,
            probes: pair.probes.len(),
            division: DistanceShares::of(&pair.probes),
            clocks: ClockSpread::of(&pair.clock_offsets),
        };
        Ok(Examination {
            conditions: Snapshot::now(&[], &[]).since(&self.start),
            own_cpu_ns: clock::process_cpu_ns() - self.start_cpu_ns,
            others: others(&self.others),
            pairs: self.pairs.into_iter().map(pair).collect(),
            hiccups: self.hiccups,
            shared_cores: self.cores.iter().map(|(cpu, all)| CoreSharing::of(*cpu, all)).collect(),
            hand_overs_ns: self.hand_overs_ns,
            canary_ns: self.canary_ns,
        })
    }
}

/// Two processors to be probed, with what was measured so far.
struct ProbedPair {
    cpus: (u32, u32),
    relation: Relation,
    probes: Vec<f64>,
    clock_offsets: Vec<Offset>,
}

impl ProbedPair {
    fn between(first: &Cpu, second: &Cpu) -> Self {
        Self {
            cpus: (first.id, second.id),
            relation: first.relation(second),
            probes: Vec::new(),
            clock_offsets: Vec::new(),
        }
    }
}

/// The processors that `ipcmark run` uses, and one pair for each other relation; empty with one processor.
fn links(cpus: &[Cpu]) -> Result<Vec<ProbedPair>, Error> {
    let Some((leader, follower)) = usual(cpus)? else { return Ok(Vec::new()) };
    let mut links = vec![ProbedPair::between(leader, follower)];
    for (at, first) in cpus.iter().enumerate() {
        for second in &cpus[at + 1..] {
            let link = ProbedPair::between(first, second);
            if links.iter().all(|other| other.relation != link.relation) {
                links.push(link);
            }
        }
    }
    Ok(links)
}

fn usual(cpus: &[Cpu]) -> Result<Option<(&Cpu, &Cpu)>, Error> {
    let find = |id: Option<u32>| cpus.iter().find(|cpu| Some(cpu.id) == id);
    let placement = placement::choose(&Pinning::Auto, 1)?;
    let placed = find(placement.leader).zip(find(placement.followers[0]));
    let given = cpus.first().zip(cpus.get(1));
    Ok(placed.or(given).filter(|(leader, follower)| leader.id != follower.id))
}

fn others(earlier: &Processes) -> Vec<OtherThread> {
    let used = Processes::all().since(earlier);
    let own = std::process::id() as i32;
    let elapsed = used.elapsed_ns.max(1) as f64;
    let busy = used.busy_threads(BUSY).into_iter().filter(|(process, _)| process.pid != own);
    let mut others: Vec<OtherThread> = busy
        .map(|(process, thread)| OtherThread {
            process: process.name.clone(),
            share: thread.time.cpu_ns as f64 / elapsed,
        })
        .collect();
    others.sort_by(|a, b| b.share.total_cmp(&a.share));
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(id: u32, package: i64, core: i64, cache: &str) -> Cpu {
        Cpu { id, package, core, cache: cache.into() }
    }

    #[test]
    fn every_relation_has_one_pair() {
        let cpus = [
            cpu(10_000, 0, 0, "0-3"),
            cpu(10_001, 0, 0, "0-3"),
            cpu(10_002, 0, 1, "0-3"),
            cpu(10_003, 1, 0, "4"),
            cpu(10_004, 1, 1, "5"),
        ];
        let links = links(&cpus).unwrap();
        let found: Vec<_> = links.iter().map(|link| (link.cpus, link.relation)).collect();
        assert_eq!(
            found,
            [
                ((10_000, 10_001), Relation::Core),
                ((10_000, 10_002), Relation::Cache),
                ((10_000, 10_003), Relation::Machine),
                ((10_003, 10_004), Relation::Package),
            ]
        );
    }

    #[test]
    fn one_processor_has_no_pair() {
        assert!(links(&[cpu(10_000, 0, 0, "0")]).unwrap().is_empty());
    }
}
