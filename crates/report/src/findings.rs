//! Findings: the answers of a run, in a few lines.

use std::collections::BTreeMap;

use ipcmark_results::{
    Best, Caveat, Disturbance, Figure, Group, GroupKey, Load, Pattern, Row, RunResult, Wait, best,
    caveats, groups, stats,
};

use crate::{
    caveats::disturbed,
    columns::Scale,
    names::{self, Titles},
    units::{count, duration, figure, half_width},
};

/// The number of rows of one rank that are named; of further rows only their number is given.
const NAMED: usize = 4;

/// A finding: a question and its answer.
pub struct Finding {
    /// `64 B · spin`.
    pub question: String,
    /// `fastest shm-ring and shm-slot, 52 ns ± 2 %; …`.
    pub answer: String,
}

/// The fastest rows of every table with their costs, and the machine's effect on the figures.
pub fn findings(result: &RunResult) -> Vec<Finding> {
    let titles = Titles::of(result);
    let rows = best(result);
    let several = rows.iter().filter(|best| best.group.rows.len() > 1);
    let found = several.map(|best| Finding {
        question: titles.short(&best.group.key),
        answer: format!("{}{}", fastest(best), price(best)),
    });
    let groups = groups(result);
    let found = found.chain(not_held(&groups, &titles));
    let found: Vec<Finding> = found.chain(wake_ups(&groups, &titles)).collect();
    if found.is_empty() {
        return found;
    }
    found.into_iter().chain(machine(result)).chain(suspect(&groups)).collect()
}

/// The rates that none of several rows held, with the row that came nearest.
fn not_held<'a>(groups: &'a [Group], titles: &'a Titles) -> impl Iterator<Item = Finding> + 'a {
    let several = groups.iter().filter(|group| group.rows.len() > 1);
    several.filter_map(|group| {
        let rates: Vec<(f64, &Row)> = group
            .rows
            .iter()
            .map(|row| Some((row.not_held()?.sent_per_second, row)))
            .collect::<Option<_>>()?;
        let (most, row) = rates.into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        let (name, most) = (names::row(row), count(most.round() as u64));
        let answer = format!("no row held the rate; most {name}, {most}/s");
        Some(Finding { question: titles.short(&group.key), answer })
    })
}

/// The time that a sleeping receiver adds to a message one way, at each payload: its wake-ups if the kernel recorded
/// them, else an estimate if both waits were measured.
fn wake_ups(groups: &[Group], titles: &Titles) -> Vec<Finding> {
    let sleeps = |group: &&Group| {
        let GroupKey { pattern, wait, .. } = group.key;
        pattern == Pattern::OneWay && wait != Wait::Spin
    };
    let found = groups.iter().filter(sleeps).filter_map(|asleep| {
        let answer = noted(asleep).or_else(|| estimated(asleep, groups))?;
        Some(Finding { question: titles.short(&asleep.key), answer })
    });
    found.collect()
}

/// The wake-ups that the kernel recorded, and the rest of the way; in an open loop the way also has the lateness.
fn noted(asleep: &Group) -> Option<String> {
    let known: Vec<(&Row, [f64; 2])> =
        asleep.rows.iter().filter_map(|row| Some((row, row.wake_up_ns()?))).collect();
    let half = range_of(known.iter().map(|(_, [p50, _])| *p50))?;
    let most = range_of(known.iter().map(|(_, [_, p99])| *p99))?;
    let left = |(row, [p50, _]): &(&Row, [f64; 2])| Some(row.percentile(0.5)?.value - p50);
    let is_whole = |ns: &f64| *ns > 0.0 && !asleep.key.load.is_open();
    let left = range_of(known.iter().filter_map(left).filter(is_whole));
    let left = left.map_or_else(String::new, |left| {
        format!("; it leaves {left} of the way for the send call until then and for reading")
    });
    let rows = if known.len() == 1 { "row" } else { "rows" };
    Some(format!(
        "a wake-up took {half} (p50), {most} (p99), by the kernel's tracepoints in {} {rows}{left}",
        known.len()
    ))
}

/// The shortest and the longest of the times.
fn range_of(times: impl Iterator<Item = f64>) -> Option<String> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    Some(range(*times.first()?, *times.last()?))
}

/// Two times, or one if they read alike.
fn range(least_ns: f64, greatest_ns: f64) -> String {
    let (least, greatest) = (duration(least_ns), duration(greatest_ns));
    if least == greatest { least } else { format!("{least} to {greatest}") }
}

/// An estimate of the wake-up: the difference between both waits.
fn estimated(asleep: &Group, groups: &[Group]) -> Option<String> {
    let key = GroupKey { wait: Wait::Spin, ..asleep.key };
    let is_meant = asleep.key.wait == Wait::Block && asleep.key.load == Load::Closed;
    let awake = groups.iter().find(|group| is_meant && group.key == key)?;
    let mut added: Vec<f64> =
        awake.rows.iter().filter_map(|row| added_by_sleep(row, asleep)).collect();
    added.sort_by(f64::total_cmp);
    let (least, greatest) = (added.first()?, added.last()?);
    Some(format!(
        "a sleeping receiver adds about {}, its wake-up: an estimate, the medians of both waits apart, {} to {} in \
        {} rows",
        duration(stats::median(&added)?),
        duration(*least),
        duration(*greatest),
        added.len()
    ))
}

/// The increase of the same transport's median if its receiver sleeps.
fn added_by_sleep(awake: &Row, asleep: &Group) -> Option<f64> {
    let identity = &awake.case.identity;
    let is_same = |row: &&Row| {
        let other = &row.case.identity;
        (&other.transport, &other.options) == (&identity.transport, &identity.options)
    };
    let slept = asleep.rows.iter().find(is_same)?.percentile(0.5)?.value;
    Some(slept - awake.percentile(0.5)?.value).filter(|added| *added > 0.0)
}

fn fastest(best: &Best) -> String {
    if best.group.key.pattern.is_stream() {
        return busiest(best);
    }
    let factor = Scale::of(&best.group).factor();
    let word = match best.group.key.pattern {
        Pattern::FanOut => "fastest to the last answer",
        _ => "fastest",
    };
    let mut first: Vec<(f64, &Row)> =
        best.fastest.iter().filter_map(|row| Some((row.location()?.value * factor, row))).collect();
    first.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let [(least, row), .., (greatest, _)] = first[..] else {
        let only = &best.fastest[0];
        let time = only.location().map_or(0.0, |figure| figure.value * factor);
        let off = uncertainty(only.location());
        return format!("{word} {}, {}{off}", names::row(only), duration(time));
    };
    if best.fastest.iter().all(|row| row.trials.len() < 2) {
        return format!("{word} in its one trial {}, {}", names::row(row), duration(least));
    }
    format!("{word}, tied: {}, {}", tied(&best.fastest), range(least, greatest))
}

/// The rows that carry the most messages.
fn busiest(best: &Best) -> String {
    let rates = best.fastest.iter().filter_map(Row::messages_per_second);
    let (least, greatest) =
        rates.fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    let [least, greatest] =
        [least, greatest].map(|rate| format!("{}/s", count(rate.round() as u64)));
    match &best.fastest[..] {
        [first, ..] if best.fastest.iter().all(|row| row.trials.len() < 2) => {
            format!("most in its one trial {}, {greatest}", names::row(first))
        }
        [only] => {
            format!("most {}, {greatest}{}", names::row(only), uncertainty(only.location()))
        }
        tied => format!("most, tied: {}, {least} to {greatest}", self::tied(tied)),
    }
}

/// The names of rows of one rank.
fn tied(rows: &[Row]) -> String {
    let names: Vec<String> = rows.iter().take(NAMED).map(names::row).collect();
    match rows.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// ` ± 3 %`; empty if the interval is not known.
pub(crate) fn uncertainty(location: Option<Figure>) -> String {
    let width = location.and_then(|figure| figure.relative_half_width());
    width.map_or_else(String::new, |width| format!(" ± {}", half_width(width)))
}

/// The cost. For rows that spin it is not the CPU time per message, because they keep their processors busy without
/// messages too.
fn price(best: &Best) -> String {
    match (best.group.key.wait, best.fastest[0].cores()) {
        (Wait::Spin, None) => "; its processors are never idle".into(),
        (Wait::Spin, Some(cores)) => {
            format!("; keeps {} cores busy, with messages or without", figure(cores))
        }
        _ => best.cheapest.as_ref().map_or_else(String::new, |row| {
            let identity = &row.case.identity;
            let (of_all, what) = match identity.pattern {
                Pattern::FanOut => (identity.messages_per_publication(), "publication"),
                _ => (1, "message"),
            };
            let cpu = duration(row.cpu_per_message() * of_all as f64);
            format!("; least CPU {}, {cpu} a {what}", names::row(row))
        }),
    }
}

/// The factor by which the machine alone could change the figures.
fn machine(result: &RunResult) -> Option<Finding> {
    let distances = result.distances.as_ref()?;
    let reference = distances.all.get(distances.reference? as usize)?;
    let floors = distances.all.iter().filter(|distance| !distance.apart);
    let floors: Vec<f64> = floors.map(|distance| distance.floor_round_trip_ns).collect();
    let least = floors.iter().copied().fold(f64::MAX, f64::min);
    let greatest = floors.iter().copied().fold(0.0, f64::max);
    let share = figure(reference.share * 100.0);
    let answer = match floors.len() {
        0 | 1 => format!("one distance; {share} % of the blocks count"),
        count => format!(
            "{count} distances: a bare cache line took {} to {} there and back; rows are compared at {}, in {share} % \
             of the blocks",
            duration(least),
            duration(greatest),
            duration(reference.floor_round_trip_ns)
        ),
    };
    Some(Finding { question: "machine".into(), answer })
}

/// How many rows the machine disturbed, and how.
pub(crate) fn suspect(groups: &[Group]) -> Option<Finding> {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let mut disturbances: BTreeMap<Disturbance, u64> = BTreeMap::new();
    for caveat in rows().flat_map(caveats) {
        if let Caveat::Disturbed(disturbance) = caveat {
            *disturbances.entry(disturbance).or_default() += 1;
        }
    }
    let all = count(rows().count() as u64);
    let these = disturbances.into_iter().map(|(disturbance, rows)| {
        format!("{} of {all} rows: {}", count(rows), disturbed(disturbance))
    });
    let answer = these.collect::<Vec<_>>().join("; ");
    (!answer.is_empty()).then(|| Finding { question: "suspect".into(), answer })
}
