//! `ipcmark follower`: the other end of a run by hand.

use clap::Args;

use crate::{
    arguments::by_hand::FollowerArguments,
    by_hand,
    definition::{Definition, Invocation, Outcome},
};

fn run(invocation: &Invocation<'_>) -> Outcome {
    by_hand::follow(&invocation.arguments()?)
}

pub(super) const DEFINITION: Definition = Definition {
    name: "follower",
    summary: "The other end of a run by hand; the leader sends it everything it needs",
    flags: FollowerArguments::augment_args,
    run,
};
