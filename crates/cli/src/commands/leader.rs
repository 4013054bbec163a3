//! `ipcmark leader`: the measuring end of a run by hand.

use clap::Args;

use crate::{
    arguments::{by_hand::LeaderLocation, plan_file, run::RunArguments},
    by_hand,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
};

/// A leader: its address and the run.
#[derive(Args)]
#[command(args_override_self = true)]
struct LeaderArguments {
    #[command(flatten)]
    place: LeaderLocation,

    #[command(flatten)]
    run: RunArguments,
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: LeaderArguments = plan_file::arguments(invocation)?;
    by_hand::lead(&arguments.place, &arguments.run)
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "leader",
    summary: "Measure by hand: as run, with followers in other terminals, containers, users or hosts",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark leader -t tcp -s 64", "waits for 'ipcmark follower' of this user"),
            ("ipcmark leader -t os --socket /srv/measure.sock --allow-user robot", ""),
            (
                "ipcmark leader -t tcp --listen 10.0.0.1:7411 --secret key",
                "for followers on other hosts",
            ),
        ],
        exit: "0 everything requested was measured; 1 something requested failed or is not available; 2 the command \
        line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["follower", "run"],
    },
    flags: LeaderArguments::augment_args,
    run,
};
