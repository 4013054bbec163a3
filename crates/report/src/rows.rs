//! Cases made into rows, and rows into groups: what stands in one ranking.

use std::collections::{BTreeMap, btree_map::Entry};

use ipcmark_results::{Case, Figures, RunResult, Status};

use crate::{
    caveats::caveats,
    plain::{plain, words},
    units,
};

/// Words in the order in which people are shown them.
const PATTERNS: &[&str] = &["latency", "one-way", "throughput", "fan-out"];
const SPANS: &[&str] = &["process", "thread", "none"];
const TOUCHES: &[&str] = &["head", "all"];
const WAITS: &[&str] = &["spin", "block", "hybrid"];

/// Rows that may be compared: one pattern, span, payload, touch and wait; fastest first.
pub struct Group<'a> {
    /// What its rows have in common: `latency · 64 B · spin`.
    pub title: String,
    /// Whether its times are shown as half of the round trips.
    pub half: bool,
    /// Its rows.
    pub rows: Vec<Row<'a>>,
}

/// The trials of one case together: of each figure the median over the trials. Times are round
/// trips in ns.
pub struct Row<'a> {
    /// The transport, with its settings where they are not its defaults.
    pub name: String,
    /// Its trials, at least one.
    pub cases: Vec<&'a Case>,
    /// How many trials there are.
    pub trials: usize,
    /// Percentiles.
    pub p50: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1,000.
    pub p99_9: f64,
    /// The longest.
    pub max: f64,
    /// The mean of the bulk pass.
    pub bulk_mean: f64,
    /// The least and the greatest p50 of the trials.
    pub p50_range: (f64, f64),
    /// CPU time of all processes a message.
    pub cpu_per_message: f64,
    /// Context switches of all processes a message.
    pub switches_per_message: f64,
    /// Messages a second.
    pub messages_per_second: f64,
    /// The p50 against the floor, where the floor was measured.
    pub floor_multiple: Option<f64>,
    /// What carried the messages, in words; the first trial speaks where they differ.
    pub carrier: String,
    /// What must be known of it beside its figures, in sentences.
    pub caveats: Vec<String>,
}

impl Row<'_> {
    /// The name, with a mark where there is a footnote.
    pub fn marked_name(&self) -> String {
        if self.caveats.is_empty() { self.name.clone() } else { format!("{} !", self.name) }
    }

    /// What must be said of it beside its figures.
    pub fn footnotes(&self) -> impl Iterator<Item = String> {
        self.caveats.iter().map(|caveat| format!("{}: {caveat}", self.name))
    }
}

/// What the cases of a group have in common, in the order of the groups. A word stands behind its
/// place in the order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    pattern: (usize, &'a str),
    span: (usize, &'a str),
    subscribers: u32,
    silent: u32,
    /// Payload and touch; not where they make no difference, where all stand in one group.
    payload: Option<(u64, (usize, &'a str))>,
    wait: (usize, &'a str),
}

/// What the trials of a row have in common beside the key of its group: the payload, where the
/// group has several; transport; settings.
type Member<'a> = (Option<u64>, &'a str, &'a BTreeMap<String, String>);

type Members<'a> = BTreeMap<Member<'a>, Vec<&'a Case>>;

/// All rows of a result, in groups.
pub fn groups(result: &RunResult) -> Vec<Group<'_>> {
    let mut found: BTreeMap<Key, Members> = BTreeMap::new();
    let is_measured = |case: &&Case| case.status == Status::Ok && case.figures.is_some();
    for case in result.cases.iter().filter(is_measured) {
        found.entry(key(case)).or_default().entry(member(case)).or_default().push(case);
    }
    let touches = touches_of_payloads(&result.cases);
    found.iter().map(|(key, members)| group(key, members, &touches)).collect()
}

fn key(case: &Case) -> Key<'_> {
    Key {
        pattern: ranked(PATTERNS, &case.pattern),
        span: ranked(SPANS, &case.span),
        subscribers: case.subscribers,
        silent: case.silent_subscribers,
        payload: (!is_unmoved(case)).then(|| payload(case)),
        wait: ranked(WAITS, &case.wait),
    }
}

fn member(case: &Case) -> Member<'_> {
    (is_unmoved(case).then_some(case.payload_bytes), &case.transport, &case.options)
}

/// Whether its payload makes no difference: nothing is moved, and nothing touched but the head.
fn is_unmoved(case: &Case) -> bool {
    case.span == "none" && case.touch == "head"
}

fn payload(case: &Case) -> (u64, (usize, &str)) {
    (case.payload_bytes, ranked(TOUCHES, &case.touch))
}

fn ranked<'a>(order: &[&str], word: &'a str) -> (usize, &'a str) {
    (order.iter().position(|known| *known == word).unwrap_or(order.len()), word)
}

/// For each payload the touch that all its cases have, or none where they differ.
fn touches_of_payloads(cases: &[Case]) -> BTreeMap<u64, Option<&str>> {
    let mut touches = BTreeMap::new();
    for case in cases {
        match touches.entry(case.payload_bytes) {
            Entry::Vacant(entry) => _ = entry.insert(Some(case.touch.as_str())),
            Entry::Occupied(mut entry) if *entry.get() != Some(&case.touch) => {
                entry.insert(None);
            }
            Entry::Occupied(_) => {}
        }
    }
    touches
}

fn group<'a>(key: &Key, members: &Members<'a>, touches: &BTreeMap<u64, Option<&str>>) -> Group<'a> {
    let mut rows: Vec<Row> =
        members.iter().map(|(member, trials)| row(name(member), trials)).collect();
    if key.payload.is_some() {
        rows.sort_by(|a, b| a.p50.total_cmp(&b.p50).then_with(|| a.name.cmp(&b.name)));
    }
    let trials = rows.iter().map(|row| row.trials).max().unwrap_or(1);
    Group { title: title(key, touches, trials), half: key.pattern.1 == "latency", rows }
}

fn title(key: &Key, touches: &BTreeMap<u64, Option<&str>>, trials: usize) -> String {
    let mut parts = vec![plain(key.pattern.1)];
    if let Some((bytes, (_, touch))) = key.payload {
        parts.push(units::size(bytes));
        if touches.get(&bytes) != Some(&Some("head")) {
            parts.push(format!("touch {}", plain(touch)));
        }
    }
    if key.subscribers > 1 {
        parts.push(followers(key.subscribers, key.silent));
    }
    parts.push(plain(key.wait.1));
    match key.span.1 {
        "process" => {}
        "thread" => parts.push("one process".into()),
        "none" => parts.push("no hop: the harness itself".into()),
        other => parts.push(plain(other)),
    }
    if trials > 1 {
        parts.push(format!("{trials} trials"));
    }
    parts.join(" · ")
}

/// Several followers in words.
pub fn followers(subscribers: u32, silent: u32) -> String {
    match silent {
        0 => format!("{subscribers} subscribers"),
        _ => format!("{subscribers} subscribers, {silent} of them silent"),
    }
}

fn name((payload, transport, options): &Member) -> String {
    let mut name = plain(transport);
    if let Some(bytes) = payload {
        name += &format!(" {}", units::size(*bytes));
    }
    name + &settings(options)
}

/// The transport of a case, with its settings where they are not its defaults.
pub fn transport_of(case: &Case) -> String {
    plain(&case.transport) + &settings(&case.options)
}

fn settings(options: &BTreeMap<String, String>) -> String {
    let setting =
        |(option, value): (&String, &String)| format!(" {}={}", plain(option), plain(value));
    options.iter().map(setting).collect()
}

fn row<'a>(name: String, cases: &[&'a Case]) -> Row<'a> {
    let trials: Vec<&Figures> = cases.iter().filter_map(|case| case.figures.as_ref()).collect();
    let median = |figure: fn(&Figures) -> f64| median(trials.iter().map(|trial| figure(trial)));
    let p50 = median(|figures| figures.round_trip_ns.p50 as f64);
    // Each trial against the floor of its own moment: a hypervisor may move processors about.
    let multiple =
        |figures: &Figures| figures.round_trip_ns.p50 as f64 / figures.floor_round_trip_ns;
    Row {
        name,
        cases: cases.to_vec(),
        trials: trials.len(),
        p50,
        p99: median(|figures| figures.round_trip_ns.p99 as f64),
        p99_9: median(|figures| figures.round_trip_ns.p99_9 as f64),
        max: median(|figures| figures.round_trip_ns.max as f64),
        bulk_mean: median(|figures| figures.round_trip_ns.bulk_mean),
        p50_range: range(trials.iter().map(|trial| trial.round_trip_ns.p50 as f64)),
        cpu_per_message: median(|figures| {
            figures.cpu_ns_per_message.leader + figures.cpu_ns_per_message.follower
        }),
        switches_per_message: median(switches_per_round_trip) / messages_per_round_trip(cases),
        messages_per_second: median(|figures| figures.messages_per_second),
        floor_multiple: Some(median(multiple)).filter(|multiple| multiple.is_finite()),
        carrier: trials.first().map_or_else(String::new, |trial| words(&trial.path.carrier)),
        caveats: caveats(cases),
    }
}

/// One message to each follower, and one back from each that answers.
pub fn messages_per_round_trip(cases: &[&Case]) -> f64 {
    let messages = |case: &&Case| {
        let (followers, silent) = (case.subscribers.max(1), case.silent_subscribers);
        f64::from(followers) + f64::from(followers.saturating_sub(silent))
    };
    cases.first().map_or(2.0, messages)
}

fn switches_per_round_trip(figures: &Figures) -> f64 {
    let sides = [&figures.context_switches.leader, &figures.context_switches.follower];
    let switches: f64 =
        sides.iter().map(|side| side.voluntary as f64 + side.involuntary as f64).sum();
    switches / figures.round_trips.max(1) as f64
}

/// The least and the greatest.
pub fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(least, greatest), value| {
        (value.min(least), value.max(greatest))
    })
}

/// The middle one, or the mean of the middle two.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[middle],
        _ => values[middle - 1].midpoint(values[middle]),
    }
}
