//! `ipcmark sweep`: measures a series of rates, pauses, payloads, subscribers, publishers or pairs, and finds
//! the knee.

mod arguments;
mod knee;
mod state;

use std::process::ExitCode;

use ipcmark_report::{SweepShown, sweep_table};
use ipcmark_transport::Pattern;

use self::{
    arguments::{FormatWord, Over, SweepArguments, flags, shared_flags},
    state::SweepState,
};
use crate::{
    arguments::{
        of_run::{given, is_given},
        run::RunArguments,
    },
    definition::{CommandDefinition, CommandOutcome, Invocation, Rejection},
    guide::Guide,
    interrupts::Interrupts,
    live,
    measurement::{self, ResultRecorder, RunRequest, announce_time, exports, request::each_once},
    output, registry,
};

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: SweepArguments = invocation.arguments()?;
    let words = given(&shared_flags(), invocation.flags);
    let all = RunArguments::of_words(&words)?;
    refuse_contradictions(&arguments, &all, invocation)?;
    exports::check(&all, true)?;
    all.live.then(live::check).transpose()?;
    let transports = registry::look(&all.module, &all.named())?;
    let interrupts = Interrupts::catch().map_err(|error| error.to_string())?;
    let mut state = SweepState {
        over: arguments.over,
        limit: arguments.p99_below,
        given: words,
        transports: &transports,
        interrupts: &interrupts,
        result: None,
        recorder: ResultRecorder::new(None),
    };
    let done = swept(&arguments, &all, &mut state)?;
    Ok(transports.status(done))
}

fn refuse_contradictions(
    arguments: &SweepArguments,
    all: &RunArguments,
    invocation: &Invocation<'_>,
) -> Result<(), String> {
    let flag = arguments.over.flag();
    if is_given(invocation.flags, flag) {
        return Err(format!("the sweep sets {flag}: give the values with --at"));
    }
    if arguments.p99_below.is_some() && arguments.over != Over::Rate {
        return Err("--p99-below looks for a rate: it goes with 'ipcmark sweep rate'".into());
    }
    let others = |own: &Pattern| all.patterns.iter().flatten().any(|pattern| pattern != own);
    match arguments.over.pattern().filter(others) {
        Some(own) => Err(format!(
            "only the pattern {own} has several {flag}, and the sweep measures it: leave --patterns out"
        )),
        None => Ok(()),
    }
}

fn swept(
    arguments: &SweepArguments,
    all: &RunArguments,
    state: &mut SweepState<'_>,
) -> Result<ExitCode, Rejection> {
    let usual: Vec<String> = arguments.over.usual().iter().map(|word| (*word).into()).collect();
    let points = if arguments.at.is_empty() { usual } else { arguments.at.clone() };
    // Checks all points before the first is measured.
    let requests = points.iter().map(|point| state.request(point));
    let requests = each_once(requests.collect::<Result<Vec<_>, Rejection>>()?, point);
    let registry = &state.transports.registry;
    announce_time("the points", requests.iter().map(|one| one.least_time(registry)).sum());
    state.recorder =
        ResultRecorder::new(None).drawing(all.live).map_err(|error| error.to_string())?;
    let mut by_name = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        state.recorder.begin_part(number, requests.len());
        if by_name.is_empty() {
            by_name.clone_from(&request.selection.by_name);
        }
        if state.measure(request).map_err(|error| error.to_string())?.is_none() {
            break;
        }
        write(all, state);
    }
    // The number of steps to the knees is unknown.
    state.recorder.begin_part(0, 1);
    let limit = arguments.p99_below;
    let findings = limit.map_or_else(|| Ok(Vec::new()), |limit| state.knees(limit))?;
    state.recorder.clear();
    let written = write(all, state);
    let Some(result) = &state.result else { return Ok(state.interrupts.exit_status()) };
    let shown = match arguments.format {
        FormatWord::Json => output::print(&ipcmark_results::to_json(result)),
        FormatWord::Table => {
            let limit_ns = limit.map(|limit| limit.as_nanos() as f64);
            let shown = SweepShown { result, over: arguments.over.swept(), limit_ns, findings };
            output::print(&output::shown(&sweep_table(&shown, output::terminal())))
        }
    };
    let exported = exports::write(&all.export, result);
    if state.interrupts.signal().is_some() {
        return Ok(state.interrupts.exit_status());
    }
    let names = by_name.iter().map(|at| state.transports.registry[*at].definition().name.as_ref());
    let measured = measurement::all_measured(result, &names.collect::<Vec<_>>());
    Ok(ExitCode::from(u8::from(!written || !exported || !shown || !measured)))
}

/// The point of a request: `1k/s` and `1000/s` are one.
fn point(request: &RunRequest) -> impl PartialEq + use<> {
    let plan = &request.plan;
    (plan.loads.clone(), plan.payloads.clone(), plan.subscribers, plan.pairs)
}

/// Writes the result so far; if that fails, prints the error and returns false.
fn write(all: &RunArguments, state: &SweepState<'_>) -> bool {
    state.result.as_ref().is_none_or(|result| exports::save(all.output.as_ref(), result))
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sweep",
    summary: "Sweep over rates, pauses, payloads, followers or pairs, and find the highest rate that holds",
    guide: Guide {
        about: "Measures at several values of one property and shows the curve of each row: the median and the 99th \
        percentile, or messages a second of -p throughput. Over rates, --p99-below finds the knee: the highest rate \
        at which 99 of 100 messages are answered in that time, counted from the time at which each was to be sent.",
        examples: &[
            (
                "ipcmark sweep rate -t pipe -w block --p99-below 100us",
                "the highest rate that it holds",
            ),
            (
                "ipcmark sweep interval -t os -w block -s 64",
                "the effect of idle gaps of 1 ms to 1 s",
            ),
            (
                "ipcmark sweep payload -t 'shm-*' -p throughput -o r.json",
                "how throughput grows with the payload",
            ),
            (
                "ipcmark sweep subscribers -t pipe -w block --at 1,2,5,10",
                "the cost of each further reader",
            ),
            ("ipcmark sweep pairs -t os -w block -s 64", "the cost of other pairs beside a row"),
        ],
        exit: "0 everything requested was measured; 1 a row requested by name failed or is not available; 2 the \
        command line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["run", "advise", "report"],
    },
    flags,
    run,
};
