//! Settings that change the clock frequency of the processors.

use std::collections::BTreeSet;

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    system::System,
};

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "frequency governor",
        source: "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        examine: examine_governor,
    },
    Fact {
        name: "turbo",
        source: "/sys/devices/system/cpu/{intel_pstate/no_turbo,cpufreq/boost}",
        examine: examine_turbo,
    },
    Fact {
        name: "thermal throttling",
        source: "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
        examine: examine_heat,
    },
];

fn examine_governor(system: &System) -> Option<Examined> {
    let governors = system.of_each_cpu("cpufreq/scaling_governor");
    let names: BTreeSet<String> = governors.into_iter().map(|(_, name)| name).collect();
    let value: Vec<String> = names.into_iter().collect();
    let is_steady = value.iter().all(|name| name == "performance");
    let effect = || {
        Effect::new(
            Weight::Reservation,
            &[Question::Spinning, Question::Sleeping, Question::Tails],
            "the frequency follows the load: what runs first, or after a sleep, runs slower",
        )
        .remedy(
            "sudo cpupower frequency-set --governor performance",
            "more power and heat until it is set back",
        )
    };
    (!value.is_empty())
        .then(|| Examined::harmless(value.join(", ")).with((!is_steady).then(effect)))
}

fn examine_turbo(system: &System) -> Option<Examined> {
    let number = |path: &str| system.files.number(&format!("sys/devices/system/cpu/{path}"));
    let (is_on, command) = match number("intel_pstate/no_turbo") {
        Some(off) => (off == 0, "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"),
        None => (
            number("cpufreq/boost")? == 1,
            "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        ),
    };
    let effect = Effect::new(
        Weight::Note,
        &[Question::Spinning, Question::Tails],
        "the highest frequency depends on the heat and on how many cores work, so trials differ by some percent",
    )
    .remedy(command, "everything runs slower until it is set back");
    Some(Examined::harmless(if is_on { "on" } else { "off" }).with(is_on.then_some(effect)))
}

fn examine_heat(system: &System) -> Option<Examined> {
    let counts = system.of_each_cpu("thermal_throttle/core_throttle_count");
    let counts: Vec<u64> = counts.iter().filter_map(|(_, count)| count.parse().ok()).collect();
    let most = counts.into_iter().max()?;
    let effect = Effect::new(
        Weight::Note,
        &[Question::Spinning, Question::Tails],
        "processors have been slowed down for their heat since the start of the system, and may be again",
    );
    let value = format!("{most} times since the start of the system");
    Some(Examined::harmless(value).with((most > 0).then_some(effect)))
}
