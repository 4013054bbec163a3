//! Results of any content: sensible ones, extreme ones, hostile text.

use ipcmark_results::*;
use proptest::prelude::*;

use crate::sample::{case, run, unmeasured};

/// A result with up to 30 cases.
pub fn result() -> impl Strategy<Value = RunResult> {
    let cases = prop::collection::vec(any_case(), 0..30);
    let notes = prop::collection::vec(text(), 0..3);
    (cases, notes, text(), prop::option::of(0.0..1e9), any::<bool>()).prop_map(
        |(cases, notes, cpu_model, floor, complete)| {
            let mut result = run(cases);
            result.notes = notes;
            result.environment.cpu_model = cpu_model;
            result.floor =
                floor.map(|ns| Floor { round_trip_ns: ns, lowest_ns: ns, highest_ns: ns });
            (result.complete, result.planned_cases) = (complete, 40);
            result
        },
    )
}

/// Text as a worker may write it to its standard error.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,200}",
        "[=+@-][ -~]{0,20}",
        "\\PC{0,60}",
        any::<String>(),
        Just("\x1b[2J\x1b]0;x\x07\r\nred".to_string()),
    ]
}

fn any_case() -> impl Strategy<Value = Case> {
    let names = prop_oneof![
        4 => prop::sample::select(&["pipe", "tcp", "shm-slot", "null"][..]).prop_map(String::from),
        1 => text(),
    ];
    let waits = prop::sample::select(&["spin", "block", "hybrid"][..]);
    let payloads = prop_oneof![Just(64), Just(4_096), Just(1 << 20), any::<u64>()];
    let setting = (prop::bool::ANY, prop::option::of(text()), 1..4_u32);
    (names, payloads, waits, times(), extremes(), setting, status()).prop_map(
        |(name, payload, wait, p50, extremes, (all, option, trial), status)| {
            let mut case = case(&name, payload, wait, p50);
            case.touch = if all { "all" } else { "head" }.into();
            case.span = if name == "null" { "none" } else { "process" }.into();
            case.options.extend(option.map(|value| ("capacity".to_string(), value)));
            case.trial = trial;
            extremes.apply(case.figures.as_mut().expect("it is measured"));
            match status {
                (Status::Ok, _) => case,
                (status, reason) => unmeasured(case, status, &reason),
            }
        },
    )
}

fn times() -> impl Strategy<Value = u64> {
    (0..42_u32, any::<u64>()).prop_map(|(bits, x)| x % (1 << (bits + 1)))
}

/// Figures that have nothing to do with one another.
#[derive(Clone, Debug)]
struct Extremes {
    times: [u64; 4],
    rate: f64,
    lost: u64,
}

impl Extremes {
    fn apply(self, figures: &mut Figures) {
        let trip = &mut figures.round_trip_ns;
        let [p99, p99_9, max, switches] = self.times;
        (trip.p99, trip.p99_9, trip.max) = (p99, p99_9, max);
        figures.messages_per_second = self.rate;
        figures.cpu_ns_per_message.follower = self.rate / 3.0;
        (figures.lost, figures.lost_wait_ns) = (self.lost, self.lost / 7);
        figures.context_switches.leader.voluntary = switches;
    }
}

fn extremes() -> impl Strategy<Value = Extremes> {
    let rates = prop_oneof![0.0..1e9, 0.0..f64::MAX];
    (prop::array::uniform4(times()), rates, prop_oneof![Just(0), any::<u64>()])
        .prop_map(|(times, rate, lost)| Extremes { times, rate, lost })
}

fn status() -> impl Strategy<Value = (Status, String)> {
    let others = [Status::Failed, Status::Unavailable, Status::Unsupported];
    prop_oneof![
        3 => Just((Status::Ok, String::new())),
        1 => (prop::sample::select(others.to_vec()), text()),
    ]
}
