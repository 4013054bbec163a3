//! The idle states of a processor: how soon it runs again after a sleep.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    system::System,
};

/// Sleeping ends wake up in a few microseconds on bare metal; a state with a longer exit latency affects the figures.
const LATE_US: u64 = 10;

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "C-states",
        source: "/sys/devices/system/cpu/cpu*/cpuidle/state*",
        examine: examine_states,
    },
    Fact {
        name: "halt polling",
        source: "/sys/module/haltpoll/parameters/guest_halt_poll_ns, /sys/devices/system/cpu/cpuidle/current_driver",
        examine: examine_halt_polling,
    },
];

struct State {
    name: String,
    latency_us: u64,
    is_enabled: bool,
}

/// The states of the first processor; usually they are the same on all.
fn states(system: &System) -> Vec<State> {
    let Some(first) = system.cpus.first() else { return Vec::new() };
    let base = format!("sys/devices/system/cpu/cpu{}/cpuidle", first.id);
    let state = |name: String| {
        let read = |file: &str| system.files.text(&format!("{base}/{name}/{file}"));
        Some(State {
            name: read("name")?,
            latency_us: read("latency")?.parse().ok()?,
            is_enabled: read("disable").is_none_or(|text| text == "0"),
        })
    };
    system.files.names(&base).into_iter().filter_map(state).collect()
}

fn examine_states(system: &System) -> Option<Examined> {
    let states = states(system);
    let each = |state: &State| match state.is_enabled {
        true => format!("{} {} µs", state.name, state.latency_us),
        false => format!("{} off", state.name),
    };
    let value: Vec<String> = states.iter().map(each).collect();
    let slowest =
        states.iter().filter(|state| state.is_enabled).map(|state| state.latency_us).max();
    let effect = slowest.filter(|latency| *latency > LATE_US).map(late);
    (!value.is_empty()).then(|| Examined::harmless(value.join(", ")).with(effect))
}

fn late(latency_us: u64) -> Effect {
    Effect::new(
        Weight::Reservation,
        &[Question::Sleeping, Question::Tails],
        format!("a processor that sleeps deeply takes up to {latency_us} µs to wake up, within the measured time"),
    )
    .remedy(
        format!("sudo cpupower idle-set --disable-by-latency {LATE_US}"),
        "idle processors use more power until `cpupower idle-set --enable-all`",
    )
}

fn examine_halt_polling(system: &System) -> Option<Examined> {
    if system.boot_option("idle").is_some_and(|option| option == "idle=poll") {
        return Some(Examined::harmless("idle=poll: processors never halt"));
    }
    let poll_ns = system.files.number("sys/module/haltpoll/parameters/guest_halt_poll_ns");
    // Without a host there are no exits; the C-states cover the rest.
    let poll_ns = poll_ns.filter(|_| system.hypervisor.is_some())?;
    let driver = system.files.text("sys/devices/system/cpu/cpuidle/current_driver")?;
    let value = match driver.as_str() {
        "haltpoll" => format!("guest_halt_poll_ns {poll_ns}"),
        _ => format!(
            "guest_halt_poll_ns {poll_ns}, without effect under the cpuidle driver {driver}"
        ),
    };
    // intel_idle idles by mwait, without an exit.
    let does_harm = match driver.as_str() {
        "haltpoll" => poll_ns == 0,
        driver => driver != "intel_idle",
    };
    Some(Examined::harmless(value).with(does_harm.then(|| halts_at_once(&driver))))
}

fn halts_at_once(driver: &str) -> Effect {
    let set = "echo 200000 | sudo tee /sys/module/haltpoll/parameters/guest_halt_poll_ns";
    let command = match driver {
        "haltpoll" => set.to_owned(),
        _ => format!("sudo modprobe cpuidle-haltpoll force=1 && {set}"),
    };
    Effect::new(
        Weight::Reservation,
        &[Question::Sleeping, Question::Tails],
        "a processor without work exits to the host at once: sleeping rows pay for that exit and for the host's \
         wake-up at each hop, tens of µs where bare metal takes a few",
    )
    .remedy(
        command,
        "a processor polls for up to 200 µs before it halts, which costs CPU time; the rows are then those of a \
         machine set like this",
    )
}
