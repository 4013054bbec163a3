//! `ipcmark`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ipcmark_cli::main()
}
