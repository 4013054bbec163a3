//! `ipcmark explain`: the components of a message's time.

mod arguments;
mod notes;

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap::ArgMatches;
use ipcmark_engine::Counting;
use ipcmark_machine::{calls, counters};
use ipcmark_report::{explanation_json, explanation_page, explanation_table};
use ipcmark_results::{CountedTrials, Explanations, Row, UnitCosts, explain, groups};
use ipcmark_transport::Error;

use self::{
    arguments::{ExplainArguments, FormatWord, OF_TIMES, flags, shared_flags},
    notes::{misses_calls, misses_cycles, only},
};
use crate::{
    arguments::{
        of_run::{given, is_given},
        run::RunArguments,
        sizes::Sizes,
    },
    definition::{CommandDefinition, CommandOutcome, Invocation, Rejection},
    guide::Guide,
    interrupts::Interrupts,
    measurement::{ResultRecorder, RunRequest, exports::check_paths, recorded},
    output,
    registry::{self, Transports},
};

/// The default length: three trials of this duration per row.
const USUAL: [&str; 2] = ["--trials=3", "--duration=300ms"];

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: ExplainArguments = invocation.arguments()?;
    let payload = payload(&arguments.size)?;
    check_paths(&arguments.html.iter().collect::<Vec<_>>())?;
    let timed = words(&arguments, invocation.flags);
    let run = RunArguments::of_words(&timed)?;
    let transports = registry::look(&run.module, &run.named())?;
    let passes = Passes {
        timed: request(&timed, &transports)?,
        calls: counting(&arguments, invocation.flags, Counting::Calls, &transports)?,
        cycles: counting(&arguments, invocation.flags, Counting::Cycles, &transports)?,
    };
    let interrupts = Interrupts::catch().map_err(|error| error.to_string())?;
    let done = measured(&arguments, payload, passes, &transports, &interrupts);
    if interrupts.signal().is_some() {
        return Ok(interrupts.exit_status());
    }
    Ok(transports.status(done.unwrap_or_else(output::failed)))
}

/// The passes, in their order.
struct Passes {
    /// The pass whose times are explained.
    timed: RunRequest,
    calls: RunRequest,
    cycles: RunRequest,
}

/// Measures, counts, and shows the explanation.
fn measured(
    arguments: &ExplainArguments,
    payload: usize,
    passes: Passes,
    transports: &Transports,
    interrupts: &Interrupts,
) -> Result<ExitCode, Error> {
    let unit_costs = UnitCosts { call_ns: calls::bare_call_ns(), copy_ns: calls::copy_ns(payload) };
    let run = |pass: &RunRequest| {
        recorded(pass, &transports.registry, interrupts, ResultRecorder::new(None))
    };
    let timed = run(&passes.timed)?;
    let called = run(&passes.calls)?;
    let available = counters::check();
    let worked = available.is_ok().then(|| run(&passes.cycles)).transpose()?;
    let timed = timed.settled();
    let groups = groups(&timed);
    let rows = groups.iter().flat_map(|group| &group.rows);
    let explained = |row: &Row<'_>| {
        let identity = &row.case.identity;
        let calls = called.case(identity).and_then(only).filter(|trial| !misses_calls(trial));
        let work = worked.as_ref().and_then(|worked| only(worked.case(identity)?));
        let work = work.filter(|trial| !misses_cycles(trial));
        CountedTrials { calls, work }
    };
    let all = Explanations {
        rows: rows.filter_map(|row| explain(*row, explained(row), unit_costs)).collect(),
        failures: notes::failures(&timed, &called),
        remarks: notes::remarks(available, worked.as_ref()),
    };
    let printed = match arguments.format {
        FormatWord::Json => output::print(&explanation_json(&all)),
        FormatWord::Table => {
            output::print(&output::shown(&explanation_table(&all, output::terminal())))
        }
    };
    let written = arguments.html.as_ref().is_none_or(|path| drawn(path, &all));
    let is_explained = !all.rows.is_empty() && all.failures.is_empty() && printed && written;
    Ok(ExitCode::from(u8::from(!is_explained)))
}

/// Writes the page; if that fails, prints the error and returns false.
fn drawn(path: &Path, all: &Explanations) -> bool {
    let written = explanation_page(all)
        .and_then(|page| ipcmark_results::write_text(path, &page).map_err(|e| e.to_string()));
    written.map_err(output::say).is_ok()
}

fn payload(text: &str) -> Result<usize, String> {
    let Sizes(sizes) = Sizes::parse(text).map_err(|why| format!("in --size {text}: {why}"))?;
    match sizes[..] {
        [payload] => Ok(payload),
        _ => Err(format!("messages of one size are explained, and '{text}' has several")),
    }
}

/// The flags of `ipcmark run` that all passes share.
fn what(arguments: &ExplainArguments) -> Vec<OsString> {
    vec![
        format!("--transports={}", arguments.transport).into(),
        format!("--sizes={}", arguments.size).into(),
    ]
}

/// The flags of `ipcmark run` for the pass that is timed.
fn words(arguments: &ExplainArguments, flags: &ArgMatches) -> Vec<OsString> {
    let mut words = what(arguments);
    if !OF_TIMES[..4].iter().any(|flag| is_given(flags, flag)) {
        words.extend(USUAL.map(OsString::from));
    }
    words.extend(given(&shared_flags(&[]), flags));
    words
}

/// The pass of one trial in which something is counted.
fn counting(
    arguments: &ExplainArguments,
    flags: &ArgMatches,
    counting: Counting,
    transports: &Transports,
) -> Result<RunRequest, Rejection> {
    let mut words = what(arguments);
    let length = match counting {
        // Counting makes each call take tens of microseconds.
        Counting::Calls => "--round-trips=1000",
        Counting::Cycles | Counting::Nothing => "--duration=300ms",
    };
    words.extend([length.into(), "--trials=1".into()]);
    words.extend(given(&shared_flags(&OF_TIMES), flags));
    let mut request = request(&words, transports)?;
    request.options.counting = counting;
    Ok(request)
}

/// The run that these flags request; an error is one of the command line.
fn request(words: &[OsString], transports: &Transports) -> Result<RunRequest, Rejection> {
    let request = RunRequest::new(&RunArguments::of_words(words)?, &transports.registry)?;
    if request.plan.transports.len() != 1 {
        let why = "one transport is explained at a time: name it as ipcmark list does";
        return Err(Rejection::Refused(why.into()));
    }
    Ok(request)
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "explain",
    summary: "Break down the time of a message: calls, copies, wake-ups, cache lines, and the rest",
    guide: Guide {
        about: "Measures a transport as 'ipcmark run' does, then once more while every system call is traced and \
        counted; times of that pass are not used. If the processor's counters are available, a third pass counts \
        instructions and cycles; otherwise the reason is shown. Each count is multiplied by the cost of one on this \
        machine: a bare system call, the hand-over to a sleeping process, a copy, a cache line.",
        examples: &[
            ("ipcmark explain pipe", "64 bytes, spinning and sleeping"),
            ("ipcmark explain zeromq-ipc -s 4k -w block", ""),
            ("ipcmark explain tcp -s 1M --format json", "for programs"),
            ("ipcmark explain pipe --html pipe.html", "also as stacked bars, for a browser"),
        ],
        exit: "0 explained; 1 it could not be measured or counted; 2 the command line is wrong; 128 + signal after \
        Ctrl-C or SIGTERM",
        see_also: &["run", "advise", "doctor"],
    },
    flags,
    run,
};
