//! The kernel's means to look inside a message's way: the processor's counters and the tracepoints. Rows are measured
//! without them; some of their figures are missing then.

use ipcmark_transport::Error;

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    system::System,
};

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "performance counters",
        source: "/proc/sys/kernel/perf_event_paranoid, perf_event_open",
        examine: examine_counters,
    },
    Fact { name: "tracepoints", source: "perf_event_open, tracefs", examine: examine_tracepoints },
];

fn examine_counters(system: &System) -> Option<Examined> {
    let level = system.files.text("proc/sys/kernel/perf_event_paranoid")?;
    let level: i64 = level.parse().ok()?;
    let allowed = match level {
        ..=1 => format!("level {level}: for users, the kernel's work included"),
        2 => format!("level {level}: for users, without the kernel's work"),
        _ => format!("level {level}: for root only"),
    };
    let Some(Err(error)) = &system.counters else { return Some(Examined::harmless(allowed)) };
    let effect = Effect::new(
        Weight::Note,
        &[Question::Spinning, Question::Sleeping],
        format!("`ipcmark explain` has no instructions and cycles of a message{}", advice(error)),
    );
    let effect = match is_refusal(error) {
        true if level > 2 && !system.is_root() => effect.remedy(
            "sudo sysctl kernel.perf_event_paranoid=2",
            "a larger surface for attacks on the kernel",
        ),
        true => effect.remedy(
            "docker run --cap-add PERFMON",
            "the container can watch the kernel: only with code that is trusted",
        ),
        false => effect,
    };
    let value = format!("{allowed}; not usable: {}", cause(error));
    Some(Examined::harmless(value).with(Some(effect)))
}

fn examine_tracepoints(system: &System) -> Option<Examined> {
    let Err(error) = system.tracepoints.as_ref()? else {
        return Some(Examined::harmless("usable"));
    };
    let effect = Effect::new(
        Weight::Note,
        &[Question::Sleeping],
        "rows of `one-way` with a sleeping receiver lack its wake-up: where a spinning receiver was measured too, the \
         difference of both is shown as an estimate",
    );
    let effect = match (system.is_root(), is_refusal(error)) {
        (false, _) => effect.remedy(
            "sudo ipcmark run -p one-way",
            "ipcmark and the libraries that it loads have the rights of root",
        ),
        (true, true) => effect.remedy(
            "docker run --privileged --pid host",
            "the container has the rights of the host: only with code that is trusted",
        ),
        (true, false) => effect,
    };
    Some(Examined::harmless(format!("not usable: {}", cause(error))).with(Some(effect)))
}

fn cause(error: &Error) -> &str {
    let [_, _, cause] = error.parts();
    cause
}

/// The remedy of an error that no command of this machine removes.
fn advice(error: &Error) -> String {
    let advice = error.remedy_text().filter(|_| !is_refusal(error));
    advice.map_or_else(String::new, |advice| format!(": {advice}"))
}

/// True if the system refuses what it has.
fn is_refusal(error: &Error) -> bool {
    ["ermission denied", "not permitted", "PID namespace"]
        .iter()
        .any(|words| cause(error).contains(words))
}
