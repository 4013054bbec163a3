//! What the flags ask for, as the engine takes it.

use std::path::PathBuf;

use ipcmark_engine::{Budget, Pinning, PlanRequest, Registry, RunOptions, Touch};
use ipcmark_transport::Pattern;

use crate::{
    arguments::run::{RunArguments, SandboxWord},
    selection::{self, Selection},
    transport_options,
};

/// What is measured where no sizes are given.
const DEFAULT_SIZES: [usize; 3] = [64, 4 << 10, 1 << 20];

/// What the flags ask for.
pub(super) struct RunRequest {
    pub selection: Selection,
    pub plan: PlanRequest,
    pub options: RunOptions,
}

impl RunRequest {
    /// Reads and checks the flags. An error is one of the command line.
    pub(super) fn new(arguments: &RunArguments, registry: &Registry) -> Result<Self, String> {
        refuse_contradictions(arguments)?;
        let selection = selection::select(&arguments.transports, registry)?;
        let set = transport_options::read(&arguments.set, registry)?;
        let options = run_options(arguments, transport_options::paths(&set, registry));
        options.pinning.check(arguments.subscribers).map_err(|e| e.to_string())?;
        let plan = plan_request(arguments, &selection);
        Ok(Self { selection, plan: PlanRequest { options: set, ..plan }, options })
    }
}

fn refuse_contradictions(arguments: &RunArguments) -> Result<(), String> {
    let fans_out = patterns(arguments) == [Pattern::FanOut];
    if arguments.subscribers > 1 && !fans_out {
        return Err("several --subscribers make sense only for the pattern fan-out: without \
                    --patterns it is the one that is measured"
            .into());
    }
    if arguments.silent >= arguments.subscribers {
        return Err("--silent must leave at least one of the --subscribers to answer: without an \
                    answer there is no round trip to time"
            .into());
    }
    Ok(())
}

/// Several followers mean fan-out.
fn patterns(arguments: &RunArguments) -> Vec<Pattern> {
    match (&arguments.patterns, arguments.subscribers) {
        (Some(patterns), _) => patterns.clone(),
        (None, 0 | 1) => vec![Pattern::Latency],
        (None, _) => vec![Pattern::FanOut],
    }
}

fn plan_request(arguments: &RunArguments, selection: &Selection) -> PlanRequest {
    let default = PlanRequest::default();
    let counted = arguments.round_trips.map(Budget::RoundTrips);
    let budget = counted.or_else(|| arguments.duration.map(Budget::Time));
    PlanRequest {
        transports: selection.transports.clone(),
        patterns: patterns(arguments),
        subscribers: arguments.subscribers,
        silent: arguments.silent,
        payloads: payloads(arguments),
        waits: arguments.waits.clone(),
        trials: arguments.trials,
        budget: budget.unwrap_or(default.budget),
        seed: arguments.seed.unwrap_or_else(random_seed),
        ..default
    }
}

/// A line of memory that nobody touches misleads where messages are large: unless told otherwise, 1 MiB is
/// measured both ways.
fn payloads(arguments: &RunArguments) -> Vec<(usize, Vec<Touch>)> {
    let sizes = arguments.sizes.as_ref().map_or(&DEFAULT_SIZES[..], |sizes| &sizes.0);
    let touches = |size: usize| match arguments.touch {
        Some(word) => vec![word.into()],
        None if arguments.sizes.is_none() && size >= 1 << 20 => vec![Touch::Head, Touch::All],
        None => vec![Touch::Head],
    };
    sizes.iter().map(|size| (*size, touches(*size))).collect()
}

fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library keys its hashers from the system's random numbers. 53 bits, so that
    // readers that hold numbers in doubles read the same seed.
    std::hash::RandomState::new().build_hasher().finish() >> 11
}

fn run_options(arguments: &RunArguments, visible: Vec<PathBuf>) -> RunOptions {
    let pinning = match &arguments.cpus {
        Some(cpus) => Pinning::Cpus(cpus.clone()),
        None if arguments.no_pin => Pinning::Off,
        None => Pinning::Auto,
    };
    RunOptions {
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        version: env!("CARGO_PKG_VERSION").into(),
        pinning,
        sandbox: arguments.sandbox == SandboxWord::Auto,
        visible,
        timeout: arguments.timeout,
        ..RunOptions::default()
    }
}
