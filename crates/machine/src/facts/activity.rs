//! Other activity of the machine.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    system::System,
};
use crate::conditions::Processors;

/// Above this share of the last ten seconds, in percent, waiting for a processor affects the tails.
const PRESSURE_PERCENT: f64 = 2.0;

/// Above this share, stolen time affects the tails.
const STOLEN: f64 = 0.005;

pub(super) const FACTS: &[Fact] = &[
    Fact { name: "stolen time since the start", source: "/proc/stat", examine: examine_stolen },
    Fact {
        name: "load",
        source: "/proc/loadavg",
        examine: |system| {
            let text = system.files.text("proc/loadavg")?;
            let averages: Vec<&str> = text.split(' ').take(3).collect();
            Some(Examined::harmless(format!("{} (over 1, 5, 15 min)", averages.join(" "))))
        },
    },
    Fact { name: "pressure", source: "/proc/pressure/{cpu,memory,io}", examine: examine_pressure },
];

fn examine_stolen(system: &System) -> Option<Examined> {
    let share = Processors::now(&system.files)?.stolen_share();
    let effect = Effect::new(
        Weight::Note,
        &[Question::Tails],
        "the host has run something else on these processors for part of the time, and may do so again",
    );
    let value = format!("{:.2} %", 100.0 * share);
    Some(Examined::harmless(value).with((share > STOLEN).then_some(effect)))
}

/// `some avg10=0.12 avg60=…`, in percent of the last ten seconds.
fn pressure(system: &System, of: &str) -> Option<f64> {
    let text = system.files.text(&format!("proc/pressure/{of}"))?;
    text.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()
}

fn examine_pressure(system: &System) -> Option<Examined> {
    let of =
        ["cpu", "memory", "io"].map(|name| pressure(system, name).map(|percent| (name, percent)));
    let known: Vec<(&str, f64)> = of.into_iter().flatten().collect();
    let value: Vec<String> =
        known.iter().map(|(name, percent)| format!("{name} {percent:.1} %")).collect();
    let effect = Effect::new(
        Weight::Reservation,
        &[Question::Spinning, Question::Sleeping, Question::Tails],
        "processes were ready to run in the last ten seconds and had to wait: other programs compete for the \
        measured processors",
    );
    let waits = known.iter().any(|(_, percent)| *percent > PRESSURE_PERCENT);
    (!known.is_empty()).then(|| Examined::harmless(value.join(", ")).with(waits.then_some(effect)))
}
