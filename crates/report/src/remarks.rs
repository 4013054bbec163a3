//! The text around the tables: the head, the cases that were not measured, the legend.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_results::{
    Case, Group, Identity, Load, Pattern, Row, RunDistance, RunResult, Status, Touch,
    shared_core_share_of_run,
};

use crate::{
    plain::plain,
    units::{count, duration, figure, percent, size},
};

/// The meaning of the columns of these groups.
pub fn legend(groups: &[Group]) -> String {
    let has = |is_so: fn(Load) -> bool| groups.iter().any(|group| is_so(group.key.load));
    let has_open = |is_one_way: bool| {
        let is_of_kind = |group: &&Group| (group.key.pattern == Pattern::OneWay) == is_one_way;
        groups.iter().filter(is_of_kind).any(|group| group.key.load.is_open())
    };
    let measures = |pattern| groups.iter().any(|group| group.key.pattern == pattern);
    let is_halved =
        |group: &Group| group.key.pattern == Pattern::Latency && !group.key.load.is_open();
    let mut text = Vec::new();
    if groups.iter().any(is_halved) {
        text.push(HALVED.into());
    }
    if measures(Pattern::OneWay) {
        text.push(one_way(groups));
    }
    if measures(Pattern::Throughput) {
        text.push(STREAM.into());
    }
    if measures(Pattern::FanIn) {
        text.push(FAN_IN.into());
    }
    if groups.iter().flat_map(|group| &group.rows).any(|row| row.first_answer_ns().is_some()) {
        text.push(FAN_OUT.into());
    }
    if has_open(false) {
        text.push(OPEN.into());
    }
    if has_open(true) {
        text.push(OPEN_ONE_WAY.into());
    }
    if groups.iter().any(|group| group.key.pairs > 1) {
        text.push(PAIRS.into());
    }
    text.push(COSTS.into());
    if has(|load| load != Load::Closed) {
        text.push(CORES.into());
    }
    text.push(RANKS.to_string());
    text.join(" ")
}

/// The meaning of a time one way, and its largest possible error.
fn one_way(groups: &[Group]) -> String {
    let rows = groups.iter().flat_map(|group| &group.rows);
    let bound = rows.filter_map(Row::clock_bound_ns).reduce(f64::max);
    let bound = bound.map_or_else(
        || "the clocks of the two ends could not be compared".into(),
        |ns| format!("their offset, known within {}, is subtracted", duration(ns)),
    );
    format!(
        "one way: from the sender's clock to the receiver's; {bound}. send: the sender's part of it."
    )
}

const HALVED: &str =
    "½ round trip: a round trip divided by two; no clocks were compared between processes.";
const STREAM: &str = "msg/s, MB/s: as received, between the filling of the queue and the last message sent. queued: \
in transit at once.";
const FAN_IN: &str = "fan-in: messages of all publishers, as one leader receives them, while all of them publish. \
slowest: what \
    the slowest publisher delivers, against the fastest.";
const FAN_OUT: &str = "fan-out: mean, p50 and p99 are those of the last answer; first, each: the median of the first \
answer, and the range of the subscribers' own medians, at any distance. CPU/pub: the publisher's CPU time.";
const PAIRS: &str = "one of N pairs: all ran the same traffic at once, each with its own instance of the transport; \
figures and costs are those of one. all pairs/s: the total of all pairs.";
const OPEN: &str = "response: from the time at which a message was to be sent to its answer. late: sent after that \
time because the previous one was not answered, or never sent.";
const OPEN_ONE_WAY: &str = "one way from the intended time: until the message was received. late one way: sent after \
that time because the previous one could not be sent in time, or never sent.";
const COSTS: &str = "CPU/msg: CPU time of all processes a message, in the unit of the group.";
const CORES: &str = "cores: processors that all its processes kept busy.";
const RANKS: &str = "rank: rows without a significant difference share one, marked =. ± is half the 95 % interval of \
the mean. × floor: each block divided by the bare round trips just before and after it. –: too few samples.";

/// The first line: the program, and the measured share of the plan.
pub fn heading(result: &RunResult) -> String {
    let measured = result.cases.iter().filter(|case| case.status() == Status::Ok).count();
    let cases = count(measured as u64);
    let planned = count(result.planned_cases);
    format!("ipcmark {} · {cases} of {planned} cases measured", plain(&result.run.version))
}

/// The sentence about a result that does not hold the whole plan.
pub fn incomplete(result: &RunResult) -> Option<String> {
    let sentence = match result.planned_cases.saturating_sub(result.cases.len() as u64) {
        0 => "incomplete: the last trials were not reached".into(),
        left => format!("incomplete: {} of the cases were not reached", count(left)),
    };
    (!result.complete).then_some(sentence)
}

/// The machine and the two figures that all others depend on, each with its name.
pub fn facts(result: &RunResult) -> Vec<(&'static str, String)> {
    let place = &result.environment;
    let mut facts = vec![
        ("cpu", cpu(result)),
        ("kernel", joined(&[&place.kernel, &place.os])),
        ("hypervisor", plain(&place.hypervisor)),
        ("placement", plain(&place.placement)),
        ("distances", distances(result)),
        ("hiccups", hiccups(result).unwrap_or_default()),
        ("clock", clock(result)),
        ("time", time(result).unwrap_or_default()),
    ];
    facts.retain(|(_, fact)| !fact.is_empty());
    facts
}

fn cpu(result: &RunResult) -> String {
    let place = &result.environment;
    let (cpus, cores) = (place.cpus_usable, place.cores_usable);
    let several = |number: u32| if number == 1 { "" } else { "s" };
    let usable = format!("{cpus} CPU{} on {cores} core{} usable", several(cpus), several(cores));
    let governor = place.governor.as_ref().map(|name| format!("governor {name}"));
    joined(&[&place.cpu_model, &usable, governor.as_deref().unwrap_or_default()])
}

/// The distances with their shares, the one at which rows are compared first: `127 ns, 94 % of blocks; 412 ns, 3 %`.
fn distances(result: &RunResult) -> String {
    let Some(distances) = &result.distances else { return "not probed".into() };
    let mut order: Vec<usize> = (0..distances.all.len()).collect();
    order.sort_by_key(|at| Some(*at as u32) != distances.reference);
    let is_there = |distance: &&RunDistance| distance.share > 0.0;
    let seen = order.iter().map(|at| &distances.all[*at]).filter(is_there);
    let mut parts: Vec<String> = seen.map(distance).collect();
    if distances.mixed_share > 0.0 {
        parts.push(format!("mixed, {} %", figure(distances.mixed_share * 100.0)));
    }
    if parts.is_empty() {
        return "not known, for no row was measured".into();
    }
    let shared = shared_core_share_of_run(result).filter(|share| *share > 0.0);
    let shared = shared.map(|share| format!("; on shared cores, {} %", figure(share * 100.0)));
    format!("{} of the blocks{}", parts.join("; "), shared.unwrap_or_default())
}

/// How much time the processor with the most hiccups lost; `None` if no processor was watched.
fn hiccups(result: &RunResult) -> Option<String> {
    let all = result.hiccups();
    let worst = all.iter().max_by(|a, b| a.share().total_cmp(&b.share()))?;
    let longest = all.iter().map(|hiccups| hiccups.longest_ns).max()?;
    Some(format!(
        "up to {} of the time (cpu {}), {} over 10 µs a second, the longest {}",
        percent(worst.share()),
        worst.cpu,
        count(worst.per_second(10_000).round() as u64),
        duration(longest as f64)
    ))
}

fn distance(distance: &RunDistance) -> String {
    let share = figure(distance.share * 100.0);
    match distance.apart {
        true => format!("apart, {share} %"),
        false => {
            format!("at {} a bare round trip, {share} %", duration(distance.floor_round_trip_ns))
        }
    }
}

fn clock(result: &RunResult) -> String {
    let clock = &result.clock;
    let (cost, step) = (duration(clock.read_ns), clock.step_ns);
    format!("{}, {cost} a reading, in steps of {step} ns", plain(&clock.source))
}

/// The duration of the run and its parts:
/// `118 s: 71 % in measured blocks, 12 % around them, 16 % to open and close ends`.
fn time(result: &RunResult) -> Option<String> {
    let time = result.time.filter(|time| time.elapsed_ns > 0)?;
    let blocks_ns = result.blocks_ns();
    let share = |part_ns: u64| figure(part_ns as f64 / time.elapsed_ns as f64 * 100.0);
    let around_ns = time.turns_ns.saturating_sub(blocks_ns);
    Some(format!(
        "{}: {} % in measured blocks, {} % around them, {} % to open and close ends",
        duration(time.elapsed_ns as f64),
        share(blocks_ns),
        share(around_ns),
        share(time.setup_ns)
    ))
}

fn joined(parts: &[&str]) -> String {
    let parts: Vec<String> =
        parts.iter().map(|part| plain(part)).filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

/// One status that is not `ok`, and its cases.
pub struct Unmeasured {
    /// `failed`, `unsupported` or `unavailable`.
    pub status: Status,
    /// One line a reason: `fifo · block: the leader was killed by signal 9`.
    pub lines: Vec<String>,
}

/// The statuses of cases that were not measured, in the order in which they are shown.
pub const UNMEASURED: [Status; 3] = [Status::Failed, Status::Unsupported, Status::Unavailable];

/// The cases that were not measured. Cases with the same reason share a line, which names the payloads, touches and
/// waits only if other cases of the transport had another outcome.
pub fn unmeasured(cases: &[Case]) -> Vec<Unmeasured> {
    UNMEASURED
        .into_iter()
        .map(|status| Unmeasured { status, lines: lines(cases, status) })
        .filter(|unmeasured| !unmeasured.lines.is_empty())
        .collect()
}

/// The reason why a case was not measured.
pub fn reason(case: &Case) -> String {
    match plain(case.reason().unwrap_or_default()) {
        reason if reason.is_empty() => "no reason was given".into(),
        reason => reason,
    }
}

fn lines(cases: &[Case], status: Status) -> Vec<String> {
    let mut by_transport: BTreeMap<(&str, String), Vec<&Identity>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.status() == status) {
        let key = (case.identity.transport.as_str(), reason(case));
        by_transport.entry(key).or_default().push(&case.identity);
    }
    let mut by_reason: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for ((transport, reason), these) in by_transport {
        let extent = extent(cases, transport, &these);
        by_reason.entry((extent, reason)).or_default().push(plain(transport));
    }
    let line = |((extent, reason), names): (_, Vec<String>)| {
        format!("{}{extent}: {reason}", names.join(", "))
    };
    let mut lines: Vec<String> = by_reason.into_iter().map(line).collect();
    lines.sort();
    lines
}

/// The subset of a transport's cases; empty for all of them: ` · 64 B, 4 KiB · spin`.
fn extent(cases: &[Case], transport: &str, these: &[&Identity]) -> String {
    let identities = cases.iter().map(|case| &case.identity);
    let all: Vec<&Identity> =
        identities.filter(|identity| identity.transport == transport).collect();
    [
        part(&all, these, |identity| (identity.payload_bytes, payload(identity))),
        part(&all, these, |identity| (identity.wait as u64, identity.wait.to_string())),
    ]
    .concat()
}

fn payload(identity: &Identity) -> String {
    let size = size(identity.payload_bytes);
    match identity.touch {
        Touch::Head => size,
        touch => format!("{size} touch {touch}"),
    }
}

/// The values that these cases have of a property, unless they are all values of the transport.
fn part(all: &[&Identity], these: &[&Identity], value: fn(&Identity) -> (u64, String)) -> String {
    let values =
        |cases: &[&Identity]| cases.iter().map(|case| value(case)).collect::<BTreeSet<_>>();
    let here = values(these);
    if here == values(all) {
        return String::new();
    }
    let words: Vec<String> = here.into_iter().map(|(_, word)| word).collect();
    format!(" · {}", words.join(", "))
}
