//! Advice for programs.

use ipcmark_results::{Candidate, Figure, Identity};
use serde_json::{Value, json};

use super::{AdviceShown, sentences, shortfall};

/// The schema of the document.
const SCHEMA: &str = "ipcmark-advice/1";

/// The advice as JSON, with a line feed at its end. Times are those of an event in nanoseconds: a round trip, or a
/// message one way.
pub fn advice_json(shown: &AdviceShown) -> String {
    let question = &shown.question;
    let advice = &shown.advice;
    let all = |candidates: &[Candidate]| candidates.iter().map(candidate).collect::<Vec<_>>();
    let sentences = sentences(shown).into_iter();
    let document = json!({
        "schema": SCHEMA,
        "question": {
            "pattern": question.pattern,
            "payload_bytes": question.payload,
            "load": question.load,
            "subscribers": question.subscribers,
            "p99_below_ns": question.p99_below_ns,
            "cores_below": question.cores_below,
        },
        "choice": advice.choice.as_ref().map(candidate),
        "not_told_apart": all(&advice.ties),
        "runner_up": advice.runner_up.as_ref().map(candidate),
        "spinning": advice.spinning.as_ref().map(candidate),
        "sleeping": advice.sleeping.as_ref().map(candidate),
        "falls_short": all(&advice.short),
        "left_out": shown.left_out.iter().map(|(transport, reason)| json!({
            "transport": transport, "reason": reason,
        })).collect::<Vec<_>>(),
        "sentences": sentences.map(|(label, text)| format!("{label}: {text}")).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn candidate(candidate: &Candidate) -> Value {
    let Identity { transport, options, wait, n_sends, .. } = &candidate.row.case.identity;
    json!({
        "transport": transport,
        "options": options,
        "wait": wait,
        "n_sends": n_sends,
        "time_ns": figure(candidate.time),
        "p99_ns": candidate.p99.map(figure),
        "cores": candidate.cores.map(figure),
        "cost": candidate.cost.map(figure),
        "cpu_ns_per_message": candidate.row.cpu_per_message(),
        "longest_ns": candidate.row.max(),
        "lost": candidate.lost(),
        "daemons": candidate.daemons(),
        "shortfalls": candidate.shortfalls.iter().map(shortfall).collect::<Vec<_>>(),
    })
}

/// A figure with its 95 % confidence interval.
fn figure(figure: Figure) -> Value {
    let interval = figure.interval.map(|interval| json!([interval.low, interval.high]));
    json!({ "value": figure.value, "interval": interval })
}
