//! The quality of advice: random questions, each answered by `ipcmark advise` as a user would ask it. Then all rows are
//! measured twice more, and the choice is compared with the best row that meets the conditions.
//!
//! The best row of a run is partly luck: its figure in that run is too good. So the best row of one check is taken for
//! the truth, and both figures come from the other check; the regret is the mean of both ways.
//!
//! Run it with `make regret`, on a machine that does nothing else; it takes about twenty minutes. The questions follow
//! from a seed, which is printed and can be set: `SEED=7 make regret`.

use std::{path::Path, process::Command};

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use ipcmark_results::{Advice, AdviceQuestion, Arrivals, Candidate, Load, Pattern, advise, read};

const QUESTIONS: usize = 20;

/// The candidates: one of each kind of mechanism, so that even slow rates have their full length in a minute.
const TRANSPORTS: &str = "pipe,uds-stream,tcp,posix-mq,eventfd,shm-ring,shm-slot,shm-futex";

/// The trials of all rows in a check.
const CHECKED: u32 = 3;

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
    let answers: Vec<Answer> = (0..QUESTIONS).map(|_| answered(&mut random)).collect();
    let regrets: Vec<f64> = answers.iter().filter_map(Answer::regret).collect();
    let good = regrets.iter().filter(|regret| **regret <= GOAL).count();
    let counted = |answer| answers.iter().filter(|other| **other == answer).count();
    println!(
        "{good} of {} choices are within 10 % of the best; nothing was chosen although a row met the conditions in a \
         check: {}; no row met them in a check: {}",
        regrets.len(),
        counted(Answer::Missed),
        counted(Answer::Unmet)
    );
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    /// A row was chosen, and is this far behind the best.
    Chosen(f64),
    /// No row was chosen, although one met the conditions in a check.
    Missed,
    /// No row met the conditions in a check.
    Unmet,
}

impl Answer {
    fn regret(&self) -> Option<f64> {
        match self {
            Self::Chosen(regret) => Some(*regret),
            Self::Missed | Self::Unmet => None,
        }
    }
}

/// Asks one question and checks the choice.
fn answered(random: &mut ChaCha8Rng) -> Answer {
    let question = question(random);
    let words = words(&question);
    let directory = tempfile::tempdir().expect("a directory for results");
    let measured = |name, flags: &[String]| {
        let file = directory.path().join(name);
        measure(&words, flags, &file);
        read(&file).expect("a result")
    };
    let first = measured("first", &[]);
    // In a check all rows have the same trials.
    let [one, other] =
        ["one", "other"].map(|name| measured(name, &[format!("--trials={CHECKED}")]));
    let chosen = advise(&first, &question, |_| true).choice;
    let checks = [&one, &other].map(|check| advise(check, &question, |_| true));
    let (found, answer) = match &chosen {
        _ if checks.iter().all(|check| check.choice.is_none()) => {
            (format!("{}, then twice nothing", name(&chosen)), Answer::Unmet)
        }
        Some(chosen) => regret(&question, chosen, &checks),
        None => {
            let [one, other] = checks.each_ref().map(|check| name(&check.choice));
            (format!("nothing, then {one} and {other}"), Answer::Missed)
        }
    };
    println!("  {}: {found}", words.join(" "));
    answer
}

/// The regret of the choice against the best rows of the checks, and a sentence about it.
fn regret(question: &AdviceQuestion, chosen: &Candidate, checks: &[Advice; 2]) -> (String, Answer) {
    let own = &chosen.row.case.identity.transport;
    let figure = |row: &Candidate, check: &Advice| {
        let mut met = check.choice.iter().chain(&check.others);
        let again = met.find(|other| other.row.case.identity == row.row.case.identity);
        again.map(|again| question.aim(again)).filter(|figure| figure.is_finite())
    };
    let behind = |best: &Option<Candidate>, check: &Advice| {
        let best = figure(best.as_ref()?, check)?;
        Some(figure(chosen, check)? / best - 1.0)
    };
    let ways = [(0, 1), (1, 0)].map(|(a, b)| behind(&checks[a].choice, &checks[b]));
    let known: Vec<f64> = ways.into_iter().flatten().collect();
    if known.is_empty() {
        let met = checks.each_ref().map(|check| name(&check.choice));
        let found = format!(
            "{own} no longer meets the conditions, or has no figure; {} and {} do",
            met[0], met[1]
        );
        return (found, Answer::Chosen(f64::INFINITY));
    }
    let regret = known.iter().sum::<f64>() / known.len() as f64;
    let [one, other] = checks.each_ref().map(|check| name(&check.choice));
    let found = format!("{own}, the best are {one} and {other}: {:.1} %", regret * 100.0);
    (found, Answer::Chosen(regret))
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
    let mut words = vec![format!("--size={}", question.payload)];
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
fn measure(words: &[String], flags: &[String], to: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipcmark"));
    command.arg("advise").args(["-t", TRANSPORTS]).args(words).args(flags).arg("-o").arg(to);
    let output = command.output().expect("the command starts");
    // Possibly nothing meets the conditions: the result is written all the same.
    assert!(to.exists(), "{}", String::from_utf8_lossy(&output.stderr));
}
