//! The diagnosis for programs; docs/doctor.md describes the fields.

use ipcmark_machine::{
    facts::{Finding, Question, Weight},
    hiccups::{Hiccups, THRESHOLDS_NS},
    shared_core::CoreSharing,
};
use serde_json::{Map, Value, json};

use super::{
    diagnosis::Diagnosis,
    examination::{Examination, MeasuredPair},
    verdict::QuestionVerdict,
};

/// The diagnosis as a JSON object.
pub(super) fn json(diagnosis: &Diagnosis) -> Value {
    json!({
        "ipcmark_version": env!("CARGO_PKG_VERSION"),
        "verdict": {
            "sentence": diagnosis.verdict.sentence(),
            "answer": answer(diagnosis.verdict.weight()),
            "questions": answers(diagnosis),
        },
        "measured": diagnosis.examination.as_ref().map(measured),
        "findings": diagnosis.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

/// The word for how well a question can be answered.
fn answer(weight: Weight) -> &'static str {
    match weight {
        Weight::Note => "fit",
        Weight::Reservation => "reservations",
        Weight::Unfit => "not-fit",
    }
}

fn weight(weight: Weight) -> &'static str {
    match weight {
        Weight::Note => "note",
        Weight::Reservation => "reservation",
        Weight::Unfit => "not-fit",
    }
}

fn word(question: Question) -> &'static str {
    match question {
        Question::Spinning => "spinning",
        Question::Sleeping => "sleeping",
        Question::Large => "large",
        Question::Tails => "tails",
    }
}

fn answers(diagnosis: &Diagnosis) -> Map<String, Value> {
    let answers = diagnosis.verdict.answers().iter();
    let entry = |of: &QuestionVerdict| {
        let value = json!({"answer": answer(of.weight), "causes": of.causes});
        (word(of.question).to_owned(), value)
    };
    answers.map(entry).collect()
}

fn measured(examination: &Examination) -> Value {
    let others = examination.others.iter();
    let others = others.map(|other| json!({"process": other.process, "processors": other.share}));
    json!({
        "duration_ns": examination.conditions.elapsed_ns,
        "pairs": examination.pairs.iter().map(pair).collect::<Vec<_>>(),
        "hiccups": examination.hiccups.iter().map(hiccups).collect::<Vec<_>>(),
        "shared_cores": examination.shared_cores.iter().map(shared_core).collect::<Vec<_>>(),
        "canary_ns": examination.canary_ns,
        "other_programs": others.collect::<Vec<_>>(),
    })
}

fn pair(pair: &MeasuredPair) -> Value {
    let distances = pair.division.distances.iter().map(|distance| {
        json!({
            "round_trip_ns": distance.floor_ns,
            "share": distance.share_of_probes,
            "apart": distance.apart,
        })
    });
    json!({
        "cpus": [pair.cpus.0, pair.cpus.1],
        "relation": pair.relation.to_string(),
        "probes": pair.probes,
        "distances": distances.collect::<Vec<_>>(),
        "changes_per_second": pair.division.changes_per_second,
        "over_time": pair.division.over_time,
        "clock_offset": pair.clocks.map(|clocks| {
            json!({
                "p5_ns": clocks.p5_ns,
                "p50_ns": clocks.p50_ns,
                "p95_ns": clocks.p95_ns,
                "bound_ns": clocks.bound_ns,
            })
        }),
    })
}

fn hiccups(hiccups: &Hiccups) -> Value {
    let gaps = THRESHOLDS_NS.iter().zip(&hiccups.gaps).map(|(least_ns, gaps)| {
        json!({"least_ns": least_ns, "count": gaps.count, "total_ns": gaps.total_ns})
    });
    json!({
        "cpu": hiccups.cpu,
        "watched_ns": hiccups.watched_ns,
        "gaps": gaps.collect::<Vec<_>>(),
        "longest_ns": hiccups.longest_ns,
        "share": hiccups.share(),
        "cpu_time_ns": hiccups.thread.map(|time| time.cpu_ns),
        "run_delay_ns": hiccups.thread.map(|time| time.run_delay_ns),
    })
}

fn shared_core(core: &CoreSharing) -> Value {
    json!({
        "cpu": core.cpu,
        "bursts": core.bursts,
        "share": core.share,
        "slowdown": core.slowdown,
    })
}

fn finding(finding: &Finding) -> Value {
    let effect = finding.effect.as_ref().map(|effect| {
        json!({
            "weight": weight(effect.weight),
            "questions": effect.questions.iter().map(|question| word(*question)).collect::<Vec<_>>(),
            "sentence": effect.sentence,
            "remedy": effect.remedy.as_ref().map(|remedy| {
                json!({"command": remedy.command, "price": remedy.price})
            }),
        })
    });
    json!({
        "name": finding.name,
        "value": finding.value,
        "source": finding.source,
        "effect": effect,
    })
}
