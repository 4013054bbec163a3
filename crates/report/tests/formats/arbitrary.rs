//! Results of any content: plausible ones, extreme ones, hostile text.

use ipcmark_results::*;
use proptest::prelude::*;

use crate::sample::{between, case, lose, measured_as, run, set, times, trial, unmeasured};

/// A result with up to 30 cases.
pub fn result() -> impl Strategy<Value = RunResult> {
    let cases = prop::collection::vec(any_case(), 0..30);
    let notes = prop::collection::vec(text(), 0..3);
    (cases, notes, text(), prop::option::of(0.0..1e9), any::<bool>()).prop_map(
        |(cases, notes, cpu_model, floor, complete)| {
            let mut result = run(vec![]);
            for case in cases {
                if result.case(&case.identity).is_none() {
                    result.cases.push(case);
                }
            }
            result.notes = notes;
            result.environment.cpu_model = cpu_model;
            if let (Some(ns), Some(distances)) = (floor, &mut result.distances) {
                distances.all[0].floor_round_trip_ns = ns;
            } else {
                result.distances = None;
            }
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
    let waits = prop::sample::select(Wait::ALL);
    let payloads = prop_oneof![Just(64), Just(4_096), Just(1 << 20), any::<u64>()];
    let rate = |per_second| Load::Rate { per_second, arrivals: Arrivals::Poisson };
    let loads = prop_oneof![
        4 => Just(Load::Closed),
        1 => (1..u64::MAX).prop_map(rate),
        1 => (1..u64::MAX).prop_map(|pause_ns| Load::Interval { pause_ns }),
        1 => (1..u64::MAX, 1..u64::MAX, any::<u32>()).prop_map(|(messages, span_ns, digest)| {
            Load::Trace { messages, span_ns, bytes: messages, digest }
        }),
    ];
    let patterns = prop::sample::select(Pattern::ALL);
    let settings = (prop::bool::ANY, prop::option::of(text()), patterns, loads);
    (names, payloads, waits, any_trials(), settings, status()).prop_map(
        |(name, payload, wait, trials, (all, option, pattern, load), status)| {
            let mut case = case(&name, payload, wait, 1);
            let identity = &mut case.identity;
            identity.load = load;
            identity.touch = if all { Touch::All } else { Touch::Head };
            identity.span = if name == "null" { Span::None } else { Span::Process };
            identity.options.extend(option.map(|value| ("capacity".to_string(), value)));
            identity.pattern = pattern;
            match pattern {
                Pattern::FanOut => (identity.subscribers, identity.silent_subscribers) = (3, 1),
                Pattern::FanIn => (identity.subscribers, identity.load) = (2, Load::Closed),
                Pattern::Throughput => identity.load = Load::Closed,
                Pattern::Latency => identity.pairs = if all { 1 } else { 4 },
                Pattern::OneWay if all => identity.between = Some(between(0, 1)),
                _ => {}
            }
            case.outcome = measured_as(pattern, trials);
            match status {
                (Status::Ok, _) => case,
                (status, reason) => unmeasured(case, status, &reason),
            }
        },
    )
}

/// One or more trials.
fn any_trials() -> impl Strategy<Value = Vec<Trial>> {
    let one = (prop::sample::select(Wait::ALL), time(), extremes());
    prop::collection::vec(one, 1..4).prop_map(|several| {
        let numbered = several.into_iter().enumerate();
        numbered
            .map(|(at, (wait, p50, extremes))| {
                let mut trial = trial(wait, p50);
                trial.number = at as u32 + 1;
                extremes.apply(&mut trial);
                trial
            })
            .collect()
    })
}

fn time() -> impl Strategy<Value = u64> {
    (0..42_u32, any::<u64>()).prop_map(|(bits, x)| x % (1 << (bits + 1)))
}

/// Figures that are independent of one another.
#[derive(Clone, Debug)]
struct Extremes {
    times: [u64; 4],
    elapsed_ns: u64,
    lost: u64,
    cpu_ns: u64,
}

impl Extremes {
    fn apply(self, trial: &mut Trial) {
        let [p99, p99_9, max, switches] = self.times;
        let p50 = trial.times_ns.p50;
        set(trial, times(p50, p99, p99_9, max), p99 as f64 + 0.5);
        trial.elapsed_ns = self.elapsed_ns;
        let leader = &mut trial.session.processes[0];
        (leader.cpu_ns, leader.context_switches.voluntary) = (self.cpu_ns, switches);
        trial.session.losses.sent = trial.times_ns.count.saturating_add(self.lost);
        lose(trial, self.lost.min(u64::MAX - trial.times_ns.count), self.lost / 7);
    }
}

fn extremes() -> impl Strategy<Value = Extremes> {
    let lost = prop_oneof![Just(0), any::<u64>()];
    (prop::array::uniform4(time()), time(), lost, any::<u64>())
        .prop_map(|(times, elapsed_ns, lost, cpu_ns)| Extremes { times, elapsed_ns, lost, cpu_ns })
}

fn status() -> impl Strategy<Value = (Status, String)> {
    let others = [Status::Failed, Status::Unavailable, Status::Unsupported];
    prop_oneof![
        3 => Just((Status::Ok, String::new())),
        1 => (prop::sample::select(others.to_vec()), text()),
    ]
}
