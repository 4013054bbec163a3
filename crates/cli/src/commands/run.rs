//! `ipcmark run`: measures.

use clap::Args;

use crate::{
    arguments::{plan_file, run::RunArguments},
    definition::{Definition, Invocation, Outcome},
    measurement,
};

fn run(invocation: &Invocation<'_>) -> Outcome {
    let arguments: RunArguments = plan_file::arguments(invocation)?;
    measurement::measure_here(&arguments)
}

pub(super) const DEFINITION: Definition = Definition {
    name: "run",
    summary: "Measure; without arguments, everything available, in two or three minutes",
    flags: RunArguments::augment_args,
    run,
};
