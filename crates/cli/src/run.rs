//! `ipcmark run`: from the flags to a plan, from the plan to a result, from the result to what is
//! shown.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use ipcmark_engine::{
    Budget, FollowerLocation, Observer, Pinning, Plan, PlanRequest, PlannedCase, PlannedSession,
    Registry, RunOptions, Touch, expected_length,
    link::{Companions, Meeting},
};
use ipcmark_results::{RunResult, Status};
use ipcmark_transport::{Error, Pattern};

use crate::{
    arguments::{RunArguments, SandboxWord},
    interrupts::Interrupts,
    options::{self, Options},
    output,
    progress::Progress,
    selection::{self, Selection},
};

/// What is measured where no sizes are given.
const DEFAULT_SIZES: [usize; 3] = [64, 4 << 10, 1 << 20];

/// How long a case is measured where neither time nor count is given.
const DEFAULT_DURATION: Duration = Duration::from_millis(200);

/// Measures what the flags ask for. An error is one of the command line.
/// With a meeting, the followers are other commands that come there.
pub(crate) fn run(
    arguments: &RunArguments,
    meeting: Option<&Meeting>,
    registry: &Registry,
) -> Result<ExitCode, String> {
    refuse_what_makes_no_sense(arguments)?;
    let selection = selection::select(&arguments.transports, registry)?;
    let options = options::read(&arguments.set, registry)?;
    let run_options = run_options(arguments, options::paths(&options, registry));
    let mut request = plan_request(arguments, &selection, options);
    request.location = match meeting {
        None => FollowerLocation::ThisCommand,
        Some(Meeting::Here(_)) => FollowerLocation::OtherCommands,
        Some(Meeting::At(..)) => FollowerLocation::OtherHosts,
    };
    run_options.pinning.check(arguments.subscribers).map_err(|e| e.to_string())?;
    if let Some(path) = &arguments.output {
        ipcmark_results::check_writable(path).map_err(|e| e.to_string())?;
    }
    Ok(measure(arguments, &selection, registry, request, run_options, meeting).unwrap_or_else(
        |error| {
            output::complain(error);
            ExitCode::FAILURE
        },
    ))
}

fn measure(
    arguments: &RunArguments,
    selection: &Selection,
    registry: &Registry,
    mut request: PlanRequest,
    mut options: RunOptions,
    meeting: Option<&Meeting>,
) -> Result<ExitCode, Error> {
    let interrupts = Interrupts::catch().map_err(|e| {
        Error::os("catch", "signals", e).remedy("allow more open files: ulimit -n 1024")
    })?;
    if let Some(meeting) = meeting {
        let followers = if request.subscribers == 1 { "a follower" } else { "the followers" };
        output::complain(format_args!("waiting for {followers} at {meeting}"));
        let came = Companions::gather(meeting, request.subscribers, &interrupts.readable)?;
        let Some(companions) = came else {
            return Ok(ExitCode::from(128 + interrupts.signal().unwrap_or(2)));
        };
        request.silent = request.silent.max(silent(&companions, request.subscribers)?);
        options.companions = Some(companions);
    }
    let plan = Plan::new(registry, &request);
    let mut recorder = Recorder::new(arguments.output.clone(), &plan);
    let result =
        ipcmark_engine::run(registry, &plan, &options, &interrupts.readable, &mut recorder);
    recorder.progress.clear();
    Ok(conclude(arguments, selection, registry, &result?, &interrupts))
}

/// How many of the followers that have come only listen. Not all may.
fn silent(companions: &Companions, subscribers: u32) -> Result<u32, Error> {
    match companions.silent() {
        silent if silent < subscribers => Ok(silent),
        _ => Err(Error::new("time", "a round trip", "every follower that has come only listens")
            .remedy("start at least one without --silent, or --echo=false")),
    }
}

fn refuse_what_makes_no_sense(arguments: &RunArguments) -> Result<(), String> {
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
    if arguments.rate.is_some() {
        return Err("--rate makes sense only for the patterns one-way and throughput, which this \
                    version does not measure yet"
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

fn plan_request(arguments: &RunArguments, selection: &Selection, options: Options) -> PlanRequest {
    let budget = match (arguments.round_trips, arguments.duration) {
        (Some(count), _) => Budget::RoundTrips(count),
        (None, duration) => Budget::Time(duration.unwrap_or(DEFAULT_DURATION)),
    };
    PlanRequest {
        transports: selection.transports.clone(),
        patterns: patterns(arguments),
        subscribers: arguments.subscribers,
        silent: arguments.silent,
        payloads: payloads(arguments),
        waits: arguments.waits.clone(),
        options,
        location: FollowerLocation::ThisCommand,
        trials: arguments.trials,
        budget,
        seed: arguments.seed.unwrap_or_else(random_seed),
    }
}

/// A flat line of untouched memory misleads where messages are large: unless told otherwise, 1 MiB
/// is measured both ways.
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
        companions: None,
        timeout: arguments.timeout,
    }
}

/// Shows progress and writes the result file after every case.
struct Recorder {
    output: Option<PathBuf>,
    progress: Progress,
}

impl Recorder {
    fn new(output: Option<PathBuf>, plan: &Plan) -> Self {
        // A stream would get one whole result after the other: it gets the last one only.
        let output = output.filter(|path| !ipcmark_results::is_stream(path));
        let expected = expected_length(plan.budget) * plan.measurable() as u32;
        Self { output, progress: Progress::new(plan.len() as u64, expected) }
    }

    /// Whether the whole result can be written is found out, and said, in the end.
    fn write(&mut self, result: &RunResult) {
        if let Some(path) = &self.output {
            let _ = ipcmark_results::write_atomically(path, result);
        }
    }
}

impl Observer for Recorder {
    fn begun(&mut self, result: &RunResult) {
        self.write(result);
    }

    fn starting(&mut self, name: &str, session: &PlannedSession, case: &PlannedCase) {
        let (wait, payload, touch) = (session.wait, case.payload, case.touch.as_str());
        self.progress.starting(&format!("{name} {wait} {payload} B touch {touch}"));
    }

    fn finished(&mut self, result: &RunResult) -> Result<(), Error> {
        self.progress.finished();
        self.write(result);
        Ok(())
    }
}

/// Writes and shows the result; returns the exit status.
fn conclude(
    arguments: &RunArguments,
    selection: &Selection,
    registry: &Registry,
    result: &RunResult,
    interrupts: &Interrupts,
) -> ExitCode {
    let path = arguments.output.as_ref();
    let written = path.map_or(Ok(()), |path| ipcmark_results::write_atomically(path, result));
    let shown = output::print(&ipcmark_report::render(result, arguments.format, output::style()));
    if let Err(error) = &written {
        output::complain(error);
    }
    if let Some(signal) = interrupts.signal() {
        return ExitCode::from(128 + signal);
    }
    let names = selection.by_name.iter().map(|at| registry[*at].definition().name.as_ref());
    let measured = all_measured(result, &names.collect::<Vec<_>>());
    ExitCode::from(u8::from(written.is_err() || !shown || !measured))
}

/// Whether nothing failed and everything that was named is measured.
fn all_measured(result: &RunResult, by_name: &[&str]) -> bool {
    result.cases.iter().all(|case| match case.status {
        Status::Ok => true,
        Status::Failed => false,
        Status::Unavailable | Status::Unsupported => !by_name.contains(&case.transport.as_str()),
    })
}
