//! Bare programs for the modules: a library's calls without ipcmark.

use std::{path::PathBuf, process::Command};

use crate::blocks::{self, MeasuredBlock, Work};

/// The directory into which `make overhead` builds them.
const DIRECTORY_VARIABLE: &str = "IPCMARK_BARE_DIR";

/// The bare program of a transport, if it was built.
pub(crate) fn program(transport: &str) -> Option<PathBuf> {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY_VARIABLE)?);
    Some(directory.join(format!("bare-{transport}"))).filter(|program| program.exists())
}

/// Blocks of round trips of a bare program, on the same two processors as ours.
pub(crate) fn round_trips(
    program: &PathBuf,
    payload: usize,
    work: Work,
    cpus: (u32, u32),
) -> Vec<MeasuredBlock> {
    let file = blocks::file();
    let numbers = [payload as u64, work.round_trips, work.blocks as u64];
    let numbers = numbers.into_iter().chain([cpus.0, cpus.1].map(u64::from));
    let mut command = Command::new(program);
    command.arg(if work.spins { "spin" } else { "block" });
    command.args(numbers.map(|number| number.to_string())).arg(file.path());
    let output = command.output().expect("a bare program runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", program.display());
    String::from_utf8_lossy(&output.stdout).lines().map(block).collect()
}

/// The time of a block, the probes around it or `-`, and the leader's sleeps.
fn block(line: &str) -> MeasuredBlock {
    let words: Vec<_> = line.split_ascii_whitespace().collect();
    let [elapsed, before, after, sleeps] = words[..] else { panic!("a bare program says {line}") };
    let probe = |word: &str| word.parse().unwrap_or(0.0);
    MeasuredBlock {
        elapsed_ns: elapsed.parse().expect("a time"),
        before_ns: probe(before),
        after_ns: probe(after),
        sleeps: sleeps.parse().expect("a number of sleeps"),
    }
}
