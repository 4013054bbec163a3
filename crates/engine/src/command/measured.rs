//! Turns the reports of a row's workers for one trial into its measurement.

mod session;

use hdrhistogram::Histogram;
use ipcmark_machine::placement::Placement;
use ipcmark_results::{
    Answers, Blocks, Load, Measurement, Offered, OneWayParts, PlacedSamples, QueueDepth,
    StreamParts, Times, Trial,
};
use ipcmark_transport::{Carrier, Pattern, Span};

use super::{pairs, receiver::KnownWakeUps, row_reports::RowReports};
use crate::wire::{
    AnswerReport, Block, BlockKind, FollowerReport, Holdings, LeaderReport, Mapping, OfferedReport,
    Opened, ProbeBin, Reply,
};

/// The reports of a row's workers.
pub(crate) struct Reports {
    /// For each worker: the leader first, then the followers in the order of their numbers.
    opened: Vec<Opened>,
    leader: LeaderReport,
    /// For each follower that took part.
    followers: Vec<(u32, FollowerReport)>,
    /// The shared memory of each process.
    shared: Vec<Vec<Mapping>>,
    /// The resources of each process.
    holdings: Vec<Holdings>,
    /// True if every process has a socket that communicates over a network interface.
    has_network_sockets: bool,
    /// All samples.
    samples: Histogram<u64>,
    /// The wake-ups of the receiver, if messages go one way to one that sleeps.
    wake_ups: Option<KnownWakeUps>,
    /// The background pairs, which ran beside this one.
    others: Vec<Reports>,
}

/// The facts of a trial that only the command knows.
pub(crate) struct TrialFacts<'a> {
    /// The number of the trial.
    pub number: u32,
    /// The number of the round in which it took its turns.
    pub round: u32,
    pub pattern: Pattern,
    /// True if each follower has an endpoint of its own in the leader.
    pub n_sends: bool,
    pub messages_per_publication: u64,
    /// The placement of the measured pair, then of the background pairs.
    pub placements: &'a [Placement],
    /// The carrier that the transport declares.
    pub declared: Option<Carrier>,
    pub span: Span,
    pub sandboxed: bool,
    /// True if the endpoints are on different hosts.
    pub apart: bool,
    pub payload: usize,
    pub load: Load,
}

impl Reports {
    /// Sorts the replies of the workers, the leader's first in each list.
    pub(crate) fn of(replies: RowReports) -> Result<Self, String> {
        let (mut leader, mut followers) = (None, Vec::new());
        for reply in replies.measured {
            match reply {
                Reply::Led(report) => leader = Some(*report),
                Reply::Followed(report) => followers.push(report),
                other => return Err(format!("a worker answered {other:?} to a measurement")),
            }
        }
        let leader = leader.ok_or("the leader did not report")?;
        let samples = samples(&leader)?;
        let opened = replies.opened.into_iter().filter_map(Reply::opened).collect();
        let numbered = followers.into_iter().enumerate();
        let followers = numbered.filter_map(|(at, report)| Some((at as u32, report?))).collect();
        let seen = replies.seen.into_iter().filter_map(Reply::seen);
        let (mut shared, mut holdings, mut has_network_sockets) = (Vec::new(), Vec::new(), true);
        for (memory, network, held) in seen {
            shared.push(memory);
            holdings.push(held);
            has_network_sockets &= network;
        }
        let others = replies.others.into_iter().map(Reports::of).collect::<Result<_, String>>()?;
        Ok(Self {
            opened,
            leader,
            followers,
            shared,
            holdings,
            has_network_sockets,
            samples,
            wake_ups: replies.wake_ups,
            others,
        })
    }

    /// The samples of its blocks, grouped by their probes.
    pub(crate) fn placed_samples(&self) -> Vec<PlacedSamples> {
        let groups = self.leader.samples.iter().map(|group| PlacedSamples {
            probes_ns: group.bins.map(|bins| bins.map(ProbeBin::middle_ns)),
            awake: group.awake,
            shared: group.shared,
            histogram: group.histogram.clone(),
        });
        groups.collect()
    }

    /// The blocks of a reference.
    pub(crate) fn blocks(&self) -> Blocks {
        blocks(&self.leader.blocks)
    }

    /// The measurement.
    pub(crate) fn measurement(self, circumstances: &TrialFacts<'_>) -> Result<Measurement, String> {
        let (found, placed) = (self.others.len() + 1, circumstances.placements.len());
        if found != placed {
            return Err(format!("{found} of {placed} pairs reported"));
        }
        let trial = Trial {
            number: circumstances.number,
            round: circumstances.round,
            times_ns: Times::of(&self.samples),
            clock_free_mean_ns: self.clock_free_mean_ns(),
            // In an open loop times overlap: their sum has no bound.
            elapsed_ns: self
                .leader
                .offered
                .as_ref()
                .map_or_else(|| self.sampled_ns(), |all| all.elapsed_ns),
            lost_wait_ns: self.leader.lost_wait_ns,
            offered: self.offered()?,
            answers: self.answers()?,
            first_answer_ns: self.leader.first_answers.clone().map(Times::parse).transpose()?,
            one_way: self.one_way()?,
            stream: self.stream()?,
            reference_multiple: None,
            blocks: blocks(&self.leader.blocks),
            by_distance: Vec::new(),
            session: self.session(circumstances),
        };
        Ok(Measurement::of(circumstances.pattern, trial))
    }

    fn sampled(&self) -> impl Iterator<Item = &Block> {
        self.leader.blocks.iter().filter(|block| block.kind == BlockKind::Sampled)
    }

    /// The mean over all clock-free blocks; over all samples if the load leaves none.
    fn clock_free_mean_ns(&self) -> f64 {
        let is_clock_free = |block: &&Block| block.kind == BlockKind::ClockFree;
        let mut clock_free = self.leader.blocks.iter().filter(is_clock_free).peekable();
        if clock_free.peek().is_none() {
            return self.mean_of_all_ns();
        }
        let (count, elapsed_ns) = clock_free.fold((0, 0_u64), |(count, elapsed_ns), block| {
            (count + block.events, elapsed_ns.saturating_add(block.elapsed_ns))
        });
        elapsed_ns as f64 / count.max(1) as f64
    }

    /// The mean over all samples. A stream's samples are of batches of different sizes, so its mean is over all
    /// that counts.
    fn mean_of_all_ns(&self) -> f64 {
        match self.leader.stream {
            None => self.samples.mean(),
            Some(_) => self.sampled_ns() as f64 / self.events().max(1) as f64,
        }
    }

    /// The time of the events of the sampled blocks together.
    fn sampled_ns(&self) -> u64 {
        self.sampled().fold(0, |sum, block| sum.saturating_add(block.elapsed_ns))
    }

    /// The events of the sampled blocks.
    fn events(&self) -> u64 {
        self.sampled().map(|block| block.events).sum()
    }

    /// The results of a stream only.
    fn stream(&self) -> Result<Option<StreamParts>, String> {
        let Some(report) = &self.leader.stream else { return Ok(None) };
        let depths = report.depth.as_deref().map(ipcmark_results::decode).transpose()?;
        let depth = |depths: Histogram<u64>| QueueDepth {
            p50: depths.value_at_quantile(0.5),
            max: depths.max(),
        };
        Ok(Some(StreamParts {
            counted: self.events(),
            depth: depths.map(depth),
            least_published: least_published(&report.published),
            all_pairs_per_second: pairs::per_second_of_all(&self.leader, self.other_leaders()),
        }))
    }

    /// The results of one-way messages only.
    fn one_way(&self) -> Result<Option<OneWayParts>, String> {
        let Some(report) = &self.leader.one_way else { return Ok(None) };
        let clock_offset = report.clock_offset;
        let (wake_up_ns, wake_up_unknown) = match &self.wake_ups {
            None => (None, None),
            Some(Ok(wake_ups)) => (Some(Times::of(wake_ups)), None),
            Some(Err(reason)) => (None, Some(reason.clone())),
        };
        let send_ns = Times::parse(report.send.clone())?;
        let round_trip_ns = report.round_trips.clone().map(Times::parse).transpose()?;
        Ok(Some(OneWayParts { send_ns, round_trip_ns, wake_up_ns, wake_up_unknown, clock_offset }))
    }

    /// The offered and sent messages of an open loop.
    fn offered(&self) -> Result<Option<Offered>, String> {
        let Some(report) = &self.leader.offered else { return Ok(None) };
        let OfferedReport { sent, lost, unsent, late, elapsed_ns, service, delay, .. } = report;
        Ok(Some(Offered {
            intended: sent + unsent,
            sent: *sent,
            received: Some(sent - lost),
            late: *late,
            elapsed_ns: *elapsed_ns,
            service_ns: Times::parse(service.clone())?,
            delay_ns: Times::parse(delay.clone())?,
        }))
    }

    /// The leader's results for each of several followers.
    fn answers(&self) -> Result<Vec<Answers>, String> {
        let reports = &self.leader.answers;
        let several = reports.iter().enumerate().filter(|_| reports.len() > 1);
        several.map(|(follower, report)| answers(follower as u32, report)).collect()
    }
}

/// The messages that the slowest of several publishers had delivered when the fastest had finished, as a share of
/// the fastest's. None if there is one publisher, or none finished in any block.
fn least_published(published: &[u64]) -> Option<f64> {
    let most = published.iter().max().filter(|_| published.len() > 1)?;
    let least = published.iter().min()?;
    (*most > 0).then(|| *least as f64 / *most as f64)
}

/// The samples of all blocks together, which must be as many as their round trips.
fn samples(leader: &LeaderReport) -> Result<Histogram<u64>, String> {
    let mut all = ipcmark_results::new_histogram();
    for group in &leader.samples {
        let samples = ipcmark_results::decode(&group.histogram)?;
        all.add(&samples).map_err(|error| format!("its samples do not add up: {error}"))?;
    }
    let sampled = leader.blocks.iter().filter(|block| block.kind == BlockKind::Sampled);
    let mut expected: u64 = sampled.map(|block| block.samples).sum();
    if let Some(offered) = &leader.offered {
        let waited = ipcmark_results::decode(&offered.waited)?;
        all.add(&waited).map_err(|error| format!("its samples do not add up: {error}"))?;
        expected = expected.saturating_add(offered.unsent);
    }
    match all.len() {
        0 => Err("not one message was measured to its end: all were lost".into()),
        count if count == expected => Ok(all),
        count => Err(format!("the leader reported {count} samples of {expected}")),
    }
}

fn answers(follower: u32, report: &AnswerReport) -> Result<Answers, String> {
    let answer_ns = Times::parse(report.histogram.clone())?;
    Ok(Answers { follower, answer_ns, lost: report.lost })
}

fn blocks(measured: &[Block]) -> Blocks {
    let first = measured.first().map_or(0, |block| block.start_ns);
    let mut blocks = Blocks::default();
    for block in measured {
        blocks.turn.push(block.turn);
        blocks.start_ns.push(block.start_ns - first);
        blocks.clock_free.push(block.kind == BlockKind::ClockFree);
        blocks.events.push(block.events);
        blocks.elapsed_ns.push(block.elapsed_ns);
        blocks.lost.push(block.lost);
        blocks.sleeps.extend(block.sleeps);
        if let Some([before, after]) = block.probes_ns {
            blocks.probe_before_ns.push(before);
            blocks.probe_after_ns.push(after);
        }
    }
    if measured.iter().any(|block| block.shared) {
        blocks.shared_core = measured.iter().map(|block| block.shared).collect();
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SampleGroup;

    fn report(round_trips: u64, counts: &[u64]) -> LeaderReport {
        let groups = counts.iter().map(|count| {
            let mut histogram = ipcmark_results::new_histogram();
            histogram.record_n(100, *count).unwrap();
            SampleGroup {
                bins: None,
                awake: false,
                shared: false,
                histogram: ipcmark_results::encode(&histogram),
            }
        });
        let block = Block {
            turn: 0,
            start_ns: 0,
            kind: BlockKind::Sampled,
            events: round_trips,
            samples: round_trips,
            elapsed_ns: 1,
            lost: 0,
            sleeps: None,
            probes_ns: None,
            shared: false,
        };
        LeaderReport { blocks: vec![block], samples: groups.collect(), ..LeaderReport::default() }
    }

    #[test]
    fn a_round_trip_has_one_sample() {
        assert_eq!(samples(&report(30, &[10, 20])).unwrap().len(), 30);
        for counts in [[10, 19], [1 << 43, 1 << 43]] {
            let why = samples(&report(30, &counts)).unwrap_err();
            assert!(why.contains("samples of 30"), "{why}");
        }
    }

    #[test]
    fn a_group_has_no_more_samples_than_a_trial_can_have() {
        let why = samples(&report(30, &[i64::MAX as u64, 30])).unwrap_err();
        assert!(why.contains("more samples than a trial has"), "{why}");
    }
}
