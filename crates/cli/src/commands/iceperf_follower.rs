//! `iceperf-follower`: iceperf's other end, which is a follower by hand.

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
    name: "iceperf-follower",
    summary: "iceperf's follower in another terminal",
    flags: FollowerArguments::augment_args,
    run,
};
