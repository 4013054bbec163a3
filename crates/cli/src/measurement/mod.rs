//! A run: from the flags to a plan, then to a result, then to the output.

mod announcer;
mod counting;
pub(crate) mod exports;
mod recorder;
pub(crate) mod request;

use std::{
    os::unix::net::UnixStream,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use ipcmark_engine::{FollowerLocation, Plan, Registry};
use ipcmark_history::RunLabels;
use ipcmark_remote::{LeaderAddress, RemoteFollowers};
use ipcmark_report::Format;
use ipcmark_results::{RunResult, Status};
use ipcmark_transport::{Error, Pattern};

use crate::{
    arguments::run::RunArguments,
    definition::CommandOutcome,
    history,
    interrupts::Interrupts,
    live, output,
    registry::{self, Transports},
    selection::Selection,
};

pub(crate) use self::recorder::{ResultRecorder, recorded};

pub(crate) use self::request::RunRequest;

/// A leader that waits for followers in other commands.
pub(crate) struct ByHandLeader {
    pub address: LeaderAddress,
    /// The time within which they must connect; None waits until the user interrupts.
    pub time_limit: Option<Duration>,
    /// True if the user is told the address.
    pub is_announced: bool,
}

impl ByHandLeader {
    fn location(&self) -> FollowerLocation {
        match self.address {
            LeaderAddress::Socket(..) => FollowerLocation::OtherCommands,
            LeaderAddress::Tcp(..) => FollowerLocation::OtherHosts,
        }
    }

    /// Waits for the followers; None if `stop` became readable first.
    fn gather(
        &self,
        subscribers: u32,
        stop: &UnixStream,
    ) -> Result<Option<RemoteFollowers>, Error> {
        let awaited = if subscribers == 1 { "a follower" } else { "the followers" };
        let followers = RemoteFollowers::listen(&self.address, subscribers)?;
        if self.is_announced {
            output::say(format_args!("waiting for {awaited} at {}", followers.address()));
        }
        let Some(time_limit) = self.time_limit else {
            return Ok(followers.gather(stop)?.then_some(followers));
        };
        let began = Instant::now();
        match followers.gather_within(stop, time_limit)? {
            true => Ok(Some(followers)),
            false if began.elapsed() < time_limit => Ok(None),
            false => {
                let cause = format!("not all have connected within {} s", time_limit.as_secs());
                Err(Error::new("reach", awaited, cause))
            }
        }
    }
}

/// What takes longer than this is announced before it begins.
const LONG: Duration = Duration::from_secs(60);

/// Says how long `what` takes at least, if that is long.
pub(crate) fn announce_time(what: &str, least: Duration) {
    if least >= LONG {
        let least = humantime::format_duration(Duration::from_secs(least.as_secs()));
        output::say(format_args!("{what} take at least {least}"));
    }
}

/// Measures what the flags request, and shows it. With a leader, the followers are other commands that connect to it.
pub(crate) fn measure(
    arguments: &RunArguments,
    leader: Option<&ByHandLeader>,
    transports: &Transports,
) -> CommandOutcome {
    let registry = &transports.registry;
    let mut request = RunRequest::new(arguments, registry)?;
    leader.map_or(Ok(()), |_| refuse_by_hand(arguments))?;
    request.plan.location = leader.map_or(FollowerLocation::ThisCommand, ByHandLeader::location);
    exports::check(arguments, has_several_rows(&Plan::new(registry, &request.plan)))?;
    arguments.live.then(live::check).transpose()?;
    // Reports an unusable history before the measurement.
    let _ = arguments.history.then(history::open).transpose()?;
    let done = run(arguments, registry, request, leader).unwrap_or_else(output::failed);
    Ok(transports.status(done))
}

/// Refuses what a leader by hand cannot do: its followers are those that connect to it.
pub(crate) fn refuse_by_hand(arguments: &RunArguments) -> Result<(), String> {
    let what = match arguments {
        _ if arguments.pairs > 1 => "--pairs starts its own leaders and followers",
        _ if arguments.count => "--count starts its own processes, in which it counts",
        _ => return Ok(()),
    };
    Err(format!("{what}: use it with 'ipcmark run', not with a leader by hand"))
}

/// True if more than one row of a plan will be measured.
pub(crate) fn has_several_rows(plan: &Plan) -> bool {
    plan.rows.iter().filter(|row| row.verdict.is_none()).count() > 1
}

/// The same, with the transports of the modules found and both ends in this command.
pub(crate) fn measure_here(arguments: &RunArguments) -> CommandOutcome {
    measure(arguments, None, &registry::look(&arguments.module, &arguments.named())?)
}

fn run(
    arguments: &RunArguments,
    registry: &Registry,
    mut request: RunRequest,
    leader: Option<&ByHandLeader>,
) -> Result<ExitCode, Error> {
    let interrupts = Interrupts::catch()?;
    if let Some(leader) = leader {
        let subscribers = request.plan.subscribers;
        let Some(followers) = leader.gather(subscribers, &interrupts.readable)? else {
            return Ok(interrupts.exit_status());
        };
        arguments.terms.as_ref().map_or(Ok(()), |own| followers.check_terms(own))?;
        request.plan.silent = request.plan.silent.max(silent(&followers, &request)?);
        request.options.followers = Some(Box::new(followers));
    }
    let plan = Plan::new(registry, &request.plan);
    let mut recorder = ResultRecorder::new(arguments.output.clone());
    if arguments.announces {
        recorder = recorder.announcing();
    }
    recorder = recorder.drawing(arguments.live)?;
    let result =
        ipcmark_engine::run(registry, &plan, &request.options, &interrupts.readable, &mut recorder);
    recorder.clear();
    let mut result = result?;
    let counts = arguments.count && interrupts.signal().is_none();
    let is_counted = !counts || counting::count(arguments, registry, &interrupts, &mut result);
    let status = conclude(arguments, &request.selection, registry, &result, &interrupts);
    Ok(if is_counted || status != ExitCode::SUCCESS { status } else { ExitCode::FAILURE })
}

/// Measures between this command and the one follower that connects to it, until `stop` is readable; None if that
/// happened before it connected. The result so far is written to `output` after every trial, and the whole result at
/// the end.
pub(crate) fn measure_pair(
    mut request: RunRequest,
    registry: &Registry,
    leader: &ByHandLeader,
    stop: &UnixStream,
    output: Option<PathBuf>,
) -> Result<Option<RunResult>, Error> {
    request.plan.location = leader.location();
    let Some(followers) = leader.gather(1, stop)? else { return Ok(None) };
    request.options.followers = Some(Box::new(followers));
    let plan = Plan::new(registry, &request.plan);
    let mut recorder = ResultRecorder::new(output);
    let result = ipcmark_engine::run(registry, &plan, &request.options, stop, &mut recorder);
    recorder.clear();
    result.map(Some)
}

/// The number of connected followers that only listen. At least one must not.
fn silent(followers: &RemoteFollowers, request: &RunRequest) -> Result<u32, Error> {
    match followers.silent() {
        1.. if request.plan.patterns.contains(&Pattern::FanIn) => {
            let cause = "in the pattern fan-in every follower publishes";
            Err(Error::new("measure", "silent followers", cause)
                .remedy("start them without --silent"))
        }
        silent if silent < request.plan.subscribers => Ok(silent),
        _ => Err(Error::new("time", "a round trip", "every connected follower only listens")
            .remedy("start at least one without --silent, or --echo=false")),
    }
}

/// Writes and shows the result; returns the exit status.
pub(crate) fn conclude(
    arguments: &RunArguments,
    selection: &Selection,
    registry: &Registry,
    result: &RunResult,
    interrupts: &Interrupts,
) -> ExitCode {
    let written = exports::save(arguments.output.as_ref(), result);
    let exported = exports::write(&arguments.export, result);
    let kept = !arguments.history || keep(result);
    let shown = show(arguments.format, result);
    if interrupts.signal().is_some() {
        return interrupts.exit_status();
    }
    let names = selection.by_name.iter().map(|at| registry[*at].definition().name.as_ref());
    // Without a signal, a run ends early if another rank of the job has died, or if a signal has met a child that still
    // was a copy of this process.
    let measured = result.complete && all_measured(result, &names.collect::<Vec<_>>());
    ExitCode::from(u8::from(!written || !exported || !kept || !shown || !measured))
}

/// Adds the result to the history; if that fails, prints the error and returns false. An interrupted result is
/// not added.
fn keep(result: &RunResult) -> bool {
    if !result.complete {
        output::say("not added to the history: the result is incomplete");
        return true;
    }
    let added = history::open()
        .and_then(|mut history| history::add(&mut history, result, &RunLabels::default()));
    added.map_err(output::say).is_ok()
}

/// Prints the result; false if that fails.
pub(crate) fn show(format: &Format, result: &RunResult) -> bool {
    match format.render(result, output::terminal()) {
        Ok(text) => output::print(&text),
        Err(cause) => {
            output::say(cause);
            false
        }
    }
}

/// True if nothing failed and everything that was named is measured.
pub(crate) fn all_measured(result: &RunResult, by_name: &[&str]) -> bool {
    result.cases.iter().all(|case| match case.status() {
        Status::Ok => true,
        Status::Failed => false,
        Status::Unavailable | Status::Unsupported => {
            !by_name.contains(&case.identity.transport.as_str())
        }
    })
}
