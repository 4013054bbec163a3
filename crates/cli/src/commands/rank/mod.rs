//! `ipcmark rank`: the same command on every rank of an existing launcher. The first rank leads, the others
//! follow.

mod all_pairs;
mod arguments;
mod launcher;
mod rank_host;
mod rendezvous;
mod rounds;
mod star;
mod status;

use std::{
    env,
    path::{self, PathBuf},
};

use clap::Args;
use ipcmark_machine::{pin, topology};
use ipcmark_transport::Pattern;

use self::{arguments::RankArguments, launcher::JobRank};
use crate::{
    arguments::plan_file,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    interrupts::Interrupts,
    output,
};

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let mut arguments: RankArguments = plan_file::arguments(invocation)?;
    let rank = JobRank::find(arguments.rank, arguments.ranks)?;
    // A pair has one follower; otherwise all ranks but the first follow.
    let followers = if arguments.all_pairs { 1 } else { rank.count - 1 };
    let run = &mut arguments.run;
    // In the pattern fan-in the followers are publishers.
    let publish = match run.patterns.as_deref() {
        Some(patterns) => patterns == [Pattern::FanIn],
        None => run.publishers > 1,
    };
    let (flag, asked) = match publish {
        true => ("publishers", &mut run.publishers),
        false => ("subscribers", &mut run.subscribers),
    };
    let given = std::mem::replace(asked, followers);
    if invocation.has(flag) && given != followers {
        return Err(refused_followers(flag, given, &arguments, &rank).into());
    }
    let directory = directory(&arguments, &rank)?;
    if !arguments.keep_binding {
        widen(&rank);
    }
    let interrupts = Interrupts::catch().map_err(|error| error.to_string())?;
    match rank.number {
        _ if arguments.all_pairs => all_pairs::run(&arguments, &rank, directory, &interrupts),
        0 => star::lead(&arguments, &rank, directory, &interrupts),
        _ => star::follow(&arguments, &rank, directory, &interrupts),
    }
}

fn refused_followers(flag: &str, asked: u32, arguments: &RankArguments, rank: &JobRank) -> String {
    let followers = rank.count - 1;
    if arguments.all_pairs {
        return format!(
            "--all-pairs measures a leader and one follower at a time, not {asked}: leave --{flag} out"
        );
    }
    format!(
        "{} ranks are a leader and {followers} followers, not {asked}: leave --{flag} out",
        rank.count
    )
}

/// The rendezvous directory.
fn directory(arguments: &RankArguments, rank: &JobRank) -> Result<PathBuf, String> {
    if let Some(directory) = &arguments.rendezvous {
        return path::absolute(directory)
            .map_err(|e| format!("cannot use --rendezvous {}: {e}", directory.display()));
    }
    let job = rank.job.as_ref().ok_or(
        "the launcher does not identify the job: name a directory that all ranks see, and that does not exist yet, \
        with --rendezvous",
    )?;
    let here = env::current_dir().map_err(|e| format!("cannot find the current directory: {e}"))?;
    Ok(here.join(format!(".ipcmark-{job}")))
}

/// Widens this process's binding: the leader places both ends of a row on one host, and needs
/// processors to choose from.
fn widen(rank: &JobRank) {
    match pin::widen() {
        Ok(Some([before, after])) => output::say(format_args!(
            "rank {}: bound to cpu {} by the launcher, now to {}, because ipcmark places both ends; --keep-binding \
            keeps it",
            rank.number,
            topology::list(before),
            topology::list(after)
        )),
        Ok(None) => {}
        Err(error) => output::say(format_args!("rank {}: {error}", rank.number)),
    }
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "rank",
    summary: "Measure under a launcher: the same command on every rank, of which the first leads",
    guide: Guide {
        about: "Rank 0 leads and shows the result, the others follow; with more than two it is fan-out, or with \
        --all-pairs \
                a map of the round trips between all hosts. The rank comes from Open MPI, MPICH, Slurm, PMIx or \
                Kubernetes, or from --rank and --ranks.",
        examples: &[
            ("mpirun -n 2 ipcmark rank -t os -s 64", "both on one host: everything of the system"),
            ("mpirun -n 2 --host a,b ipcmark rank -t tcp,udp -o result.json", "between two hosts"),
            ("srun -N 2 -n 2 ipcmark rank -t tcp -s 64,4k", ""),
            (
                "mpiexec.hydra -n 4 ipcmark rank -t tcp --rendezvous here",
                "a leader and three followers",
            ),
            (
                "srun -N 8 -n 8 ipcmark rank --all-pairs -t tcp -s 64 -o result.json",
                "between each two of eight hosts",
            ),
        ],
        exit: "of every rank: 0 everything requested was measured; 1 something requested failed or is not available; \
        2 the command line is wrong, or a rank did not come; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["leader", "follower", "run"],
    },
    flags: RankArguments::augment_args,
    run,
};
