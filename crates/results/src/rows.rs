//! Makes cases into rows.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;

use ipcmark_transport::Wait;

use crate::{
    model::{Case, Identity, Offered, RoundRecord, RunResult, Times, Trial},
    stats::median,
    stats::{self, Interval, histogram::new_histogram},
    wakefulness::{is_mixed, light_share, stayed_awake},
};

/// The number of samples that carry a 99th percentile.
const FEWEST_WAKE_UPS: u64 = 368;

/// The least share of its messages that an open loop must send. From one unsent message of a hundred on, the 99th
/// percentile is that of a message that was never sent.
const LEAST_SENT: f64 = 0.99;

/// A measured case. Times are those of an event in ns, at the run's reference distance if it has distances. Figures
/// over all distances, the tail included, are labelled as such.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The case.
    pub case: &'a Case,
    /// Its trials, at least one.
    pub trials: &'a [Trial],
    /// The distance at which rows are compared; none if there are no distances.
    pub distance: Option<u32>,
    /// Processors that the run could use; 0 if unknown.
    pub cpus: u32,
    /// The step of the clock. Samples lie within a step around their recorded value; a percentile is interpolated over
    /// it.
    pub step_ns: f64,
    /// The rounds of the run, by their numbers.
    pub rounds: &'a [RoundRecord],
    /// Its rank in its group; none if the rows of the group are not ranked, the row has no time, it should sleep and did
    /// not, its library takes the processors of its ends, or it did not hold its rate.
    pub rank: Option<RowRank>,
}

/// A rank: rows that the trials do not distinguish have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRank {
    /// One more than the number of rows in better ranks.
    pub number: usize,
    /// True if other rows have the same.
    pub shared: bool,
}

/// The rates of an open loop that could not send its messages in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotHeld {
    /// Messages a second that it sent.
    pub sent_per_second: f64,
    /// Messages a second that it was to send.
    pub intended_per_second: f64,
}

/// A figure of a row, with its 95 % confidence interval if there are enough trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// The rows that were measured in at least `trials` trials, but have a location at the reference distance in fewer.
pub fn thin(result: &RunResult, trials: usize) -> Vec<&Identity> {
    let distance = result.reference_distance();
    let rows = result.cases.iter().filter_map(|case| Row::of(case, distance));
    let is_thin =
        |row: &Row| row.trials.len() >= trials && row.locations().iter().flatten().count() < trials;
    rows.filter(is_thin).map(|row| &row.case.identity).collect()
}

/// The number of measured rows whose interval has a half-width above this share of the mean, or that have no interval
/// at the reference distance.
pub fn wider_than(result: &RunResult, half_width: f64) -> usize {
    let distance = result.reference_distance();
    let rows = result.cases.iter().filter_map(|case| Row::of(case, distance));
    let width = |row: &Row| row.location()?.relative_half_width();
    rows.filter(|row| width(row).is_none_or(|width| width > half_width)).count()
}

impl<'a> Row<'a> {
    /// The row of a case at this distance, if the case was measured. A row without probes, such as one whose messages
    /// do not leave the process, has no distance.
    pub fn of(case: &'a Case, distance: Option<u32>) -> Option<Self> {
        let trials = case.trials();
        let is_probed = trials.iter().any(|trial| !trial.blocks.probe_before_ns.is_empty());
        let distance = distance.filter(|_| is_probed).map(|at| own_distance(case, at));
        (!trials.is_empty()).then_some(Self {
            case,
            trials,
            distance,
            cpus: 0,
            step_ns: 1.0,
            rounds: &[],
            rank: None,
        })
    }

    /// The same with what its run says of the machine.
    pub fn of_run(result: &'a RunResult, case: &'a Case, distance: Option<u32>) -> Option<Self> {
        Some(Self {
            cpus: result.environment.cpus_usable,
            step_ns: result.clock.step_ns as f64,
            rounds: &result.rounds,
            ..Self::of(case, distance)?
        })
    }

    /// The same row over all processor positions.
    pub fn overall(&self) -> Self {
        Self { distance: None, ..*self }
    }

    /// True if it should sleep and hardly did.
    pub fn stayed_awake(&self) -> bool {
        stayed_awake(self.case.identity.wait, self.trials)
    }

    /// The share of its messages that came before a processor had gone idle, if its ends slept and that was so far more
    /// often than with the bare futex that took turns beside it. If something else keeps the processors from going idle,
    /// there is none.
    pub fn slept_lightly(&self) -> Option<f64> {
        let Identity { wait, pattern, .. } = self.case.identity;
        let sleeps = wait == Wait::Block && !pattern.is_stream() && !self.stayed_awake();
        let bare = self.reference_woken_share().filter(|_| sleeps && self.has_own_processors())?;
        light_share(self.trials, bare)
    }

    /// The share of the bare reference's messages that came when a processor had gone idle, as a mean of the rounds; none
    /// if there was no reference.
    fn reference_woken_share(&self) -> Option<f64> {
        let rounds = self.trials.iter().filter_map(|trial| self.rounds.get(trial.round as usize));
        let shares: Vec<f64> = rounds.filter_map(|round| round.reference_woken_share).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// True if it should sleep, and many of its messages woke no processor: its ends hardly slept, or their processors
    /// hardly went idle. It is not compared with rows whose messages did.
    pub fn needed_no_wake_up(&self) -> bool {
        self.stayed_awake() || self.slept_lightly().is_some()
    }

    /// True if no two of its ends share a processor, so that none waits for another.
    pub(crate) fn has_own_processors(&self) -> bool {
        self.cpus == 0 || self.case.identity.ends() <= self.cpus
    }

    /// True if many round trips of a row that sleeps had no sleep, so that its figures of all blocks are not those of
    /// the blocks that count.
    pub fn is_mixed(&self) -> bool {
        is_mixed(self.trials)
    }

    /// The order of rows with the same time.
    pub(crate) fn order(&self) -> impl Ord {
        let identity = &self.case.identity;
        (identity.payload_bytes, &identity.transport, &identity.options)
    }

    /// The median over the trials of a figure of each trial.
    pub fn median(&self, figure: impl Fn(&Trial) -> f64) -> f64 {
        let figures: Vec<f64> = self.trials.iter().map(figure).collect();
        median(&figures).unwrap_or(0.0)
    }

    /// The clock-free mean of each trial, by which rows are ranked and compared.
    pub fn locations(&self) -> Vec<Option<f64>> {
        let of = |trial: &Trial| match self.distance {
            Some(_) => trial.at(self.distance)?.location_ns,
            None => Some(trial.clock_free_mean_ns),
        };
        // A file can have others, of which there is no logarithm.
        self.trials.iter().map(|trial| of(trial).filter(|mean| *mean > 0.0)).collect()
    }

    /// The logarithms of its [`locations`](Self::locations) in these trials.
    pub(crate) fn log_locations(&self, numbers: &BTreeSet<u32>) -> Vec<Option<f64>> {
        let numbered = self.trials.iter().map(|trial| trial.number).zip(self.locations());
        let found: BTreeMap<u32, Option<f64>> = numbered.collect();
        numbers.iter().map(|number| found.get(number).copied()?.map(f64::ln)).collect()
    }

    /// The clock-free mean of an event: geometric mean over the trials.
    pub fn location(&self) -> Option<Figure> {
        Figure::of_trials(&self.locations().into_iter().flatten().collect::<Vec<_>>())
    }

    /// A percentile of the samples: up to p99 the mean over the trials, beyond that the percentile of all trials
    /// together. None if there are too few samples.
    pub fn percentile(&self, q: f64) -> Option<Figure> {
        let trials: Vec<Histogram<u64>> =
            self.times().filter_map(|times| times.samples().ok()).collect();
        let count = trials.iter().map(Histogram::len).sum();
        if !stats::carries(count, q) {
            return None;
        }
        if q > 0.99 {
            return merged(&trials, q, self.step_ns);
        }
        let of_trial = |trial: &Histogram<u64>| stats::histogram_percentile(trial, q, self.step_ns);
        Figure::of_trials(&trials.iter().filter_map(of_trial).collect::<Vec<_>>())
    }

    /// The samples of all trials together; none if there are none or one histogram cannot be read.
    pub fn histogram(&self) -> Option<Histogram<u64>> {
        let trials: Result<Vec<Histogram<u64>>, String> =
            self.times().map(Times::samples).collect();
        let mut all = new_histogram();
        for trial in trials.ok()? {
            all.add(trial).ok()?;
        }
        (!all.is_empty()).then_some(all)
    }

    /// The times of each trial, at this distance. Those of an open loop are at any distance: a message can wait for one
    /// of an earlier block, and one that was not sent has no block.
    fn times(&self) -> impl Iterator<Item = &Times> {
        let distance = self.distance.filter(|_| !self.case.identity.load.is_open());
        self.trials.iter().filter_map(move |trial| match distance {
            Some(_) => trial.at(distance).map(|at| &at.times_ns),
            None => Some(&trial.times_ns),
        })
    }

    /// The samples of which its percentiles are.
    pub fn samples(&self) -> u64 {
        self.times().map(|times| times.count).sum()
    }

    /// The longest sampled time of all trials, at any distance.
    pub fn max(&self) -> u64 {
        self.trials.iter().map(|trial| trial.times_ns.max).max().unwrap_or(0)
    }

    /// The offered messages of the trials of an open loop.
    fn offered(&self) -> impl Iterator<Item = &Offered> {
        self.trials.iter().filter_map(|trial| trial.offered.as_ref())
    }

    /// The share of an open loop's messages that could not be sent at their time, over all trials; none if nothing was
    /// offered.
    pub fn late_share(&self) -> Option<f64> {
        self.share_of_intended(|one| one.late)
    }

    /// A count as a share of an open loop's intended messages, over all trials; none if nothing was offered.
    fn share_of_intended(&self, count: fn(&Offered) -> u64) -> Option<f64> {
        let (count, intended) = self.offered().fold((0.0, 0.0), |(sum, intended), one| {
            (sum + count(one) as f64, intended + one.intended as f64)
        });
        (intended > 0.0).then(|| count / intended)
    }

    /// Messages a second that an open loop sent.
    pub fn sent_per_second(&self) -> Option<f64> {
        median(&self.offered().map(Offered::sent_per_second).collect::<Vec<_>>())
    }

    /// The rate that an open loop reached, if it sent clearly fewer messages than intended. Those that it did not send
    /// count as answered at the end, so that its times say how long it was measured and not how fast it is.
    pub fn not_held(&self) -> Option<NotHeld> {
        let sent = self.share_of_intended(|one| one.sent)?;
        let intended_per_second = 1e9 / self.case.identity.load.gap_ns()?;
        let sent_per_second = self.sent_per_second()?;
        (sent < LEAST_SENT).then_some(NotHeld { sent_per_second, intended_per_second })
    }

    /// Messages a second of an open loop that were received, if some of those sent were lost.
    pub fn received_per_second(&self) -> Option<f64> {
        let has_lost = self.offered().any(|one| one.received.is_some_and(|count| count < one.sent));
        let received: Vec<f64> = self.offered().filter_map(Offered::received_per_second).collect();
        median(&received).filter(|_| has_lost)
    }

    /// Messages a second that a stream carried, as received, at this distance; none if it is not a stream.
    pub fn messages_per_second(&self) -> Option<f64> {
        let is_stream = self.trials.iter().any(|trial| trial.stream.is_some());
        self.location().filter(|_| is_stream).map(|figure| 1e9 / figure.value)
    }

    /// Messages a second of a stream and the other pairs together: median over the trials; none if there were no other
    /// pairs.
    pub fn all_pairs_per_second(&self) -> Option<f64> {
        let parts = self.trials.iter().filter_map(|trial| trial.stream.as_ref());
        median(&parts.filter_map(|parts| parts.all_pairs_per_second).collect::<Vec<_>>())
    }

    /// The share delivered by the slowest of several publishers, relative to the fastest: median over the trials; none
    /// if there is one publisher.
    pub fn least_published(&self) -> Option<f64> {
        let parts = self.trials.iter().filter_map(|trial| trial.stream.as_ref());
        median(&parts.filter_map(|parts| parts.least_published).collect::<Vec<_>>())
    }

    /// The median depth of a stream's queue: median over the trials.
    pub fn queue_depth(&self) -> Option<f64> {
        let depths = self.trials.iter().filter_map(|trial| trial.stream.as_ref()?.depth);
        median(&depths.map(|depth| depth.p50 as f64).collect::<Vec<_>>())
    }

    /// The median and the 99th percentile of the receiver's wake-ups: medians over the trials in which enough of them are
    /// known.
    pub fn wake_up_ns(&self) -> Option<[f64; 2]> {
        let known =
            self.trials.iter().filter_map(|trial| trial.one_way.as_ref()?.wake_up_ns.as_ref());
        let known: Vec<&Times> = known.filter(|times| times.count >= FEWEST_WAKE_UPS).collect();
        let of = |figure: fn(&Times) -> u64| {
            median(&known.iter().map(|times| figure(times) as f64).collect::<Vec<_>>())
        };
        Some([of(|times| times.p50)?, of(|times| times.p99)?])
    }

    /// The time of the call to publish, including writing the message: median over the trials of the medians; none if
    /// it was not measured one way.
    pub fn send_ns(&self) -> Option<f64> {
        let calls = self.trials.iter().filter_map(|trial| trial.one_way.as_ref());
        median(&calls.map(|parts| parts.send_ns.p50 as f64).collect::<Vec<_>>())
    }

    /// The median time from a publication to the first answer of several followers, at any distance: median over the
    /// trials; none if it has one follower.
    pub fn first_answer_ns(&self) -> Option<f64> {
        let firsts = self.trials.iter().filter_map(|trial| trial.first_answer_ns.as_ref());
        median(&firsts.map(|times| times.p50 as f64).collect::<Vec<_>>())
    }

    /// The lowest and the highest of its followers' median answers, at any distance: medians over the trials; none if
    /// it has one follower.
    pub fn answer_range_ns(&self) -> Option<[f64; 2]> {
        let of = |end: fn(&[u64]) -> Option<&u64>| {
            let ends = self.trials.iter().filter_map(|trial| {
                let answered = trial.answers.iter().filter(|one| one.answer_ns.count > 0);
                let medians: Vec<u64> = answered.map(|one| one.answer_ns.p50).collect();
                end(&medians).map(|median| *median as f64)
            });
            median(&ends.collect::<Vec<_>>())
        };
        Some([of(|medians| medians.iter().min())?, of(|medians| medians.iter().max())?])
    }

    /// The largest possible error of its times one way, from the comparison of the two clocks: median over the trials;
    /// none if they could not be compared.
    pub fn clock_bound_ns(&self) -> Option<f64> {
        let offsets = self.trials.iter().filter_map(|trial| trial.one_way.as_ref()?.clock_offset);
        median(&offsets.map(|offset| offset.bound_ns() as f64).collect::<Vec<_>>())
    }

    /// Each block divided by the probes around it: median over the trials; none if it did not hold its rate.
    pub fn floor_multiple(&self) -> Option<f64> {
        let of = |trial: &Trial| trial.at(self.distance)?.floor_multiple;
        let multiple = median(&self.trials.iter().filter_map(of).collect::<Vec<_>>());
        multiple.filter(|_| self.not_held().is_none())
    }

    /// Each turn divided by that of the reference beside it: median over the trials. For a row that sleeps, over all
    /// processor positions. None if it did not hold its rate.
    pub fn reference_multiple(&self) -> Option<f64> {
        let sleeps = self.case.identity.wait != Wait::Spin;
        let of = |trial: &Trial| match sleeps {
            true => trial.reference_multiple,
            false => trial.at(self.distance)?.reference_multiple,
        };
        let multiple = median(&self.trials.iter().filter_map(of).collect::<Vec<_>>());
        multiple.filter(|_| self.not_held().is_none())
    }
}

fn merged(trials: &[Histogram<u64>], q: f64, step_ns: f64) -> Option<Figure> {
    if let Some(interval) = stats::merged_percentile(trials, q, step_ns) {
        return Some(Figure { value: interval.estimate, interval: Some(interval) });
    }
    let only = trials.iter().find(|trial| !trial.is_empty())?;
    Some(Figure { value: stats::histogram_percentile(only, q, step_ns)?, interval: None })
}

/// The distance at which a row has its figures: `at`, the run's. Of a pair of ranks on a host that has no such distance,
/// that at which the pair has most blocks: each pair of ranks has rows of its own.
fn own_distance(case: &Case, at: u32) -> u32 {
    let all = || case.trials().iter().flat_map(|trial| &trial.by_distance);
    if case.identity.between.is_none() || all().any(|there| there.distance == at) {
        return at;
    }
    let mut blocks: BTreeMap<u32, u64> = BTreeMap::new();
    for there in all().filter(|there| there.location_ns.is_some()) {
        *blocks.entry(there.distance).or_default() += there.blocks;
    }
    blocks.into_iter().max_by_key(|(_, blocks)| *blocks).map_or(at, |(at, _)| at)
}

impl Figure {
    /// The geometric mean of a time of each trial.
    pub(crate) fn of_trials(times: &[f64]) -> Option<Self> {
        match (stats::trial_interval(times), times) {
            (Some(interval), _) => {
                Some(Self { value: interval.estimate, interval: Some(interval) })
            }
            (None, [only]) => Some(Self { value: *only, interval: None }),
            (None, _) => None,
        }
    }

    /// Half the width of its interval, relative to the figure: the number after `±`.
    pub fn relative_half_width(&self) -> Option<f64> {
        self.interval.map(|interval| interval.relative_half_width())
    }

    /// True if its interval does not contain this limit, so that the trials agree on which side it lies.
    pub fn is_clear_of(&self, limit: f64) -> bool {
        self.interval.is_some_and(|interval| limit < interval.low || interval.high < limit)
    }
}
