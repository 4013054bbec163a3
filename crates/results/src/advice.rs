//! Advice: which row of a result to use under given conditions.
//!
//! The choice is the first row in an order that depends on the question. With a limit on the CPU time, or with no limit
//! at all, the shortest time comes first. With a limit on the time only, the least CPU time comes first: what is fast
//! enough should cost little. Without a limit on the CPU time, rows that sleep come before rows that spin, because
//! users who can spare cores for spinning know it; the fastest spinning row is reported beside the choice.
//!
//! A row whose p99 is only just below its limit comes after all others: the next measurement may find it above.
//!
//! After the first few trials the choice is often one of several rows whose figures are as good. Those are the
//! finalists: more trials of these alone decide better than more trials of all (Maron and Moore, "Hoeffding races",
//! 1993). Afterwards they come before the others, whose figures are from other moments of the machine.

use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeSet,
};

use ipcmark_transport::{Pattern, Span, Wait};

use crate::{
    caveats::is_oversubscribed_by_library,
    groups::groups,
    model::{Load, RunResult, Trial},
    rows::{Figure, Row},
};

/// The question to answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdviceQuestion {
    /// Bytes of a message.
    pub payload: u64,
    /// The shape of the traffic.
    pub pattern: Pattern,
    /// The way messages are offered.
    pub load: Load,
    /// Receivers of each message.
    pub subscribers: u32,
    /// The time that 99 of 100 messages must stay below, in nanoseconds.
    pub p99_below_ns: Option<f64>,
    /// The number of busy processors that all processes together must stay below.
    pub cores_below: Option<f64>,
}

/// A row of the right kind, with the conditions that it does not meet.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The row.
    pub row: Row<'a>,
    /// The time of an event. At a rate: the median over all processor positions. Else: the mean at the distance at
    /// which rows are compared.
    pub time: Figure,
    /// The 99th percentile over all processor positions; none if there are too few samples. Of a row whose blocks are
    /// [mixed](Row::is_mixed), that of the blocks that count.
    pub p99: Option<Figure>,
    /// Processors that its processes keep busy.
    pub cores: Option<Figure>,
    /// The cost: at a rate those processors; else the CPU time of a message in nanoseconds, which is unknown if the
    /// row's blocks are [mixed](Row::is_mixed).
    pub cost: Option<Figure>,
    /// True if it has taken part in the final of the run.
    pub is_finalist: bool,
    /// Conditions that it does not meet.
    pub shortfalls: Vec<Shortfall>,
}

/// A condition that a row does not meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shortfall {
    /// 99 of 100 messages take up to this many nanoseconds.
    Late {
        /// Its p99.
        p99_ns: f64,
    },
    /// There are too few samples for a p99.
    TooFewSamples,
    /// It keeps this many processors busy.
    Costly {
        /// Processors.
        cores: f64,
    },
    /// It does not keep up with the rate.
    Slow {
        /// Messages a second that it sent.
        sent_per_second: f64,
    },
}

/// The answer.
#[derive(Clone, Debug, Default)]
pub struct Advice<'a> {
    /// The row to use, if any meets the conditions.
    pub choice: Option<Candidate<'a>>,
    /// Rows that the trials do not distinguish from the choice.
    pub ties: Vec<Candidate<'a>>,
    /// The next row in the order with the same kind of wait, distinguished from the choice or not.
    pub runner_up: Option<Candidate<'a>>,
    /// The fastest spinning row, if the choice sleeps and takes longer.
    pub spinning: Option<Candidate<'a>>,
    /// The first sleeping row in the order, if the choice does not sleep only because its p99 is near the limit.
    pub sleeping: Option<Candidate<'a>>,
    /// All others that meet the conditions, in the order of the choice.
    pub others: Vec<Candidate<'a>>,
    /// Rows that do not meet the conditions, the nearest to it first.
    pub short: Vec<Candidate<'a>>,
}

/// A p99 above this share of its limit is near it.
const NEAR: f64 = 0.8;

/// A figure above its limit by less than this factor may be found below it by the next measurement.
const NEARLY: f64 = 1.25;

/// The most finalists.
const FINALISTS: usize = 4;

/// Answers the question from the rows of a result for which `is_wanted` is true.
pub fn advise<'a>(
    result: &'a RunResult,
    question: &AdviceQuestion,
    is_wanted: impl Fn(&Row) -> bool,
) -> Advice<'a> {
    let rows = groups(result).into_iter().flat_map(|group| group.rows);
    let asked = rows.filter(|row| question.is_about(row) && is_wanted(row));
    let finals = result.rounds.iter().filter(|round| round.is_final);
    let finals: BTreeSet<u32> = finals.map(|round| round.number).collect();
    let candidates = asked.filter_map(|row| {
        let is_finalist = row.trials.iter().any(|trial| finals.contains(&trial.round));
        Candidate::of(row, question, is_finalist)
    });
    let (mut met, mut short): (Vec<Candidate>, Vec<Candidate>) =
        candidates.partition(|candidate| candidate.shortfalls.is_empty());
    met.sort_by(|a, b| question.order(a, b));
    short.sort_by(|a, b| question.excess(a).total_cmp(&question.excess(b)));
    if met.is_empty() {
        return Advice { short, ..Advice::default() };
    }
    let choice = met.remove(0);
    let spinning = fastest_spinning(&choice, &met).filter(|_| question.prefers_sleep());
    let sleeping = met.iter().find(|other| !other.polls());
    let sleeping = sleeping.filter(|_| question.prefers_sleep() && choice.polls()).cloned();
    let is_alike = |other: &&Candidate| other.polls() == choice.polls();
    let runner_up = met.iter().find(is_alike).cloned();
    let ties = met.iter().filter(|other| question.is_tie(&choice, other)).cloned().collect();
    Advice { choice: Some(choice), ties, runner_up, spinning, sleeping, others: met, short }
}

impl<'a> Advice<'a> {
    /// The rows that could be the choice if they were measured longer: the choice, then those that the trials do not
    /// show to be worse and that meet the conditions, or nearly do. Empty if further trials would decide nothing.
    pub fn finalists(&self, question: &AdviceQuestion) -> Vec<&Candidate<'a>> {
        let others = self.others.iter().chain(&self.short);
        let mut rivals: Vec<&Candidate> = others
            .filter(|other| question.nearly_meets(other))
            .filter(|other| self.choice.as_ref().is_none_or(|best| question.rivals(best, other)))
            .collect();
        rivals.sort_by(|a, b| question.aim(a).total_cmp(&question.aim(b)));
        let choice = self.choice.iter();
        let is_open =
            !rivals.is_empty() || choice.clone().any(|choice| question.is_near_limit(choice));
        let all = choice.chain(rivals).take(FINALISTS);
        if is_open { all.collect() } else { Vec::new() }
    }
}

fn fastest_spinning<'a>(choice: &Candidate<'a>, others: &[Candidate<'a>]) -> Option<Candidate<'a>> {
    let is_faster = |other: &&Candidate| {
        other.polls() && other.time.value < choice.time.value && !other.is_oversubscribed()
    };
    let faster = others.iter().filter(is_faster).filter(|_| !choice.polls());
    faster.min_by(|a, b| a.time.value.total_cmp(&b.time.value)).cloned()
}

impl AdviceQuestion {
    /// True if the question is about a row of this kind.
    fn is_about(&self, row: &Row) -> bool {
        let identity = &row.case.identity;
        identity.span == Span::Process
            && identity.pattern == self.pattern
            && identity.payload_bytes == self.payload
            && identity.load == self.load
            && identity.subscribers == self.subscribers
            && identity.silent_subscribers == 0
            && identity.pairs == 1
            && identity.between.is_none()
    }

    /// True if the cheapest of the fast enough rows is wanted, false if the fastest of the cheap enough ones.
    pub fn is_for_the_cheapest(&self) -> bool {
        self.p99_below_ns.is_some() && self.cores_below.is_none()
    }

    /// True if rows that sleep come before rows that spin.
    fn prefers_sleep(&self) -> bool {
        self.cores_below.is_none()
    }

    /// True if it comes after others that meet the conditions: it polls where rows that sleep are preferred, its figures
    /// are those of messages that woke no processor, or its library takes the processors of its ends.
    fn is_second_choice(&self, candidate: &Candidate) -> bool {
        self.prefers_sleep() && candidate.polls()
            || candidate.row.slept_lightly().is_some()
            || candidate.is_oversubscribed()
    }

    /// True if its p99 is only just below the limit.
    fn is_near_limit(&self, candidate: &Candidate) -> bool {
        match (candidate.p99, self.p99_below_ns) {
            (Some(p99), Some(limit)) => p99.value > NEAR * limit,
            _ => false,
        }
    }

    /// True if no figure of a candidate is far beyond its limit.
    fn nearly_meets(&self, candidate: &Candidate) -> bool {
        let is_slow = |shortfall: &Shortfall| matches!(shortfall, Shortfall::Slow { .. });
        self.excess(candidate) < NEARLY && !candidate.shortfalls.iter().any(is_slow)
    }

    /// True if the other candidate could come before the best one: their figures decide, and its figure is not shown
    /// to be worse.
    fn rivals(&self, best: &Candidate, other: &Candidate) -> bool {
        let comes_after = self.is_second_choice(other) && !self.is_second_choice(best);
        !comes_after && (self.aim(other) <= self.aim(best) || self.is_tie(best, other))
    }

    /// Sorts the better candidate first.
    fn order(&self, a: &Candidate, b: &Candidate) -> Ordering {
        let near = |candidate| self.is_near_limit(candidate);
        let second = |candidate| self.is_second_choice(candidate);
        let figures = self.aim(a).total_cmp(&self.aim(b));
        let kinds = near(a).cmp(&near(b)).then(second(a).cmp(&second(b)));
        let finals = b.is_finalist.cmp(&a.is_finalist);
        kinds.then(finals).then(figures).then(a.time.value.total_cmp(&b.time.value))
    }

    /// The figure to minimize; infinite if it is unknown.
    pub fn aim(&self, candidate: &Candidate) -> f64 {
        match self.is_for_the_cheapest() {
            true => candidate.cost.map_or(f64::INFINITY, |cost| cost.value),
            false => candidate.time.value,
        }
    }

    /// True if the trials do not show which of two candidates has the better figure.
    fn is_tie(&self, best: &Candidate, other: &Candidate) -> bool {
        if best.wait() != other.wait() {
            return false;
        }
        let interval = |candidate: &Candidate| match self.is_for_the_cheapest() {
            true => candidate.cost.and_then(|cost| cost.interval),
            false => candidate.time.interval,
        };
        match (interval(best), interval(other)) {
            _ if !self.is_for_the_cheapest() && self.load == Load::Closed => {
                best.row.rank.is_some() && best.row.rank == other.row.rank
            }
            (Some(first), Some(second)) => second.low <= first.high && first.low <= second.high,
            _ => false,
        }
    }

    /// The ratio of a candidate's figures to their limits: 2 is twice the limit.
    fn excess(&self, candidate: &Candidate) -> f64 {
        let of = |figure: Option<Figure>, limit: Option<f64>| match (figure, limit) {
            (_, None) => 0.0,
            (None, _) => f64::INFINITY,
            (Some(figure), Some(limit)) => figure.value / limit,
        };
        of(candidate.p99, self.p99_below_ns).max(of(candidate.cores, self.cores_below))
    }

    fn shortfalls(&self, candidate: &Candidate) -> Vec<Shortfall> {
        let late = self.p99_below_ns.and_then(|limit| match candidate.p99 {
            Some(p99) if p99.value < limit => None,
            Some(p99) => Some(Shortfall::Late { p99_ns: p99.value }),
            None => Some(Shortfall::TooFewSamples),
        });
        let cores = candidate.cores.map_or(f64::INFINITY, |cores| cores.value);
        let costly = self.cores_below.filter(|limit| cores >= *limit);
        let costly = costly.map(|_| Shortfall::Costly { cores });
        let slow = candidate.row.not_held();
        let slow = slow.map(|rates| Shortfall::Slow { sent_per_second: rates.sent_per_second });
        slow.into_iter().chain(late).chain(costly).collect()
    }
}

impl<'a> Candidate<'a> {
    fn of(row: Row<'a>, question: &AdviceQuestion, is_finalist: bool) -> Option<Self> {
        let time = match question.load {
            Load::Closed => row.location(),
            _ => row.overall().percentile(0.5),
        }?;
        let cores: Vec<f64> = row.trials.iter().filter_map(Trial::cores).collect();
        let cpu_ns: Vec<f64> = row.trials.iter().map(Trial::cpu_ns_per_message).collect();
        let (cores, is_mixed) = (Figure::of_trials(&cores), row.is_mixed());
        let cost = match question.load {
            Load::Closed => Figure::of_trials(&cpu_ns).filter(|_| !is_mixed),
            _ => cores,
        };
        let p99 = if is_mixed { row } else { row.overall() }.percentile(0.99);
        let shortfalls = Vec::new();
        let mut candidate = Self { row, time, p99, cores, cost, is_finalist, shortfalls };
        candidate.shortfalls = question.shortfalls(&candidate);
        Some(candidate)
    }

    /// The kind of wait.
    pub fn wait(&self) -> Wait {
        self.row.case.identity.wait
    }

    /// True if it keeps its processors busy: it spins, or should sleep and hardly did.
    pub fn polls(&self) -> bool {
        self.wait() == Wait::Spin || self.row.stayed_awake()
    }

    /// True if threads of its library keep its spinning ends from running.
    fn is_oversubscribed(&self) -> bool {
        is_oversubscribed_by_library(&self.row)
    }

    /// The processes of its library, such as a daemon, beside those of the program.
    pub fn daemons(&self) -> Vec<&'a str> {
        daemons(&self.row)
    }

    /// Messages that were never received.
    pub fn lost(&self) -> u64 {
        let lost = self.row.trials.iter().map(|trial| trial.session.losses.lost);
        lost.fold(0, u64::saturating_add)
    }
}

/// The processes that the library of a row runs beside those of the program, each name once.
pub fn daemons<'a>(row: &Row<'a>) -> Vec<&'a str> {
    let processes = row.trials.iter().flat_map(|trial| &trial.session.processes);
    let beside = processes.filter(|process| process.ends.is_empty());
    let mut names: Vec<&str> = beside.map(|process| process.name.as_str()).collect();
    names.sort_by_key(|name| Reverse(*name));
    names.dedup();
    names
}
