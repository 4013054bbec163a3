//! `ipcmark follower`: the other end of a run by hand.

use clap::Args;

use crate::{
    arguments::by_hand::FollowerArguments,
    by_hand,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
};

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    by_hand::follow(&invocation.arguments()?)
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "follower",
    summary: "The other end of a run by hand; the leader sends it everything it needs",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark follower", "serves the leader of this user, or of root"),
            ("ipcmark follower --socket /srv/measure.sock", ""),
            ("ipcmark follower --connect 10.0.0.1:7411 --secret key", "a leader on another host"),
        ],
        exit: "0 a leader was served to its end; 1 none was, or its session failed; 2 the command line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["leader"],
    },
    flags: FollowerArguments::augment_args,
    run,
};
