//! `ipcmark leader`: the end of a run by hand that measures.

use clap::Args;

use crate::{
    arguments::{by_hand::LeaderPlace, plan_file, run::RunArguments},
    by_hand,
    definition::{Definition, Invocation, Outcome},
};

/// A leader: where it is found, and what it measures.
#[derive(Args)]
#[command(args_override_self = true)]
struct LeaderArguments {
    #[command(flatten)]
    place: LeaderPlace,

    #[command(flatten)]
    run: RunArguments,
}

fn run(invocation: &Invocation<'_>) -> Outcome {
    let arguments: LeaderArguments = plan_file::arguments(invocation)?;
    by_hand::lead(&arguments.place, &arguments.run)
}

pub(super) const DEFINITION: Definition = Definition {
    name: "leader",
    summary: "Measure by hand: as run, with followers in other terminals, containers, users or hosts",
    flags: LeaderArguments::augment_args,
    run,
};
