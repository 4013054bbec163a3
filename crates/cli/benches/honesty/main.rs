//! The precision of the figures on this machine: idle, and with a busy loop on one of its processors.
//!
//! - spread: trials of one row, raw and at the reference distance;
//! - ties: the share of pairs of rows of one mechanism that share a rank;
//! - verdicts: the share of false verdicts when rows are compared with themselves, and the share of slowdowns found
//!   when every second time is made longer by that much;
//! - sleeping: the differences that pairs of blocks show where the ends sleep.
//!
//! Run it with `make honesty`, on a machine that does nothing else; one or several of them with
//! `make honesty SECTIONS="spread verdicts"`. docs/methodology.md quotes the output.

mod comparisons;
mod hog;
mod runs;

use std::process::ExitCode;

use ipcmark_engine::KEEPER_COMMAND;

use runs::Runs;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(KEEPER_COMMAND) {
        ipcmark_engine::keep(&runs::registry());
    }
    // `cargo test --benches` only checks that it builds.
    if !std::env::args().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_known = |word: &&String| EXPERIMENTS.iter().any(|(name, _)| name == word);
    if let Some(word) = words.iter().find(|word| !is_known(word)) {
        eprintln!(
            "honesty: there is no experiment {word}; there are: {}",
            EXPERIMENTS.map(|(name, _)| name).join(", ")
        );
        return ExitCode::FAILURE;
    }
    let runs = Runs::new();
    println!("idle");
    all(&runs, &words);
    println!("\nbeside a busy loop on one processor");
    let _hog = hog::Hog::start();
    all(&runs, &words);
    ExitCode::SUCCESS
}

type Experiment = fn(&Runs);

/// The experiments by their names.
const EXPERIMENTS: [(&str, Experiment); 4] = [
    ("spread", comparisons::spread),
    ("ties", comparisons::ties),
    ("verdicts", comparisons::verdicts),
    ("sleeping", comparisons::sleeping),
];

/// Runs the experiments of these names; no names are all.
fn all(runs: &Runs, names: &[String]) {
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|word| word == name);
    EXPERIMENTS.iter().filter(|(name, _)| is_wanted(name)).for_each(|(_, run)| run(runs));
}
