//! Judgements of the measurements, one entry each.

use ipcmark_machine::{
    conditions::ThreadTime,
    facts::{Effect, Examined, Finding, Question, System, Weight, with_one_thread_a_core},
    hiccups::Hiccups,
};
use ipcmark_report::duration;

use super::{clocks::ClockSpread, examination::Examination};
use crate::distances::{DistanceShares, percent};

/// A measured fact.
struct Measured {
    name: &'static str,
    source: &'static str,
    examine: fn(&Examination, &System) -> Option<Examined>,
}

const MEASURED: &[Measured] = &[
    Measured {
        name: "distances",
        source: "round trips of a cache line between pinned threads",
        examine: examine_distances,
    },
    Measured {
        name: "clocks",
        source: "readings of the clock on both processors, while a cache line goes to and fro",
        examine: examine_clocks,
    },
    Measured {
        name: "hiccups",
        source: "gaps in threads that read the clock without a pause",
        examine: examine_hiccups,
    },
    Measured {
        name: "shared cores",
        source: "independent operations and dependent ones, timed in turn",
        examine: examine_shared_cores,
    },
    Measured {
        name: "wake-up",
        source: "futex round trips between pinned threads that sleep",
        examine: examine_wake_up,
    },
    Measured { name: "stolen time", source: "/proc/stat, meanwhile", examine: examine_stolen },
    Measured {
        name: "run delay",
        source: "/proc/self/task/*/schedstat, meanwhile",
        examine: examine_delay,
    },
    Measured { name: "throttling", source: "cpu.stat, meanwhile", examine: examine_throttling },
    Measured {
        name: "processor speed",
        source: "a fixed chain of additions, once a turn",
        examine: examine_speed,
    },
    Measured {
        name: "other programs",
        source: "/proc/*/task/*/schedstat, meanwhile",
        examine: examine_others,
    },
];

/// The findings of all measured facts.
pub(super) fn findings(examination: &Examination, system: &System) -> Vec<Finding> {
    let find = |measured: &Measured| {
        let Examined { value, effect } = (measured.examine)(examination, system)?;
        Some(Finding { name: measured.name, source: measured.source, value, effect })
    };
    MEASURED.iter().filter_map(find).collect()
}

/// The names of all measured facts.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    MEASURED.iter().map(|measured| measured.name)
}

/// The effect of a lost share of the time: none, a reservation from `some` on, unfit from `much` on.
fn lost(
    share: f64,
    [some, much]: [f64; 2],
    questions: &'static [Question],
    sentence: &'static str,
) -> Option<Effect> {
    let weight = match share {
        share if share >= much => Weight::Unfit,
        share if share >= some => Weight::Reservation,
        _ => return None,
    };
    Some(Effect::new(weight, questions, sentence))
}

/// The shares of lost time that cause a reservation, and that leave too little to compare.
const APART: [f64; 2] = [0.02, 0.5];

fn examine_distances(examination: &Examination, system: &System) -> Option<Examined> {
    let words = examination.pairs.iter().map(|pair| {
        format!("cpu {} – cpu {}: {}", pair.cpus.0, pair.cpus.1, pair.division.words())
    });
    let value = words.collect::<Vec<_>>().join("; ");
    let first = &examination.pairs.first()?.division;
    let effect = apart(first).or_else(|| several(first));
    // If other programs use the processors, the host cannot help.
    let is_delayed = run_delay(examination).is_some_and(|share| share >= DELAYED[0]);
    let effect = effect.map(|effect| if is_delayed { effect } else { by_host(effect, system) });
    Some(Examined::harmless(value).with(effect))
}

fn apart(division: &DistanceShares) -> Option<Effect> {
    let sentence = "part of the time one of the two processors does not run, because the host or another program \
    uses it: a round trip then takes a time slice; ipcmark keeps these blocks out of the ranking";
    lost(division.apart(), APART, &[Question::Spinning, Question::Tails], sentence)
}

fn several(division: &DistanceShares) -> Option<Effect> {
    let near = division.distances.iter().filter(|distance| !distance.apart);
    let floors: Vec<f64> = near.map(|distance| distance.floor_ns).collect();
    let factor = floors.last()? / floors.first()?;
    let effect = || {
        Effect::new(
            Weight::Reservation,
            &[Question::Spinning, Question::Tails],
            format!(
                "the same hop takes {factor:.1} times as long at one moment as at another: compare rows at one \
                 distance, as ipcmark does, and repeat the measurements of other benchmarks often"
            ),
        )
    };
    (floors.len() > 1).then(effect)
}

/// Adds the remedy for a host that moves the processors.
fn by_host(effect: Effect, system: &System) -> Effect {
    match system.hypervisor {
        None => effect,
        Some(_) => effect.remedy(
            "virsh vcpupin DOMAIN 0 2 && virsh vcpupin DOMAIN 1 3  # on the host",
            "processors of the host that no other virtual machine should use; clouds sell that as dedicated, or as \
             bare metal",
        ),
    }
}

/// Several times what was seen between two processors of one machine.
const FAR_APART_NS: f64 = 100.0;

fn examine_clocks(examination: &Examination, _: &System) -> Option<Examined> {
    let compared = examination.pairs.iter().filter_map(|pair| Some((pair.cpus, pair.clocks?)));
    let compared: Vec<((u32, u32), ClockSpread)> = compared.collect();
    let words = |((first, second), clocks): &((u32, u32), ClockSpread)| {
        format!("cpu {second} is ahead of cpu {first} by {}", clocks.words())
    };
    let value = compared.iter().map(words).collect::<Vec<_>>().join("; ");
    let largest_ns = compared.iter().map(|(_, clocks)| clocks.largest_ns()).reduce(f64::max)?;
    let effect = || {
        Effect::new(
            Weight::Reservation,
            &[Question::Spinning],
            "times that a program takes on two processors and subtracts are wrong by as much; from messages one way \
             ipcmark subtracts it",
        )
    };
    Some(Examined::harmless(value).with((largest_ns > FAR_APART_NS).then(effect)))
}

const HICCUPS: [f64; 2] = [0.01, 0.1];

/// A gap longer than this shows in the maximum of every row.
const LONG_NS: u64 = 1_000_000;

fn examine_hiccups(examination: &Examination, _: &System) -> Option<Examined> {
    let worst = examination.hiccups.iter().max_by(|a, b| a.share().total_cmp(&b.share()))?;
    let longest = examination.hiccups.iter().map(|hiccups| hiccups.longest_ns).max()?;
    let value = format!(
        "up to {} of the time (cpu {}), {:.0} gaps over 10 µs a second, the longest {}",
        percent(worst.share()),
        worst.cpu,
        per_second(worst),
        duration(longest as f64)
    );
    let sentence = "the processors do other work meanwhile, of the host, the kernel or other programs: high \
    percentiles and the maximum of every row are those of the machine";
    let tails = &[Question::Tails];
    let effect = lost(worst.share(), HICCUPS, tails, sentence);
    let is_long = longest >= LONG_NS;
    let effect =
        effect.or_else(|| is_long.then(|| Effect::new(Weight::Reservation, tails, sentence)));
    Some(Examined::harmless(value).with(effect))
}

fn per_second(hiccups: &Hiccups) -> f64 {
    hiccups.gaps[1].count as f64 / (hiccups.watched_ns.max(1) as f64 / 1e9)
}

/// Less can be interruptions: 0.1 to 0.4 % were seen on a machine whose cores seemed not to be shared.
const SHARED: f64 = 0.01;

fn examine_shared_cores(examination: &Examination, system: &System) -> Option<Examined> {
    let cores = examination.shared_cores.iter().filter(|core| core.bursts > 0);
    let worst = cores.max_by(|a, b| a.share.total_cmp(&b.share))?;
    let Some(slowdown) = worst.slowdown else { return Some(Examined::harmless("never")) };
    let value = format!(
        "up to {} of the time (cpu {}), independent operations take {slowdown:.1} times as long then",
        percent(worst.share),
        worst.cpu
    );
    let effect = || {
        let effect = Effect::new(
            Weight::Reservation,
            &[Question::Spinning, Question::Large, Question::Tails],
            "another thread of the core works meanwhile: rows can take longer then, although the distance of the \
             processors is nearly the same, so that trials differ",
        );
        match system.hypervisor {
            None => with_one_thread_a_core(effect),
            Some(_) => by_host(effect, system),
        }
    };
    Some(Examined::harmless(value).with((worst.share >= SHARED).then(effect)))
}

/// Bare metal needs 5 to 15 µs for the round trip.
const SLOW_WAKE_UP_NS: f64 = 30_000.0;

fn examine_wake_up(examination: &Examination, _: &System) -> Option<Examined> {
    let mut times = examination.hand_overs_ns.clone();
    times.sort_unstable();
    let at =
        |part: f64| times.get(((times.len() as f64 - 1.0) * part) as usize).map(|ns| *ns as f64);
    let (median, high) = (at(0.5)?, at(0.99)?);
    let value = format!("{} a round trip (p99 {})", duration(median), duration(high));
    let effect = || {
        Effect::new(
            Weight::Reservation,
            &[Question::Sleeping],
            "waking a processor takes most of the time of a sleeping row, so that rows differ by little and change \
             with the host: ipcmark compares them in turns",
        )
    };
    Some(Examined::harmless(value).with((median > SLOW_WAKE_UP_NS).then(effect)))
}

const STOLEN: [f64; 2] = [0.005, 0.05];

/// The kernel counts stolen time in ticks. If it accounts for stolen time exactly, the clocks of the watching threads
/// exclude it. They also exclude interrupts, which on bare metal are the only missing time.
fn examine_stolen(examination: &Examination, system: &System) -> Option<Examined> {
    let cpus: Vec<u32> = examination.hiccups.iter().map(|hiccups| hiccups.cpu).collect();
    let ticks = examination.conditions.stolen_share(&cpus);
    let missing = watched_share(examination, |watched, time| {
        watched.saturating_sub(time.cpu_ns).saturating_sub(time.run_delay_ns)
    });
    let missing = missing.filter(|_| system.hypervisor.is_some());
    let share = ticks.into_iter().chain(missing).reduce(f64::max)?;
    let sentence = "the host runs something else on these processors: every row has pauses of milliseconds, and \
                    trials differ";
    let effect =
        lost(share, STOLEN, &Question::ALL, sentence).map(|effect| by_host(effect, system));
    Some(Examined::harmless(percent(share)).with(effect))
}

/// A part of the time of all watching threads, as a share.
fn watched_share(examination: &Examination, part: fn(u64, &ThreadTime) -> u64) -> Option<f64> {
    let known = examination.hiccups.iter().filter_map(|of| Some((of.watched_ns, of.thread?)));
    let sum = |(all, parts): (u64, u64), (watched, time): (u64, ThreadTime)| {
        (all + watched, parts + part(watched, &time))
    };
    let (all, parts) = known.fold((0, 0), sum);
    (all > 0).then(|| parts as f64 / all as f64)
}

fn run_delay(examination: &Examination) -> Option<f64> {
    watched_share(examination, |_, time| time.run_delay_ns)
}

const DELAYED: [f64; 2] = [0.005, 0.1];

fn examine_delay(examination: &Examination, _: &System) -> Option<Examined> {
    let share = run_delay(examination)?;
    let sentence = "other programs of this machine run on the processors that are measured on: rows wait for their \
                    time slices";
    let effect = lost(share, DELAYED, &Question::ALL, sentence);
    let effect = effect.map(|effect| effect.remedy("top -H  # then stop what you find", "none"));
    Some(Examined::harmless(percent(share)).with(effect))
}

fn examine_throttling(examination: &Examination, _: &System) -> Option<Examined> {
    let throttling = examination.conditions.throttling?;
    let value = match throttling.periods {
        0 => "none".into(),
        periods => {
            format!("{periods} periods, {} together", duration(throttling.stopped_ns as f64))
        }
    };
    let effect = Effect::new(
        Weight::Unfit,
        &Question::ALL,
        "the control group used up its processor time, and the kernel stopped it: rows contain these pauses",
    )
    .remedy(
        "docker run --cpus=2  # systemd-run: -p CPUQuota=200%; Kubernetes: limits.cpu: 2",
        "the processors are no longer available to others",
    );
    Some(Examined::harmless(value).with((throttling.periods > 0).then_some(effect)))
}

/// The speed of a steady processor varies by less.
const UNSTEADY: f64 = 0.03;

fn examine_speed(examination: &Examination, _: &System) -> Option<Examined> {
    let least = examination.canary_ns.iter().copied().reduce(f64::min)?;
    let most = examination.canary_ns.iter().copied().reduce(f64::max)?;
    let shift = most / least - 1.0;
    let effect = Effect::new(
        Weight::Reservation,
        &[Question::Spinning, Question::Large],
        "the speed of the processor varies, because its frequency changes or another thread of its core works: \
        trials vary as much",
    );
    let value = format!("moved by {}", percent(shift));
    Some(Examined::harmless(value).with((shift > UNSTEADY).then_some(effect)))
}

/// The effect of other programs is reported as run delay. Their names are only in the table, not here,
/// for privacy.
fn examine_others(examination: &Examination, _: &System) -> Option<Examined> {
    let busy = examination.conditions.processors.as_ref()?.iter().map(|used| used.busy_ns);
    let others_ns = busy.sum::<u64>().saturating_sub(examination.own_cpu_ns);
    let processors = others_ns as f64 / examination.conditions.elapsed_ns.max(1) as f64;
    Some(Examined::harmless(format!("{processors:.2} processors' worth of time")))
}

#[cfg(test)]
mod tests;
