//! How far the figures can be trusted on this machine: idle, and beside a busy loop on one of its processors.
//!
//! - spread: trials of one row, as they were and at the reference distance;
//! - ties: how often rows of one mechanism share a rank;
//! - verdicts: false ones among comparisons of rows with themselves, and slow-downs that are found where every second
//!   time is made longer by that much;
//! - sleeping: what pairs of blocks tell apart where the ends sleep.
//!
//! Run it with `make honesty`, on a machine that does nothing else. What it prints stands in docs/methodology.md.

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
    // `cargo test --benches` only wants to know that it builds.
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
