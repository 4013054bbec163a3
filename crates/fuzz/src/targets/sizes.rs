//! The value of `--sizes`, and the content of a file of sizes.

use crate::target::Target;

fn run(data: &[u8]) {
    ipcmark_cli::fuzzing::sizes(&String::from_utf8_lossy(data));
}

pub const TARGET: Target = Target { name: "sizes", run };
