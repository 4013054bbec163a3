//! The quality of advice: random questions, each answered by `ipcmark advise`. Then all rows are measured again, four
//! times as long, and the choice is compared with the best row of that second run that meets the conditions.
//!
//! Run it with `make regret`, on a machine that does nothing else; it takes about ten minutes. The questions follow
//! from a seed, which is printed and can be set: `SEED=7 make regret`.

use std::{path::Path, process::Command};

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use ipcmark_results::{Advice, AdviceQuestion, Arrivals, Candidate, Load, Pattern, advise, read};

const QUESTIONS: usize = 20;

/// The largest acceptable regret: the choice may be this much behind the best row.
const GOAL: f64 = 0.1;

fn main() {
    // `cargo test --benches` only checks that it builds.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    println!(
        "{QUESTIONS} random questions of seed {seed}; the regret is what the choice takes or costs more than the best"
    );
    let regrets: Vec<Option<f64>> = (0..QUESTIONS).map(|_| answered(&mut random)).collect();
    let known: Vec<f64> = regrets.iter().copied().flatten().collect();
    let good = known.iter().filter(|regret| **regret <= GOAL).count();
    println!("{good} of {} answers are within 10 % of the best", known.len());
}

/// Asks one question and returns the regret of the choice. None if nothing met the conditions.
fn answered(random: &mut ChaCha8Rng) -> Option<f64> {
    let question = question(random);
    let words = words(&question);
    let directory = tempfile::tempdir().expect("a directory for results");
    let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    measure(&words, "8s", &first);
    measure(&words, "32s", &second);
    let result = read(&first).expect("the first result");
    let chosen = advise(&result, &question, |_| true).choice;
    let truth = read(&second).expect("the second result");
    let truth = advise(&truth, &question, |_| true);
    let (found, regret) = match (&chosen, &truth.choice) {
        (Some(chosen), Some(best)) => regret(&question, chosen, best, &truth),
        (None, None) => ("nothing meets the conditions, twice".into(), None),
        (chosen, best) => (format!("{} then {}", name(chosen), name(best)), None),
    };
    println!("  {}: {found}", words.join(" "));
    regret
}

/// The regret of the choice against the best row of the longer run, and a sentence about it.
fn regret(
    question: &AdviceQuestion,
    chosen: &Candidate,
    best: &Candidate,
    truth: &Advice,
) -> (String, Option<f64>) {
    let identity = &chosen.row.case.identity;
    let all = std::iter::once(best).chain(&truth.others);
    let Some(again) = all.clone().find(|other| other.row.case.identity == *identity) else {
        let name = &identity.transport;
        return (format!("{name} no longer meets the conditions"), Some(f64::INFINITY));
    };
    let regret = question.aim(again) / question.aim(best) - 1.0;
    let (chosen, best) = (&identity.transport, &best.row.case.identity.transport);
    (format!("{chosen}, the best is {best}: {:.1} %", regret * 100.0), Some(regret))
}

fn name(candidate: &Option<Candidate>) -> String {
    candidate
        .as_ref()
        .map_or("nothing".into(), |candidate| candidate.row.case.identity.transport.clone())
}

fn question(random: &mut ChaCha8Rng) -> AdviceQuestion {
    let mut one_of = |count: usize| (random.next_u64() % count as u64) as usize;
    let load = match [None, Some(200), Some(1000), Some(5000)][one_of(4)] {
        None => Load::Closed,
        Some(per_second) => Load::Rate { per_second, arrivals: Arrivals::Fixed },
    };
    let has_rate = load != Load::Closed;
    let cores = [None, None, Some(0.1), Some(0.5), Some(3.0)][one_of(5)];
    let p99 = [None, None, Some(50e3), Some(200e3), Some(1e6)][one_of(5)];
    AdviceQuestion {
        payload: [16, 64, 1000, 4096, 65536, 1 << 20][one_of(6)],
        pattern: Pattern::Latency,
        load,
        subscribers: 1,
        p99_below_ns: p99,
        cores_below: cores.filter(|_| has_rate),
    }
}

fn words(question: &AdviceQuestion) -> Vec<String> {
    let mut words = vec![format!("--size={}", question.payload), "-tos".into()];
    if let Load::Rate { per_second, .. } = question.load {
        words.push(format!("--rate={per_second}/s"));
    }
    if let Some(limit) = question.p99_below_ns {
        words.push(format!("--p99-below={}us", limit / 1e3));
    }
    if let Some(cores) = question.cores_below {
        words.push(format!("--cpu-below={}%", cores * 100.0));
    }
    words
}

/// Measures the candidates.
fn measure(words: &[String], budget: &str, to: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipcmark"));
    command.arg("advise").args(words).args(["--budget", budget, "-o"]).arg(to);
    let output = command.output().expect("the command starts");
    // Possibly nothing meets the conditions: the result is written all the same.
    assert!(to.exists(), "{}", String::from_utf8_lossy(&output.stderr));
}
