//! `iceperf-follower`: iceperf's other end, which is a follower by hand. It prints on standard error what
//! it serves, as iceperf's follower does.

use std::{cell::RefCell, collections::BTreeSet};

use clap::Args;
use ipcmark_report::iceperf_banner;

use crate::{
    arguments::by_hand::FollowerArguments,
    by_hand,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    output,
};

/// iceperf's follower.
#[derive(Args)]
struct IceperfFollower {
    #[command(flatten)]
    follower: FollowerArguments,
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let line: IceperfFollower = invocation.arguments()?;
    let known = RefCell::new(BTreeSet::new());
    by_hand::follow_and_report(&line.follower, &|transport| {
        if known.borrow_mut().insert(transport.to_owned()) {
            let banner = iceperf_banner(transport);
            output::announce(&format!("{banner}\nregistering with the leader\n"));
        }
    })
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "iceperf-follower",
    summary: "iceperf's follower in another terminal",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark iceperf-follower", ""),
            ("ipcmark iceperf-follower --socket /run/user/1000/measured.sock", ""),
        ],
        exit: "0 a leader was served; 1 no session was, or it failed; 2 the command line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["iceperf-leader"],
    },
    flags: IceperfFollower::augment_args,
    run,
};
