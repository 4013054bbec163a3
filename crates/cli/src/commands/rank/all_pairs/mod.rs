//! `--all-pairs`: every pair of ranks is measured, in rounds that rank 0 assigns.

mod gathered;
mod halt;
mod heartbeat;
mod leader;
mod member;
mod pair;

use std::{
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use self::{halt::Halt, heartbeat::Heartbeat, pair::PairContext};
use super::{
    arguments::RankArguments,
    launcher::JobRank,
    rank_host::RankHost,
    rendezvous::RankRendezvous,
    status::{EXIT_TIMEOUT, end_job, here},
};
use crate::{
    definition::CommandOutcome, interrupts::Interrupts, measurement::refuse_by_hand, registry,
};

/// Takes part in the rounds.
pub(super) fn run(
    arguments: &RankArguments,
    rank: &JobRank,
    directory: PathBuf,
    interrupts: &Interrupts,
) -> CommandOutcome {
    refuse_by_hand(&arguments.run)?;
    if arguments.run.live {
        return Err("--live draws one run, and --all-pairs is several".to_owned().into());
    }
    let transports = registry::look(&arguments.run.module, &arguments.run.named())?;
    // Every rank rejects invalid options itself, before it waits for another.
    pair::request(arguments, &transports)?;
    let halt = Halt::new().map_err(|e| format!("cannot make a pipe: {e}"))?;
    let is_halted = || halt.is_set() || interrupts.signal().is_some();
    let time_limit = arguments.meet_within;
    let rendezvous = match rank.number {
        0 => RankRendezvous::open(directory, time_limit, &is_halted)?,
        _ => RankRendezvous::join(directory, time_limit, &is_halted)?,
    };
    let work =
        PairContext { rendezvous: &rendezvous, arguments, transports: &transports, halt: &halt };
    let heartbeat = Heartbeat {
        rendezvous: &rendezvous,
        rank: rank.number,
        time_limit,
        halt: &halt,
        interrupts,
        watched: OnceLock::new(),
        is_over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let begun = heartbeat.begin();
        scope.spawn(|| heartbeat.run());
        let outcome = begun.map_err(Into::into).and_then(|()| match rank.number {
            0 => leader::lead(&work, rank, &heartbeat),
            _ => {
                rendezvous.put(&here(rank.number), &RankHost::here().line())?;
                Ok(member::serve(&work, rank, &heartbeat))
            }
        });
        let gone = leader::gone(&halt);
        heartbeat.is_over.store(true, Ordering::Relaxed);
        if rank.number == 0 {
            // The others must be able to read the status even if the job was halted.
            end_job(&rendezvous.apart(EXIT_TIMEOUT, &|| false), rank.count, &outcome, &gone);
        }
        outcome
    })
}
