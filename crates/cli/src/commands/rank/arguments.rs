//! Flags of `ipcmark rank`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use crate::arguments::{run::RunArguments, values};

/// The options of a leader, and those for the rendezvous of the ranks.
#[derive(Args)]
#[command(args_override_self = true)]
pub(super) struct RankArguments {
    /// Measure between each two ranks, one pair after another, instead of from rank 0 to all others: pairs on other
    /// machines at the same time, those on one machine one by one. Transports that cross hosts only
    #[arg(long)]
    pub all_pairs: bool,

    /// Directory in which the ranks meet: all must see it, and rank 0 makes it [default: .ipcmark-JOB in the
    /// current directory]
    #[arg(long, value_name = "DIR")]
    pub rendezvous: Option<PathBuf>,

    /// Name or address at which other hosts reach this one, where it leads: rank 0, with --all-pairs all but the last
    /// [default: the host's name]
    #[arg(long, value_name = "HOST")]
    pub address: Option<String>,

    /// Time that the ranks wait for each other
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "60s")]
    pub meet_within: Duration,

    /// This rank, from 0 [default: from the launcher]
    #[arg(long, value_name = "N")]
    pub rank: Option<u32>,

    /// The number of ranks [default: from the launcher]
    #[arg(long, value_name = "N")]
    pub ranks: Option<u32>,

    /// Keep to the processors that the launcher has chosen for each rank
    #[arg(long)]
    pub keep_binding: bool,

    #[command(flatten)]
    pub run: RunArguments,
}
