//! `ipcmark explain`: the components of a message's time.

mod arguments;

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap::ArgMatches;
use ipcmark_machine::calls;
use ipcmark_report::{explanation_json, explanation_page, explanation_table};
use ipcmark_results::{Case, Charges, Explanation, Row, RunResult, Trial, explain, groups};
use ipcmark_transport::Error;

use self::arguments::{ExplainArguments, FormatWord, OF_TIMES, flags, shared_flags};
use crate::{
    arguments::{
        of_run::{given, is_given},
        run::RunArguments,
        sizes::Sizes,
    },
    definition::{Definition, Failure, Invocation, Outcome},
    guide::Guide,
    interrupts::Interrupts,
    measurement::{Recorder, RunRequest, exports::check_paths, recorded},
    output,
    registry::{self, Transports},
};

/// The round trips whose calls are counted. Counting makes each call take tens of microseconds.
const COUNTED: &str = "1000";

/// The default length: three trials of this duration per row.
const USUAL: [&str; 2] = ["--trials=3", "--duration=300ms"];

fn run(invocation: &Invocation<'_>) -> Outcome {
    let arguments: ExplainArguments = invocation.arguments()?;
    let payload = payload(&arguments.size)?;
    check_paths(&arguments.html.iter().collect::<Vec<_>>())?;
    let timed = words(&arguments, invocation.flags, false);
    let counted = words(&arguments, invocation.flags, true);
    let run = RunArguments::of_words(&timed)?;
    let transports = registry::look(&run.module, &run.named())?;
    let timed = request(&timed, &transports)?;
    let mut counted = request(&counted, &transports)?;
    counted.options.counts_calls = true;
    let interrupts = Interrupts::catch().map_err(|error| error.to_string())?;
    let done = measured(&arguments, payload, timed, counted, &transports, &interrupts);
    if interrupts.signal().is_some() {
        return Ok(interrupts.exit_status());
    }
    Ok(transports.status(done.unwrap_or_else(output::failed)))
}

/// Measures, counts, and shows the explanation.
fn measured(
    arguments: &ExplainArguments,
    payload: usize,
    timed: RunRequest,
    counted: RunRequest,
    transports: &Transports,
    interrupts: &Interrupts,
) -> Result<ExitCode, Error> {
    let charges = Charges { call_ns: calls::bare_call_ns(), copy_ns: calls::copy_ns(payload) };
    let timed = recorded(&timed, &transports.registry, interrupts, Recorder::new(None))?;
    let counted = recorded(&counted, &transports.registry, interrupts, Recorder::new(None))?;
    let timed = timed.settled();
    let groups = groups(&timed);
    let rows = groups.iter().flat_map(|group| &group.rows);
    let trial = |row: &Row| {
        counted.case(&row.case.identity).and_then(only).filter(|trial| !is_missing(trial))
    };
    let explanations: Vec<Explanation> =
        rows.filter_map(|row| explain(*row, trial(row), charges)).collect();
    let notes = notes(&timed, &counted);
    let printed = match arguments.format {
        FormatWord::Json => output::print(&explanation_json(&explanations, &notes)),
        FormatWord::Table => {
            let table = explanation_table(&explanations, &notes, output::terminal());
            output::print(&output::shown(&table))
        }
    };
    let written = arguments.html.as_ref().is_none_or(|path| drawn(path, &explanations, &notes));
    let is_explained = !explanations.is_empty() && notes.is_empty() && printed && written;
    Ok(ExitCode::from(u8::from(!is_explained)))
}

/// Writes the page; if that fails, prints the error and returns false.
fn drawn(path: &Path, explanations: &[Explanation], notes: &[String]) -> bool {
    let written = explanation_page(explanations, notes)
        .and_then(|page| ipcmark_results::write_text(path, &page).map_err(|e| e.to_string()));
    written.map_err(output::say).is_ok()
}

/// The first trial of a case, if there is one.
fn only(case: &Case) -> Option<&Trial> {
    case.trials().first()
}

/// The rows that could not be measured or counted, with the reasons.
fn notes(timed: &RunResult, counted: &RunResult) -> Vec<String> {
    let reasons = |result: &RunResult, what: &str| {
        let cases = result.cases.iter();
        let reasons = cases.filter_map(|case| {
            let (name, wait) = (&case.identity.transport, case.identity.wait);
            Some(format!("{name} · {wait} {what}: {}", case.reason()?))
        });
        reasons.collect::<Vec<_>>()
    };
    let not_measured = reasons(timed, "could not be measured");
    if !not_measured.is_empty() {
        return not_measured;
    }
    let mut not_counted = reasons(counted, "could not be counted");
    let missed = counted.cases.iter().filter(|case| only(case).is_some_and(is_missing));
    not_counted.extend(missed.map(|case| {
        let (name, wait) = (&case.identity.transport, case.identity.wait);
        format!("{name} · {wait} could not be counted: the process that counts ended before it")
    }));
    not_counted
}

/// True if the calls of an end are missing.
fn is_missing(trial: &Trial) -> bool {
    let mut ends = trial.session.processes.iter().filter(|process| !process.ends.is_empty());
    ends.any(|process| process.calls.is_none())
}

fn payload(text: &str) -> Result<usize, String> {
    let Sizes(sizes) = Sizes::parse(text).map_err(|why| format!("in --size {text}: {why}"))?;
    match sizes[..] {
        [payload] => Ok(payload),
        _ => Err(format!("messages of one size are explained, and '{text}' has several")),
    }
}

/// The flags of `ipcmark run` for the timed pass, or for the counted one.
fn words(arguments: &ExplainArguments, flags: &ArgMatches, counts: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![
        format!("--transports={}", arguments.transport).into(),
        format!("--sizes={}", arguments.size).into(),
    ];
    if counts {
        words.extend([format!("--round-trips={COUNTED}").into(), "--trials=1".into()]);
        words.extend(given(&shared_flags(&OF_TIMES), flags));
        return words;
    }
    if !OF_TIMES[..4].iter().any(|flag| is_given(flags, flag)) {
        words.extend(USUAL.map(OsString::from));
    }
    words.extend(given(&shared_flags(&[]), flags));
    words
}

/// The run that these flags request; an error is one of the command line.
fn request(words: &[OsString], transports: &Transports) -> Result<RunRequest, Failure> {
    let request = RunRequest::new(&RunArguments::of_words(words)?, &transports.registry)?;
    if request.plan.transports.len() != 1 {
        let why = "one transport is explained at a time: name it as ipcmark list does";
        return Err(Failure::Refused(why.into()));
    }
    Ok(request)
}

pub(super) const DEFINITION: Definition = Definition {
    name: "explain",
    summary: "Say what a message's time is made of: calls, copies, wake-ups, cache lines, and the rest",
    guide: Guide {
        about: "Measures a transport as 'ipcmark run' does, then once more while the kernel stops it at every system call and hands the call over to be counted; times of that pass are not used. What was counted is multiplied by what one of it takes here: a bare system call, the hand-over to a sleeping process, a copy, a cache line.",
        examples: &[
            ("ipcmark explain pipe", "64 bytes, spinning and sleeping"),
            ("ipcmark explain zeromq-ipc -s 4k -w block", ""),
            ("ipcmark explain tcp -s 1M --format json", "for programs"),
            ("ipcmark explain pipe --html pipe.html", "also as stacked bars, for a browser"),
        ],
        exit: "0 explained; 1 it could not be measured or counted; 2 the command line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["run", "advise", "doctor"],
    },
    flags,
    run,
};
