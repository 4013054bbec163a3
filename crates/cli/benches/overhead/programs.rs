//! Bare programs for the modules: a library's calls without ipcmark.

use std::{path::PathBuf, process::Command};

use ipcmark_transport::Wait;

/// The directory into which `make overhead` builds them.
const DIRECTORY_VARIABLE: &str = "IPCMARK_BARE_DIR";

/// The bare program of a transport, if it was built.
pub(crate) fn program(transport: &str) -> Option<PathBuf> {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY_VARIABLE)?);
    Some(directory.join(format!("bare-{transport}"))).filter(|program| program.exists())
}

/// The median round trip of a bare program, in ns, on the same two processors as ours.
pub(crate) fn round_trip_p50_ns(
    program: &PathBuf,
    wait: Wait,
    payload: usize,
    round_trips: u64,
    cpus: (u32, u32),
) -> f64 {
    let numbers = [payload as u64, round_trips, u64::from(cpus.0), u64::from(cpus.1)];
    let mut command = Command::new(program);
    command.arg(wait.to_string()).args(numbers.map(|number| number.to_string()));
    let output = command.output().expect("a bare program runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", program.display());
    let text = String::from_utf8(output.stdout).expect("a bare program prints a number");
    text.trim().parse().expect("a bare program prints its median")
}
