//! The clock of every sample.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    system::System,
};
use crate::clock::SOURCE;

/// Sources that cannot be read without a system call or a slow device.
const SLOW: [&str; 8] = [
    "hpet",
    "acpi_pm",
    "jiffies",
    "refined-jiffies",
    "pit",
    "xen",
    "hyperv_clocksource_msr",
    "dummy",
];

/// A reading that costs more affects rows of 0.1 µs.
const DEAR_NS: f64 = 100.0;

/// Steps beyond this are coarser than the fastest hop.
const COARSE_NS: u64 = 100;

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "clock source",
        source: "/sys/devices/system/clocksource/clocksource0",
        examine: examine_source,
    },
    Fact { name: "clock step", source: "measured: divisor of differences", examine: examine_step },
    Fact { name: "clock reading", source: "measured", examine: examine_reading },
];

fn examine_source(system: &System) -> Option<Examined> {
    let source = system.files.text(SOURCE)?;
    let available =
        system.files.text("sys/devices/system/clocksource/clocksource0/available_clocksource");
    let has_tsc = available.is_some_and(|list| list.split(' ').any(|name| name == "tsc"));
    let effect = || {
        let effect = Effect::new(
            Weight::Reservation,
            &[Question::Spinning, Question::Tails],
            "reading this clock takes a system call or a slow device: every sample contains that, and the clock-free \
             mean is the figure that holds",
        );
        match has_tsc {
            true => effect.remedy(
                "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
                "the kernel may have left it because it jumped or drifted: look at `dmesg | grep -i tsc` first",
            ),
            false => effect,
        }
    };
    let is_slow = SLOW.contains(&source.as_str());
    Some(Examined::harmless(source).with(is_slow.then(effect)))
}

fn examine_step(system: &System) -> Option<Examined> {
    let step = system.clock_step_ns;
    let effect = Effect::new(
        Weight::Reservation,
        &[Question::Spinning],
        "no sample is finer than this step; the clock-free mean is",
    );
    Some(Examined::harmless(format!("{step} ns")).with((step > COARSE_NS).then_some(effect)))
}

fn examine_reading(system: &System) -> Option<Examined> {
    let cost = system.clock_reading_ns;
    let effect = Effect::new(
        Weight::Reservation,
        &[Question::Spinning],
        "every sample of a round trip contains one reading of the clock; the clock-free mean does not",
    );
    Some(Examined::harmless(format!("{cost:.1} ns")).with((cost > DEAR_NS).then_some(effect)))
}
