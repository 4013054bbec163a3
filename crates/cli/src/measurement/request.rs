//! The flags, converted into the engine's request.

mod p99;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use ipcmark_engine::{
    FEWEST_TRIALS, Length, Pinning, PlanRequest, Registry, RunOptions, Trace, Trials, Waits,
};
use ipcmark_results::{Identity, Load, Touch};
use ipcmark_transport::{Pattern, Wait};

use crate::{
    arguments::{
        run::{RunArguments, SandboxWord},
        sizes::Sizes,
        trace_file,
        values::WaitWord,
    },
    selection::{self, Selection},
    transport_options,
};

/// The sizes that are measured by default.
const DEFAULT_SIZES: [usize; 3] = [64, 4 << 10, 1 << 20];

/// The default budget for `--precision`.
const MOST_FOR_PRECISION: Duration = Duration::from_secs(600);

/// The followers for which the engine's default timeout is enough. On two processors 64 followers of `aeron-udp` need
/// more than 8 s, four fifths of it, to find their leader.
const FOLLOWERS_IN_A_TIMEOUT: u32 = 16;

/// A run as the flags request it.
pub(crate) struct RunRequest {
    pub selection: Selection,
    pub plan: PlanRequest,
    pub options: RunOptions,
}

impl RunRequest {
    /// Reads and checks the flags. An error is one of the command line.
    pub(crate) fn new(arguments: &RunArguments, registry: &Registry) -> Result<Self, String> {
        refuse_contradictions(arguments)?;
        let mut selection = selection::select(&arguments.transports, registry)?;
        if arguments.has_all {
            selection.by_name.clear();
        }
        let set = transport_options::read(&arguments.set, registry)?;
        let options = run_options(arguments, transport_options::paths(&set, registry));
        options.pinning.check(followers(arguments), arguments.pairs).map_err(|e| e.to_string())?;
        let plan = plan_request(arguments, &selection)?;
        let words = arguments.waits.as_deref().unwrap_or_default();
        let waits_of = waits_of(words, registry)?;
        Ok(Self { selection, plan: PlanRequest { options: set, waits_of, ..plan }, options })
    }
}

impl RunRequest {
    /// Leaves out the transports that do not cross hosts, and returns their names. An error if the user named one of
    /// them, or if nothing is left.
    pub(crate) fn keep_across_hosts(&mut self, registry: &Registry) -> Result<Vec<String>, String> {
        let definition = |at: &usize| registry[*at].definition();
        let crosses = |at: &usize| definition(at).capabilities.crosses_hosts;
        let name = |at: &usize| definition(at).name.to_string();
        if let Some(at) = self.selection.by_name.iter().find(|at| !crosses(at)) {
            return Err(format!(
                "{} does not cross hosts, which --all-pairs requires wherever the ranks are: leave it out",
                name(at)
            ));
        }
        let (kept, left): (Vec<usize>, Vec<usize>) =
            self.plan.transports.iter().copied().partition(crosses);
        if kept.is_empty() {
            return Err(
                "none of the chosen transports crosses hosts, which --all-pairs requires".into()
            );
        }
        self.plan.transports = kept;
        Ok(left.iter().map(name).collect())
    }

    /// Leaves only the rows of this identity, at all loads.
    pub(crate) fn narrow_to(&mut self, row: &Identity, registry: &Registry) {
        let plan = &mut self.plan;
        plan.transports.retain(|at| registry[*at].definition().name == row.transport);
        plan.patterns = vec![row.pattern];
        plan.payloads = vec![(row.payload_bytes as usize, vec![row.touch])];
        (plan.waits, plan.waits_of) = (Waits::These(vec![row.wait]), BTreeMap::new());
    }
}

fn refuse_contradictions(arguments: &RunArguments) -> Result<(), String> {
    refuse_beside_publishers(arguments)?;
    let fans_out = patterns(arguments) == [Pattern::FanOut];
    if arguments.subscribers > 1 && !fans_out {
        return Err("several --subscribers make sense only for the pattern fan-out: without \
                    --patterns it is the one that is measured"
            .into());
    }
    if arguments.publishers > 1 && patterns(arguments) != [Pattern::FanIn] {
        return Err("several --publishers make sense only for the pattern fan-in: without --patterns it is the one that \
                    is measured"
            .into());
    }
    let is_paced =
        arguments.rate.is_some() || arguments.interval.is_some() || arguments.trace.is_some();
    let stream = patterns(arguments).into_iter().find(|pattern| pattern.is_stream());
    if let Some(stream) = stream.filter(|_| is_paced) {
        return Err(format!(
            "--rate, --interval and --trace say when each message is sent, but the pattern {stream} sends as fast as \
            it \
             goes: leave one of them out"
        ));
    }
    if arguments.silent > 0 && patterns(arguments) == [Pattern::FanIn] {
        return Err("in the pattern fan-in every follower publishes: leave --silent out".into());
    }
    if arguments.silent >= arguments.subscribers {
        return Err("--silent must leave at least one of the --subscribers to answer: without an \
                    answer there is no round trip to time"
            .into());
    }
    refuse_pairs(arguments)
}

/// Refuses flags that contradict publishers, which are all the followers.
fn refuse_beside_publishers(arguments: &RunArguments) -> Result<(), String> {
    let other = match arguments {
        _ if arguments.publishers == 1 => return Ok(()),
        _ if arguments.subscribers > 1 => "--subscribers",
        _ if arguments.silent > 0 => "--silent",
        _ if arguments.pairs > 1 => "--pairs",
        _ => return Ok(()),
    };
    Err(format!(
        "--publishers N makes N followers of one leader, which all publish: leave {other} out"
    ))
}

/// Refuses flags that contradict several pairs: each has one follower, and all send the same.
fn refuse_pairs(arguments: &RunArguments) -> Result<(), String> {
    let reason = if arguments.pairs == 1 {
        return Ok(());
    } else if arguments.subscribers > 1 {
        "--pairs runs leaders with one follower each, --subscribers one leader with several: leave one of them out"
    } else if arguments.trace.is_some() {
        "--trace plays what one sender sent, and several --pairs would send it several times: use --rate"
    } else {
        return Ok(());
    };
    Err(reason.into())
}

/// The values in their order, of each key only the first: a row that stands in a plan twice is measured twice, as one.
pub(crate) fn each_once<T, K: PartialEq>(
    values: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let mut known = Vec::new();
    let is_new = |value: &T| {
        let key = key(value);
        let is_new = !known.contains(&key);
        known.push(key);
        is_new
    };
    values.into_iter().filter(is_new).collect()
}

/// Several followers mean fan-out if they listen, fan-in if they publish.
fn patterns(arguments: &RunArguments) -> Vec<Pattern> {
    match (&arguments.patterns, arguments.subscribers, arguments.publishers) {
        (Some(patterns), ..) => each_once(patterns.iter().copied(), |pattern| *pattern),
        (None, 0 | 1, 0 | 1) => vec![Pattern::Latency],
        (None, 0 | 1, _) => vec![Pattern::FanIn],
        (None, ..) => vec![Pattern::FanOut],
    }
}

/// The number of followers of one leader.
fn followers(arguments: &RunArguments) -> u32 {
    arguments.subscribers.max(arguments.publishers)
}

fn plan_request(arguments: &RunArguments, selection: &Selection) -> Result<PlanRequest, String> {
    let default = PlanRequest::default();
    let counted = arguments.round_trips.map(Length::RoundTrips);
    let words = arguments.waits.as_deref().unwrap_or_default();
    let trace = arguments.trace.as_deref().map(trace_file::read).transpose()?;
    let played = trace.as_ref().map(|trace| trace_file::length(trace, arguments.duration));
    let time = played.transpose()?.or(arguments.duration).map(Length::Time);
    Ok(PlanRequest {
        transports: selection.transports.clone(),
        patterns: patterns(arguments),
        buffers: arguments.buffers.clone(),
        subscribers: followers(arguments),
        silent: arguments.silent,
        pairs: arguments.pairs,
        loads: trace.as_ref().map_or_else(|| loads(arguments), |trace| vec![trace.load()]),
        payloads: payloads(arguments, trace.as_ref())?,
        waits: waits(words),
        trials: trials(arguments),
        length: counted.or(time),
        trace,
        seed: arguments.seed.unwrap_or_else(random_seed),
        ..default
    })
}

fn loads(arguments: &RunArguments) -> Vec<Load> {
    let arrivals = arguments.arrivals.into();
    let rate = |per_second: &u64| Load::Rate { per_second: *per_second, arrivals };
    match (&arguments.rate, arguments.interval) {
        // Each rate once, the lowest first.
        (Some(rates), _) => rates.iter().collect::<BTreeSet<_>>().into_iter().map(rate).collect(),
        (None, Some(pause)) => vec![Load::Interval { pause_ns: pause.as_nanos() as u64 }],
        (None, None) => vec![Load::Closed],
    }
}

/// The waits of all transports, without the words for particular transports.
fn waits(words: &[WaitWord]) -> Waits {
    gathered(words.iter().filter(|word| word.transports.is_none())).unwrap_or_default()
}

/// The waits of the transports that have words of their own, by index in the registry.
fn waits_of(words: &[WaitWord], registry: &Registry) -> Result<BTreeMap<usize, Waits>, String> {
    let mut words_of: BTreeMap<usize, Vec<&WaitWord>> = BTreeMap::new();
    for word in words {
        for at in places(word, registry).map_err(|why| format!("in --waits: {why}"))? {
            words_of.entry(at).or_default().push(word);
        }
    }
    Ok(words_of.into_iter().filter_map(|(at, words)| Some((at, gathered(words)?))).collect())
}

fn places(word: &WaitWord, registry: &Registry) -> Result<Vec<usize>, String> {
    word.transports.as_ref().map_or(Ok(Vec::new()), |word| selection::matching(word, registry))
}

/// The waits that these words give together; None if there are none.
fn gathered<'a>(words: impl IntoIterator<Item = &'a WaitWord>) -> Option<Waits> {
    let waits: Vec<Option<Wait>> = each_once(words.into_iter().map(|word| word.wait), |wait| *wait);
    match waits.is_empty() {
        true => None,
        false => Some(waits.into_iter().collect::<Option<_>>().map_or(Waits::All, Waits::These)),
    }
}

/// By default, the engine sets the run's time once it knows how much there is to measure.
fn trials(arguments: &RunArguments) -> Trials {
    if let Some(half_width) = arguments.precision {
        return Trials::Until { half_width, most: arguments.budget.unwrap_or(MOST_FOR_PRECISION) };
    }
    let has_length = arguments.round_trips.is_some()
        || arguments.duration.is_some()
        || arguments.trace.is_some();
    match (arguments.trials, arguments.budget) {
        (Some(count), _) => Trials::Fixed(count),
        (None, Some(budget)) => Trials::Within(budget),
        (None, None) if has_length => Trials::Fixed(FEWEST_TRIALS),
        (None, None) => Trials::Usual,
    }
}

/// Untouched cache lines give misleading times for large messages: by default every byte is touched.
fn payloads(
    arguments: &RunArguments,
    trace: Option<&Trace>,
) -> Result<Vec<(usize, Vec<Touch>)>, String> {
    let touch = arguments.touch.map_or(Touch::All, Into::into);
    if let Some(trace) = trace {
        return Ok(vec![(trace.largest(), vec![touch])]);
    }
    let read =
        |text: &String| Sizes::parse(text).map_err(|why| format!("in --sizes {text}: {why}"));
    let given = arguments.sizes.as_ref().map(read).transpose()?;
    let sizes = given.as_ref().map_or(&DEFAULT_SIZES[..], |sizes| &sizes.0);
    Ok(sizes.iter().map(|size| (*size, vec![touch])).collect())
}

fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library keys its hashers from the system's random numbers. 53 bits, so that
    // readers that hold numbers in doubles read the same seed.
    std::hash::RandomState::new().build_hasher().finish() >> 11
}

/// The default timeout for a leader with this many followers, which start at once and can share two processors.
fn timeout(followers: u32) -> Duration {
    RunOptions::default().timeout * followers.div_ceil(FOLLOWERS_IN_A_TIMEOUT)
}

fn run_options(arguments: &RunArguments, visible: Vec<PathBuf>) -> RunOptions {
    let pinning = match (&arguments.cpus, &arguments.placement) {
        (Some(cpus), _) => Pinning::Cpus(cpus.clone()),
        (None, Some(placement)) => placement.clone(),
        (None, None) if arguments.no_pin => Pinning::Off,
        (None, None) => Pinning::Auto,
    };
    RunOptions {
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        version: env!("CARGO_PKG_VERSION").into(),
        pinning,
        sandbox: arguments.sandbox == SandboxWord::Auto,
        visible,
        distance: arguments.distance,
        timeout: arguments.timeout.unwrap_or_else(|| timeout(followers(arguments))),
        ..RunOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use ipcmark_engine::Plan;
    use ipcmark_results::PlacementPolicy;
    use ipcmark_transport::Span;

    use super::*;

    fn request(words: &str, registry: &Registry) -> RunRequest {
        let words: Vec<&str> = words.split_whitespace().collect();
        RunRequest::new(&RunArguments::of_words(&words).unwrap(), registry).unwrap()
    }

    /// Regression: such a row was measured twice, and its trials had each number twice.
    #[test]
    fn what_is_named_twice_is_measured_once() {
        let registry = ipcmark_registry::native();
        let words = "-t pipe,pipe -w block,spin,block -p latency,latency -s 64,64 --rate 1k/s,1k/s";
        let plan = Plan::new(&registry, &request(words, &registry).plan);
        assert_eq!((plan.sessions.len(), plan.len()), (2, 2));
        let words = "-t pipe -p fan-out,fan-out --subscribers 2 -w block,pipe=spin,pipe=spin -s 64";
        assert_eq!(Plan::new(&registry, &request(words, &registry).plan).len(), 1);
    }

    #[test]
    fn a_request_narrowed_to_a_row_measures_it_alone() {
        let registry = ipcmark_registry::native();
        let words = "-t pipe,tcp -w spin,tcp=all -p latency,one-way -s 64,4k --rate 1k/s";
        let mut request = request(words, &registry);
        let row = Identity {
            transport: "tcp".into(),
            family: "os".into(),
            library_version: None,
            pattern: Pattern::OneWay,
            payload_bytes: 4096,
            wait: Wait::Block,
            touch: Touch::All,
            load: Load::Closed,
            span: Span::Process,
            subscribers: 1,
            silent_subscribers: 0,
            pairs: 1,
            between: None,
            n_sends: false,
            options: BTreeMap::new(),
            placement: PlacementPolicy::Auto,
        };
        request.narrow_to(&row, &registry);
        let plan = Plan::new(&registry, &request.plan);
        let [planned] = &plan.rows[..] else { panic!("{:?}", plan.rows) };
        assert_eq!((planned.slot.pattern, planned.slot.payload), (Pattern::OneWay, 4096));
        let session = &plan.sessions[planned.session];
        assert_eq!(registry[session.transport].definition().name, "tcp");
        assert_eq!(session.wait, Wait::Block);
    }

    /// Regression: 64 followers of `aeron-udp` did not find their leader within the time that two have.
    #[test]
    fn many_followers_have_more_time() {
        let seconds = [1, 16, 17, 64].map(|followers| timeout(followers).as_secs());
        assert_eq!(seconds, [10, 10, 20, 40]);
    }
}
