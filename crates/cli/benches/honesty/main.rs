//! The precision of the figures on this machine: idle, and with a busy loop on one of its processors.
//!
//! - spread: trials of one row, raw and at the reference distance;
//! - ties: the share of pairs of rows of one mechanism that share a rank;
//! - verdicts: the share of false verdicts when rows are compared with themselves, and the share of slowdowns found
//!   when every second time is made longer by that much;
//! - sleeping: the differences that pairs of blocks show where the ends sleep.
//!
//! Run it with `make honesty`, on a machine that does nothing else. docs/methodology.md quotes the output.

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
    let runs = Runs::new();
    println!("idle");
    all(&runs);
    println!("\nbeside a busy loop on one processor");
    let _hog = hog::Hog::start();
    all(&runs);
    ExitCode::SUCCESS
}

fn all(runs: &Runs) {
    comparisons::spread(runs);
    comparisons::ties(runs);
    comparisons::verdicts(runs);
    comparisons::sleeping(runs);
}
