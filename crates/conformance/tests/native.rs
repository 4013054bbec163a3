//! The conformance suite for every transport of the operating system.

use std::process::ExitCode;

fn main() -> ExitCode {
    ipcmark_conformance::main(ipcmark_native::transports)
}
