//! Advice as text: the choice, its cost, and its limits. Every sentence contains its figure.

mod json;
mod table;

pub use json::advice_json;
pub use table::advice_table;

use ipcmark_results::{
    Advice, AdviceQuestion, Candidate, Figure, Load, Pattern, RunResult, Shortfall, Wait, caveats,
};

use crate::{
    caveats::sentence,
    findings::uncertainty,
    names,
    plain::plain,
    units::{count, duration, figure, size},
};

/// Advice, with its question and its result.
pub struct AdviceShown<'a> {
    /// The question.
    pub question: AdviceQuestion,
    /// The result that the advice is based on.
    pub result: &'a RunResult,
    /// The answer.
    pub advice: Advice<'a>,
    /// Transports that were excluded because of the user's requirements, each with the reason.
    pub left_out: Vec<(String, String)>,
}

/// The number of rows of one kind that are named; of further rows only their number is given.
const NAMED: usize = 6;

/// The question as text.
fn question(question: &AdviceQuestion) -> String {
    let mut parts = vec![size(question.payload)];
    if question.pattern == Pattern::OneWay {
        parts.push("one way".into());
    }
    parts.push(names::load(question.load).unwrap_or_else(|| "as fast as answers come".into()));
    parts.extend(names::followers(question.pattern, question.subscribers, 0));
    if let Some(limit) = question.p99_below_ns {
        parts.push(format!("99 of 100 below {}", duration(limit)));
    }
    if let Some(cores) = question.cores_below {
        parts.push(format!("less than {} cores", figure(cores)));
    }
    parts.join(" · ")
}

/// The sentences of an answer, each with its label; the first one is the choice.
fn sentences(shown: &AdviceShown) -> Vec<(&'static str, String)> {
    let AdviceShown { question, advice, .. } = shown;
    let mut sentences = Vec::new();
    match &advice.choice {
        None => sentences.push(("use", "nothing that was measured meets the conditions".into())),
        Some(choice) => {
            let why = match question.is_for_the_cheapest() && choice.cost.is_some() {
                true => "the least CPU time of those that are fast enough",
                false => "the fastest of those that meet the conditions",
            };
            let among = if choice.polls() { "" } else { " and sleep" };
            sentences.push(("use", format!("{}: {why}{among}", name(choice))));
            sentences.push(("figures", figures(question, choice)));
            if !advice.ties.is_empty() {
                sentences.push(("no worse", indistinguishable(&advice.ties)));
            }
        }
    }
    if let Some(next) = &advice.runner_up {
        sentences.push(("runner-up", format!("{}: {}", name(next), figures(question, next))));
    }
    if let Some(spinning) = &advice.spinning {
        let figures = figures(question, spinning);
        let name = names::transport(&spinning.row.case.identity);
        sentences.push(("spinning", format!("if cores can be burned, {name}: {figures}")));
    }
    if let Some(sleeping) = &advice.sleeping {
        let figures = figures(question, sleeping);
        let name = names::transport(&sleeping.row.case.identity);
        sentences.push(("sleeping", format!("too near the limit to rely on, {name}: {figures}")));
    }
    if let Some(choice) = &advice.choice {
        let promises = not_promised(question, choice, shown.result);
        sentences.extend(promises.into_iter().map(|sentence| ("no promise", sentence)));
    }
    if let Some(sentence) = falls_short(&advice.short) {
        sentences.push(("falls short", sentence));
    }
    sentences.extend(left_out(&shown.left_out).map(|sentence| ("left out", sentence)));
    sentences
}

/// A row: `pipe, sleeping`.
fn name(candidate: &Candidate) -> String {
    let waits = match candidate.wait() {
        Wait::Spin => "spinning",
        Wait::Block => "sleeping",
        Wait::Hybrid => "spinning for a while, then sleeping",
    };
    format!("{}, {waits}", names::transport(&candidate.row.case.identity))
}

/// The time and cost of a row.
fn figures(question: &AdviceQuestion, candidate: &Candidate) -> String {
    let what = match (question.pattern, question.load) {
        (Pattern::OneWay, Load::Closed) => "a message arrives after",
        (Pattern::OneWay, _) => "half of the messages arrive within",
        (Pattern::FanOut, Load::Closed) => "the last of the answers is there after",
        (_, Load::Closed) => "a message is answered after",
        _ => "half of the messages are answered within",
    };
    let tail = match candidate.p99 {
        Some(p99) => format!("99 of 100 within {}", time(p99)),
        None => "too few samples for a p99".into(),
    };
    format!("{what} {}, {tail}; {}", time(candidate.time), price(question, candidate))
}

fn time(found: Figure) -> String {
    format!("{}{}", duration(found.value), uncertainty(Some(found)))
}

/// The cost of a row. A spinning row is never cheap, even if its CPU time per message at full speed is low.
fn price(question: &AdviceQuestion, candidate: &Candidate) -> String {
    let cores =
        candidate.cores.map(|cores| format!("{}{}", figure(cores.value), uncertainty(Some(cores))));
    match (candidate.wait(), question.load, cores) {
        (Wait::Spin, _, Some(cores)) => format!("{cores} cores busy, with messages or without"),
        (_, Load::Closed, _) => match candidate.cost {
            Some(cost) => format!("{} of CPU time a message", time(cost)),
            None => "its CPU time a message is unknown, for many messages needed no wake-up".into(),
        },
        (_, _, Some(cores)) => format!("{cores} cores at that rate"),
        (_, _, None) => {
            format!("{} of CPU time a message", duration(candidate.row.cpu_per_message()))
        }
    }
}

fn indistinguishable(ties: &[Candidate]) -> String {
    let names = ties.iter().map(|tie| names::transport(&tie.row.case.identity)).collect();
    format!("statistically tied with it: {}", some(names))
}

/// The first few names, and the number of the others.
fn some(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", names.join(", "))
}

/// The limits of the choice's figures.
fn not_promised(question: &AdviceQuestion, choice: &Candidate, result: &RunResult) -> Vec<String> {
    let mut sentences = Vec::new();
    let high = choice.p99.and_then(|p99| p99.interval).map(|interval| interval.high);
    if let (Some(limit), Some(high)) = (question.p99_below_ns, high)
        && high >= limit
    {
        sentences.push(format!(
            "its p99 may be as long as {}, above the limit: measure longer with --budget",
            duration(high)
        ));
    }
    let (samples, longest) = (choice.row.overall().samples(), choice.row.max());
    let longest = duration(longest as f64);
    sentences.push(format!("the longest of {} messages took {longest}", count(samples)));
    if choice.lost() > 0 {
        sentences.push(format!("{} messages were lost", count(choice.lost())));
    }
    let daemons: Vec<String> = choice.daemons().iter().map(|name| plain(name)).collect();
    if !daemons.is_empty() {
        sentences.push(format!("it works as long as its daemon does: {}", daemons.join(", ")));
    }
    sentences.extend(caveats(&choice.row).iter().map(sentence));
    let trials = choice.row.trials.len();
    if trials < 2 {
        sentences.push("one trial carries no interval: measure again with --trials 3".into());
    }
    if result.environment.cpus_usable <= 2 {
        sentences
            .push("with two processors, what else the machine does takes from the ends".into());
    }
    sentences
}

/// Rows that do not meet the conditions, with the figures that fail them.
fn falls_short(short: &[Candidate]) -> Option<String> {
    let one = |candidate: &Candidate| {
        let faults: Vec<String> = candidate.shortfalls.iter().map(shortfall).collect();
        format!("{} ({})", name(candidate), faults.join(", "))
    };
    (!short.is_empty()).then(|| some(short.iter().map(one).collect()))
}

fn shortfall(shortfall: &Shortfall) -> String {
    match *shortfall {
        Shortfall::Late { p99_ns } => format!("p99 {}", duration(p99_ns)),
        Shortfall::TooFewSamples => "too few samples for a p99".into(),
        Shortfall::Costly { cores } => format!("{} cores", figure(cores)),
        Shortfall::Slow { sent_per_second } => {
            format!("sent {}/s", count(sent_per_second.round() as u64))
        }
    }
}

/// Transports that were excluded: each reason once, after their names.
fn left_out(all: &[(String, String)]) -> impl Iterator<Item = String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, reason) in all {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) => names.push(plain(name)),
            None => reasons.push((reason, vec![plain(name)])),
        }
    }
    reasons.into_iter().map(|(reason, names)| format!("{}: {reason}", some(names)))
}
