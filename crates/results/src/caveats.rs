//! Caveats of a row: losses, another carrier than declared, a rate that it did not hold, no sleep under `block`,
//! impossible times, a time that was still changing.

use ipcmark_transport::{Carrier, Span, Wait};

use crate::{
    model::{Conditions, Trial},
    rows::{NotHeld, Row},
    wakefulness::stayed_awake,
};

/// A fact without which the figures of a row mislead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Caveat {
    /// Round trips that did not end in time, or messages of a stream that did not arrive, in all trials together.
    Lost {
        /// Lost.
        lost: u64,
        /// Sent.
        sent: u64,
        /// Time spent waiting for them; a stream does not wait for lost messages.
        wait_ns: u64,
        /// True if they were messages of a stream.
        of_stream: bool,
    },
    /// Another carrier than the declared one, from the first trial that fell back.
    FellBack {
        /// The carrier that the transport declares.
        declared: Carrier,
        /// The carrier that was found.
        found: Carrier,
    },
    /// It is an open loop and did not send its messages in time: its times are those of messages that wait.
    NotHeld(NotHeld),
    /// Under `block` its ends hardly slept: the library's waiting call polls first, as `hybrid` does.
    StayedAwake,
    /// Under `block` its ends slept, but many messages came before a processor had gone idle.
    SleptLightly {
        /// The share of these messages.
        share: f64,
    },
    /// A message went in several parts: its carrier holds less than one message.
    InParts {
        /// Parts, on average.
        parts: f64,
    },
    /// Under `spin` its ends slept in one round trip of ten or more.
    Slept,
    /// Suspect: the machine disturbed the row more than its figures can bear.
    Disturbed(Disturbance),
    /// It has more threads that never sleep than the machine has processors: it measures the scheduler.
    Oversubscribed {
        /// Its ends.
        ends: u32,
        /// The processors.
        cpus: u32,
    },
    /// It spins, and threads of its library waited with its ends for the processors: it measures the scheduler.
    OversubscribedByLibrary {
        /// The processors.
        cpus: u32,
    },
    /// Suspect: a message between two processes cannot be faster than a bare cache line.
    BelowFloor {
        /// Its time divided by the floor.
        multiple: f64,
    },
    /// Suspect: it spins, and is far faster than two bare processes that write and read the same bytes.
    BelowBare {
        /// Its time divided by theirs.
        multiple: f64,
    },
    /// Unsettled: in most trials the time at the start, or its trend, differs from the rest.
    Unsettled {
        /// The trials that had not settled.
        trials: usize,
        /// The trials that could be judged.
        of: usize,
    },
}

/// A way in which the machine disturbs a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    /// Processes that are not its own ran on the processors of its threads.
    Waited,
    /// The hypervisor gave its processors to others.
    Stolen,
    /// Its control group was stopped.
    Throttled,
    /// The speed of the processor changed.
    Frequency,
}

/// The greatest share of a row's time that others may take.
const MOST_TAKEN: f64 = 0.005;

/// The greatest share of a spinning row's time in which threads of its library keep its ends from running.
const MOST_SHARED: f64 = 0.05;

/// The longest time that an idle processor needs to wake up and run a thread, in nanoseconds. A thread that waits
/// behind others on its processor waits for a part of their time slice, which is a hundred times as long.
const WAKE_UP_NS: u64 = 10_000;

/// The greatest change of the processor's speed that is accepted.
const MOST_SHIFT: f64 = 0.03;

/// The multiple of the floor below which a row is suspect. Two bare loops of the same kind differ by less.
const LEAST_MULTIPLE: f64 = 0.9;

/// The multiple of the bare reference below which a spinning row is suspect. Their turns are neighbours, not the same,
/// so that the ratio of two equal loops can be that of two distances in a few of them.
const LEAST_OF_BARE: f64 = 0.5;

/// The caveats of a row.
pub fn caveats(row: &Row) -> Vec<Caveat> {
    let of_trials = caveats_of(row.case.identity.wait, row.trials);
    let disturbed = disturbances(row).into_iter().map(Caveat::Disturbed);
    of_trials
        .into_iter()
        .chain(row.not_held().map(Caveat::NotHeld))
        .chain(row.slept_lightly().map(|share| Caveat::SleptLightly { share }))
        .chain(oversubscribed(row))
        .chain(oversubscribed_by_library(row))
        .chain(below_floor(row))
        .chain(below_bare(row))
        .chain(disturbed)
        .chain(unsettled(row))
        .collect()
}

/// The disturbances of most of the trials.
fn disturbances(row: &Row) -> Vec<Disturbance> {
    let of_round = |is_so: fn(&Conditions) -> bool| {
        let round = |trial: &Trial| row.rounds.get(trial.round as usize);
        most_trials(row, |trial| round(trial).is_some_and(|round| is_so(&round.conditions)))
    };
    let waited = |trial: &Trial| Waits::of(trial).for_others > MOST_TAKEN;
    let found = [
        (Disturbance::Waited, row.has_own_processors() && most_trials(row, waited)),
        (Disturbance::Stolen, of_round(|machine| machine.stolen_share > Some(MOST_TAKEN))),
        (Disturbance::Throttled, of_round(|machine| machine.throttled_ns > Some(0))),
        (Disturbance::Frequency, of_round(|machine| machine.canary_shift > MOST_SHIFT)),
    ];
    found
        .into_iter()
        .filter_map(|(disturbance, is_there)| is_there.then_some(disturbance))
        .collect()
}

/// True if this is so in more than half of the trials.
fn most_trials(row: &Row, is_so: impl Fn(&Trial) -> bool) -> bool {
    2 * row.trials.iter().filter(|trial| is_so(trial)).count() > row.trials.len()
}

/// The longest wait of one of the measuring threads for a processor that others held, as shares of the time of its
/// turns. The kernel also counts the wake-up of an idle processor as such a wait.
struct Waits {
    /// For other threads of the same session and its daemons: at most their CPU time.
    for_own: f64,
    /// For anything else, at least.
    for_others: f64,
}

impl Waits {
    fn of(trial: &Trial) -> Self {
        let processes = &trial.session.processes;
        let waits = processes.iter().flat_map(|process| &process.ends).map(|end| {
            let woken = end.thread.sleeps.saturating_mul(WAKE_UP_NS);
            end.thread.run_delay_ns.saturating_sub(woken)
        });
        let longest = waits.max().unwrap_or(0);
        let own = processes
            .iter()
            .filter_map(|process| process.other_threads_ns)
            .fold(0, u64::saturating_add)
            .min(longest);
        let share = |wait_ns| wait_ns as f64 / trial.session.turns_ns.max(1) as f64;
        Self { for_own: share(own), for_others: share(longest - own) }
    }
}

/// Ends that spin and have no processor of their own.
fn oversubscribed(row: &Row) -> Option<Caveat> {
    let (ends, cpus) = (row.case.identity.ends(), row.cpus);
    (spins(row) && !row.has_own_processors()).then_some(Caveat::Oversubscribed { ends, cpus })
}

fn oversubscribed_by_library(row: &Row) -> Option<Caveat> {
    let cpus = row.cpus;
    is_oversubscribed_by_library(row).then_some(Caveat::OversubscribedByLibrary { cpus })
}

/// True if its ends spin and wait for threads of their library.
pub(crate) fn is_oversubscribed_by_library(row: &Row) -> bool {
    let waits = |trial: &Trial| Waits::of(trial).for_own > MOST_SHARED;
    spins(row) && row.has_own_processors() && row.cpus > 0 && most_trials(row, waits)
}

fn spins(row: &Row) -> bool {
    let identity = &row.case.identity;
    identity.wait == Wait::Spin && identity.span != Span::None
}

fn below_floor(row: &Row) -> Option<Caveat> {
    let multiple = row.floor_multiple()?;
    let is_hop = row.case.identity.span == Span::Process;
    (is_hop && multiple < LEAST_MULTIPLE).then_some(Caveat::BelowFloor { multiple })
}

fn below_bare(row: &Row) -> Option<Caveat> {
    let multiple = row.reference_multiple()?;
    let identity = &row.case.identity;
    let spins = identity.span == Span::Process && identity.wait == Wait::Spin;
    (spins && multiple < LEAST_OF_BARE).then_some(Caveat::BelowBare { multiple })
}

fn unsettled(row: &Row) -> Option<Caveat> {
    let judged: Vec<bool> =
        row.trials.iter().filter_map(|trial| trial.at(row.distance)?.settled).collect();
    let trials = judged.iter().filter(|settled| !**settled).count();
    // If only one of several trials has enough blocks to be judged, it says nothing about the others.
    let most_are_judged = 2 * judged.len() > row.trials.len();
    (most_are_judged && 2 * trials > judged.len())
        .then_some(Caveat::Unsettled { trials, of: judged.len() })
}

/// The caveats of these trials of a case that waits like this.
pub fn caveats_of(wait: Wait, trials: &[Trial]) -> Vec<Caveat> {
    let awake = stayed_awake(wait, trials).then_some(Caveat::StayedAwake);
    let slept = wait == Wait::Spin && !trials.is_empty() && trials.iter().all(slept);
    let slept = slept.then_some(Caveat::Slept);
    loss(trials)
        .into_iter()
        .chain(fall_back(trials))
        .chain(awake)
        .chain(slept)
        .chain(in_parts(trials))
        .collect()
}

fn loss(trials: &[Trial]) -> Option<Caveat> {
    let sum = |figure: fn(&Trial) -> u64| {
        trials.iter().fold(0_u64, |sum, trial| sum.saturating_add(figure(trial)))
    };
    let lost = sum(|trial| trial.session.losses.lost);
    let sent = sum(|trial| trial.session.losses.sent);
    let wait_ns = sum(|trial| trial.lost_wait_ns);
    let of_stream = trials.iter().any(|trial| trial.stream.is_some());
    (lost > 0).then_some(Caveat::Lost { lost, sent, wait_ns, of_stream })
}

fn fall_back(trials: &[Trial]) -> Option<Caveat> {
    let carriers = trials.iter().map(|trial| &trial.session.carrier);
    let carrier = carriers.into_iter().find(|carrier| carrier.fell_back())?;
    Some(Caveat::FellBack { declared: carrier.declared?, found: carrier.found })
}

fn in_parts(trials: &[Trial]) -> Option<Caveat> {
    let parts = trials.iter().filter_map(|trial| trial.session.parts_per_message);
    let parts = parts.fold(0.0, f64::max);
    // A read can stop anywhere once in a while.
    (parts > 1.05).then_some(Caveat::InParts { parts })
}

/// True if one of its ends slept in more than one round trip of ten.
fn slept(trial: &Trial) -> bool {
    trial.sleeps().any(|sleeps| sleeps > trial.session.losses.sent / 10)
}
