//! The text of a plan, up to the plan of the run.

use crate::target::Target;

fn run(data: &[u8]) {
    ipcmark_cli::fuzzing::plan(&String::from_utf8_lossy(data));
}

pub const TARGET: Target = Target { name: "plan", run };
