//! The kernel's boot options and its preemption.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    system::System,
};

/// Options of the kernel's command line that affect the figures. Others can contain names of disks and users.
const OPTIONS: [&str; 19] = [
    "clocksource",
    "cpuidle.off",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "mitigations",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "preempt",
    "processor.max_cstate",
    "rcu_nocbs",
    "skew_tick",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
];

const VULNERABILITIES: &str = "sys/devices/system/cpu/vulnerabilities";

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "preemption model",
        source: "/sys/kernel/debug/sched/preempt, /proc/sys/kernel/version",
        examine: examine_preemption,
    },
    Fact {
        name: "mitigations",
        source: "/sys/devices/system/cpu/vulnerabilities/*",
        examine: examine_mitigations,
    },
    Fact { name: "boot options", source: "/proc/cmdline", examine: examine_options },
    Fact {
        name: "real-time throttling",
        source: "/proc/sys/kernel/sched_rt_runtime_us",
        examine: |system| {
            let text = system.files.text("proc/sys/kernel/sched_rt_runtime_us")?;
            Some(Examined::harmless(if text == "-1" {
                "off".into()
            } else {
                format!("{text} µs a second")
            }))
        },
    },
];

/// A dynamic kernel lists its models with the active one in parentheses, for root only. The version string shows the
/// compiled one.
fn examine_preemption(system: &System) -> Option<Examined> {
    let models = system.files.text("sys/kernel/debug/sched/preempt");
    let chosen = models.as_deref().and_then(|list| {
        list.split_whitespace().find_map(|word| word.strip_prefix('(')?.strip_suffix(')'))
    });
    let version = system.files.text("proc/sys/kernel/version")?;
    let compiled = version.split(' ').find(|word| word.starts_with("PREEMPT"));
    let value = match (chosen, compiled) {
        (Some(chosen), _) => chosen,
        (None, Some("PREEMPT_DYNAMIC")) => "dynamic; only root can see the active one",
        (None, Some("PREEMPT_RT")) => "rt",
        (None, Some(_)) => "full",
        (None, None) => "none or voluntary",
    };
    Some(Examined::harmless(value))
}

fn examine_mitigations(system: &System) -> Option<Examined> {
    let names = system.files.names(VULNERABILITIES);
    let states: Vec<(String, String)> = names
        .into_iter()
        .filter_map(|name| {
            let text = system.files.text(&format!("{VULNERABILITIES}/{name}"))?;
            Some((name, text))
        })
        .collect();
    let with = |start: &str| {
        let found = states.iter().filter(|(_, text)| text.starts_with(start));
        found.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (mitigated, open) = (with("Mitigation"), with("Vulnerable"));
    let parts = [("", &mitigated), ("vulnerable: ", &open)];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(start, names)| format!("{start}{names}"))
        .collect();
    let value = if parts.is_empty() { "none needed".into() } else { parts.join("; ") };
    (!states.is_empty())
        .then(|| Examined::harmless(value).with((!mitigated.is_empty()).then(slower_calls)))
}

fn slower_calls() -> Effect {
    Effect::new(
        Weight::Note,
        &[Question::Sleeping],
        "system calls and switches of processes cost more, and differently on each processor: compare sleeping rows \
         and those of the kernel's transports with machines that have the same",
    )
    .remedy(
        "mitigations=off  # on the kernel's command line",
        "a restart, and programs can read each other's memory: only where all code is trusted",
    )
}

fn examine_options(system: &System) -> Option<Examined> {
    system.files.text("proc/cmdline")?;
    let found: Vec<String> = OPTIONS.iter().filter_map(|name| system.boot_option(name)).collect();
    Some(Examined::harmless(if found.is_empty() {
        "none that matters".into()
    } else {
        found.join(" ")
    }))
}
