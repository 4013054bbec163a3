//! The quality of advice: random questions, each answered by `ipcmark advise` as a user would ask it. Then all rows are
//! measured twice more, and the choice is compared with the best row that meets the conditions.
//!
//! The best row of a run is partly luck: its figure in that run is too good. So the best row of one check is taken for
//! the truth, and both figures come from the other check; the regret is the mean of both ways.
//!
//! Run it with `make regret`, on a machine that does nothing else; it takes about half an hour. The questions follow
//! from a seed, which is printed and can be set, as their number: `SEED=7 QUESTIONS=5 make regret`.

use std::{path::Path, process::Command};

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use ipcmark_results::{Advice, AdviceQuestion, Arrivals, Candidate, Load, Pattern, advise, read};

/// The candidates: one of each kind of mechanism, so that even slow rates have their full length in a minute.
const TRANSPORTS: &str = "pipe,uds-stream,tcp,posix-mq,eventfd,shm-ring,shm-slot,shm-futex";

/// The trials of all rows in a check.
const CHECKED: u32 = 4;

/// The largest acceptable regret: the choice may be this much behind the best row.
const GOAL: f64 = 0.1;

fn main() {
    // `cargo test --benches` only checks that it builds.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let number =
        |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (seed, questions) = (number("SEED", 1), number("QUESTIONS", 20));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    println!(
        "{questions} random questions of seed {seed}; the regret is what the choice takes or costs more than the best"
    );
    let answers: Vec<Answer> = (0..questions).map(|_| answered(&mut random)).collect();
    let regrets: Vec<f64> = answers.iter().filter_map(Answer::regret).collect();
    let good = regrets.iter().filter(|regret| **regret <= GOAL).count();
    let counted = |answer| answers.iter().filter(|other| **other == answer).count();
    println!(
        "{good} of {} choices are within 10 % of the best; nothing was chosen although a row met the conditions in both \
         checks: {}; no row met them in both: {}",
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
    /// No row was chosen, although one met the conditions in both checks.
    Missed,
    /// No row met the conditions in both checks: the machine decides from one moment to the next.
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
    let [one, other] = &checks;
    let bests = [best(one, other), best(other, one)];
    let names = bests.map(name);
    let seen = format!("{}, the best are {} and {}", name(chosen.as_ref()), names[0], names[1]);
    let (found, answer) = match (&chosen, bests) {
        (Some(chosen), [Some(first), Some(second)]) => {
            match regret(&question, chosen, [(first, other), (second, one)]) {
                Some(regret) => {
                    (format!("{seen}: {:.1} %", regret * 100.0), Answer::Chosen(regret))
                }
                None => {
                    let found = format!("{seen}; it meets the conditions no more");
                    (found, Answer::Chosen(f64::INFINITY))
                }
            }
        }
        (None, [Some(_), Some(_)]) => (seen, Answer::Missed),
        _ => {
            let sentence = "no row meets the conditions in both checks";
            (format!("{}; {sentence}", name(chosen.as_ref())), Answer::Unmet)
        }
    };
    println!("  {}: {found}", words.join(" "));
    answer
}

/// The best row of a check, of those that meet the conditions in the other check too.
fn best<'c, 'a>(check: &'c Advice<'a>, other: &Advice) -> Option<&'c Candidate<'a>> {
    met(check).find(|candidate| again(candidate, other).is_some())
}

/// The same row in a check, if it meets the conditions there.
fn again<'c, 'a>(row: &Candidate, check: &'c Advice<'a>) -> Option<&'c Candidate<'a>> {
    met(check).find(|candidate| candidate.row.case.identity == row.row.case.identity)
}

/// The rows of a check that meet the conditions, the best first.
fn met<'c, 'a>(check: &'c Advice<'a>) -> impl Iterator<Item = &'c Candidate<'a>> {
    check.choice.iter().chain(&check.others)
}

/// The regret of the choice: the mean of how far it is behind the best row of each check in the other one. None if it
/// meets the conditions in neither.
fn regret(
    question: &AdviceQuestion,
    chosen: &Candidate,
    ways: [(&Candidate, &Advice); 2],
) -> Option<f64> {
    let ways = ways.map(|(best, check)| behind(question, chosen, best, check));
    let known: Vec<f64> = ways.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// How far the choice is behind the best row of one check, by their figures in the other.
fn behind(
    question: &AdviceQuestion,
    chosen: &Candidate,
    best: &Candidate,
    check: &Advice,
) -> Option<f64> {
    let figure = |row| Some(question.aim(again(row, check)?)).filter(|figure| figure.is_finite());
    Some(figure(chosen)? / figure(best)? - 1.0)
}

fn name(candidate: Option<&Candidate>) -> String {
    candidate.map_or("nothing".into(), |candidate| candidate.row.case.identity.transport.clone())
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
