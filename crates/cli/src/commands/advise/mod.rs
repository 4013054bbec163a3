//! `ipcmark advise`: which transport to use for a payload, a rate, a number of receivers and a limit of time or CPU.

mod arguments;
mod needs;

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap::Arg;
use ipcmark_report::{AdviceShown, advice_json, advice_table};
use ipcmark_results::{
    Advice, AdviceQuestion, Arrivals, Case, Identity, Load, Pattern, RunResult, Touch, advise,
    groups,
};
use ipcmark_transport::{Span, Wait};

use self::arguments::{AdviseArguments, FormatWord, flags, shared_flags};
use crate::{
    arguments::{
        of_run::{given, is_given},
        run::RunArguments,
        sizes::Sizes,
    },
    definition::{CommandDefinition, CommandOutcome, Invocation, Rejection},
    guide::Guide,
    interrupts::Interrupts,
    live,
    measurement::{ResultRecorder, RunRequest, announce_time, exports, recorded},
    output,
    registry::{self, Transports},
    saved, selection,
};

/// Transports that are left out, each with the reason.
type LeftOut = Vec<(String, String)>;

/// A user's question, parsed and checked.
struct ParsedQuestion<'a> {
    arguments: AdviseArguments,
    question: AdviceQuestion,
    run: RunArguments,
    /// True if the user sets the length of the measurement, other than as trials of a duration.
    is_length_given: bool,
    /// True if the user sets the number of its trials, or the precision that they reach.
    are_trials_given: bool,
    transports: &'a Transports,
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: AdviseArguments = invocation.arguments()?;
    let question = question(&arguments)?;
    let mut words = given(&shared_flags(), invocation.flags);
    words.extend(decided(&question).into_iter().map(OsString::from));
    let burns_no_core = arguments.cpu_below.is_some_and(|cores| cores <= 1.0);
    if burns_no_core && !is_given(invocation.flags, "waits") {
        // A spinning row keeps at least one core busy: no need to measure it.
        words.push(format!("--waits={}", Wait::Block).into());
    }
    if arguments.from.is_some() {
        refuse_without_effect(invocation)?;
    }
    let run = RunArguments::of_words(&words)?;
    exports::check(&run, true)?;
    let transports = registry::look(&run.module, &run.named())?;
    let is_any_given = |flags: &[&str]| flags.iter().any(|flag| is_given(invocation.flags, flag));
    let are_trials_given = is_any_given(&["trials", "precision"]);
    let is_length_given = is_any_given(&["budget", "precision", "round_trips"]);
    let parsed = ParsedQuestion {
        arguments,
        question,
        run,
        is_length_given,
        are_trials_given,
        transports: &transports,
    };
    let done = match &parsed.arguments.from {
        Some(path) => parsed.read(path)?,
        None => parsed.measure()?,
    };
    Ok(transports.status(done))
}

/// The flags of `ipcmark run` that mean something where nothing is measured, or are only a limit.
const OF_SAVED: [&str; 5] = ["transports", "touch", "module", "export", "timeout"];

/// Refuses flags that a saved result leaves without effect.
fn refuse_without_effect(invocation: &Invocation<'_>) -> Result<(), String> {
    let flags = shared_flags();
    let given = flags.iter().find(|flag| {
        let id = flag.get_id().as_str();
        !OF_SAVED.contains(&id) && is_given(invocation.flags, id)
    });
    match given.and_then(Arg::get_long) {
        Some(flag) => Err(format!(
            "--{flag} says how to measure, and --from measures nothing: leave one of them out"
        )),
        None => Ok(()),
    }
}

fn question(arguments: &AdviseArguments) -> Result<AdviceQuestion, String> {
    let Sizes(sizes) = Sizes::parse(&arguments.size)?;
    let [payload] = sizes[..] else {
        return Err(format!(
            "advice is for messages of one size, and '{}' has several",
            arguments.size
        ));
    };
    let pattern = match arguments.one_way {
        true => Pattern::OneWay,
        false if arguments.subscribers > 1 => Pattern::FanOut,
        false => Pattern::Latency,
    };
    let load = arguments
        .rate
        .map_or(Load::Closed, |per_second| Load::Rate { per_second, arrivals: Arrivals::Fixed });
    Ok(AdviceQuestion {
        payload: payload as u64,
        pattern,
        load,
        subscribers: arguments.subscribers,
        p99_below_ns: arguments.p99_below.map(|limit| limit.as_nanos() as f64),
        cores_below: arguments.cpu_below,
    })
}

/// The flags of `ipcmark run` that follow from the question.
fn decided(question: &AdviceQuestion) -> Vec<String> {
    let mut words = vec![
        format!("--sizes={}", question.payload),
        format!("--patterns={}", question.pattern),
        format!("--subscribers={}", question.subscribers),
    ];
    if let Load::Rate { per_second, .. } = question.load {
        words.push(format!("--rate={per_second}/s"));
    }
    words
}

impl ParsedQuestion<'_> {
    /// Measures the candidates and answers.
    fn measure(&self) -> CommandOutcome {
        let registry = &self.transports.registry;
        let mut request = RunRequest::new(&self.run, registry)?;
        if self.question.load != Load::Closed && !self.is_length_given {
            request.measure_enough_for_p99(&self.run, self.question.p99_below_ns.is_some());
        }
        let left_out = self.unmet(&request.plan.transports);
        let is_left = |at: &usize| {
            let name = &registry[*at].definition().name;
            left_out.iter().all(|(other, _)| other != name)
        };
        request.plan.transports.retain(is_left);
        request.plan.has_final = !self.are_trials_given;
        announce_time("the rows", request.least_time(registry));
        self.run.live.then(live::check).transpose()?;
        let interrupts = Interrupts::catch().map_err(|error| error.to_string())?;
        let recorder = ResultRecorder::new(self.run.output.clone())
            .with_final(|result| self.finalists(result, &left_out))
            .drawing(self.run.live);
        let found =
            recorder.and_then(|recorder| recorded(&request, registry, &interrupts, recorder));
        let result = match found {
            Ok(result) => result,
            Err(error) => return Ok(output::failed(error)),
        };
        let written = self.write(&result);
        if interrupts.signal().is_some() {
            return Ok(interrupts.exit_status());
        }
        let answered = self.answer(&result, &left_out);
        Ok(ExitCode::from(u8::from(!(written && answered))))
    }

    /// Answers from a result that was saved.
    fn read(&self, path: &Path) -> CommandOutcome {
        let mut result = saved::read(path)?;
        if !self.run.transports.is_empty() {
            let registry = &self.transports.registry;
            let chosen = selection::select(&self.run.transports, registry)?.transports;
            let names: Vec<&str> =
                chosen.iter().map(|at| registry[*at].definition().name.as_ref()).collect();
            result.cases.retain(|case| names.contains(&case.identity.transport.as_str()));
        }
        self.keep_touch(&mut result);
        let all = advise(&result, &self.question, |_| true);
        if all.choice.is_none() && all.short.is_empty() {
            return Err(Rejection::Refused(format!(
                "{} has no row with the requested messages of {} bytes; leave --from out to measure them",
                path.display(),
                self.question.payload
            )));
        }
        let left_out = self.unmet(&(0..self.transports.registry.len()).collect::<Vec<_>>());
        let exported = exports::write(&self.run.export, &result);
        let answered = self.answer(&result, &left_out);
        Ok(ExitCode::from(u8::from(!answered || !exported)))
    }

    /// Leaves only rows of which the same bytes are touched: those that the user says, else all bytes if there are such
    /// rows.
    fn keep_touch(&self, result: &mut RunResult) {
        let has_all = |case: &Case| {
            case.identity.touch == Touch::All
                && case.identity.payload_bytes == self.question.payload
        };
        let given = self.run.touch.map(Touch::from);
        let usual = result.cases.iter().any(has_all).then_some(Touch::All);
        if let Some(touch) = given.or(usual) {
            result.cases.retain(|case| case.identity.touch == touch);
        }
    }

    /// The given transports that lack a required property.
    fn unmet(&self, places: &[usize]) -> LeftOut {
        let definitions = places.iter().map(|at| self.transports.registry[*at].definition());
        let definitions = definitions.filter(|known| known.capabilities.span != Span::None);
        let unmet = definitions.filter_map(|definition| {
            let reason = needs::unmet(&self.arguments.needs, definition)?;
            Some((definition.name.to_string(), reason.to_owned()))
        });
        unmet.collect()
    }

    /// Shows the advice; true if there is one and it was printed.
    fn answer(&self, result: &RunResult, left_out: &LeftOut) -> bool {
        let result = &*result.settled();
        let (advice, mut left_out) = self.advice(result, left_out);
        let is_answered = advice.choice.is_some();
        left_out.retain(|(name, _)| self.is_of(result, name));
        let shown = AdviceShown { question: self.question, result, advice, left_out };
        let printed = match self.arguments.format {
            FormatWord::Json => output::print(&advice_json(&shown)),
            FormatWord::Table => {
                output::print(&output::shown(&advice_table(&shown, output::terminal())))
            }
        };
        is_answered && printed
    }

    /// The advice, and all transports that are left out: those given, and those whose measurement shows that they lack
    /// a required property.
    fn advice<'r>(&self, result: &'r RunResult, given: &LeftOut) -> (Advice<'r>, LeftOut) {
        let groups = groups(result);
        let rows = groups.iter().flat_map(|group| &group.rows);
        let needs = &self.arguments.needs;
        let with_daemon = rows.filter_map(|row| {
            Some((row.case.identity.transport.clone(), needs::daemon(needs, row)?))
        });
        let mut left_out: LeftOut =
            given.iter().cloned().chain(with_daemon).chain(not_measured(result)).collect();
        left_out.sort();
        left_out.dedup();
        let is_left_out = |name: &str| left_out.iter().any(|(other, _)| other == name);
        let advice =
            advise(result, &self.question, |row| !is_left_out(&row.case.identity.transport));
        (advice, left_out)
    }

    /// The rows whose further trials decide the answer.
    fn finalists(&self, result: &RunResult, left_out: &LeftOut) -> Vec<Identity> {
        let result = &*result.settled();
        let (advice, _) = self.advice(result, left_out);
        let finalists = advice.finalists(&self.question).into_iter();
        finalists.map(|candidate| candidate.row.case.identity.clone()).collect()
    }

    /// True if a left-out transport was requested: by the flags, or as part of the file that was read.
    fn is_of(&self, result: &RunResult, name: &str) -> bool {
        let is_read = self.arguments.from.is_some();
        !is_read || result.cases.iter().any(|case| case.identity.transport == name)
    }

    /// Writes the result to the requested files; if that fails, prints the error and returns false.
    fn write(&self, result: &RunResult) -> bool {
        let written = exports::save(self.run.output.as_ref(), result);
        exports::write(&self.run.export, result) && written
    }
}

/// Transports without a measured row, each with the first reason.
fn not_measured(result: &RunResult) -> LeftOut {
    let is_measured = |name: &str| {
        result.cases.iter().any(|case| case.identity.transport == name && case.reason().is_none())
    };
    let mut found = LeftOut::new();
    for case in result.cases.iter().filter(|case| case.identity.span != Span::None) {
        let name = &case.identity.transport;
        let is_known = found.iter().any(|(known, _)| known == name);
        if let Some(reason) = case.reason().filter(|_| !is_known && !is_measured(name)) {
            found.push((name.clone(), reason.to_string()));
        }
    }
    found
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "advise",
    summary: "Recommend a transport for a payload, a rate and a limit on time or CPU",
    guide: Guide {
        about: "Measures the transports that qualify, or reads a result, and recommends one, with its cost and its \
        caveats. With a limit on CPU time, or without any limit, it chooses the fastest row that meets the \
        conditions; with only a limit on the p99, the cheapest. Without a limit on CPU time, sleeping rows come \
        first, and the best spinning row is shown as the alternative.",
        examples: &[
            ("ipcmark advise --size 4k", "round trips as fast as they go"),
            (
                "ipcmark advise --size 4k --rate 1k/s --cpu-below 10%",
                "the fastest for a tenth of a core",
            ),
            (
                "ipcmark advise --size 64 --rate 10k/s --p99-below 50us",
                "the cheapest that is fast enough",
            ),
            (
                "ipcmark advise --size 1M --subscribers 3 --needs many-readers",
                "to three processes by one publication",
            ),
            (
                "ipcmark advise --size 64 --needs daemonless,cross-host -t os",
                "among some transports",
            ),
            ("ipcmark advise --size 4k --from r.json", "from what has been measured"),
        ],
        exit: "0 a transport was chosen; 1 nothing meets the conditions; 2 the command line is wrong; 128 + signal \
        after Ctrl-C or SIGTERM",
        see_also: &["run", "explain", "sweep"],
    },
    flags,
    run,
};
