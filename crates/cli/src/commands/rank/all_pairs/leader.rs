//! Rank 0: it assigns the rounds, takes part in them, and joins the results of the pairs.

use std::{process::ExitCode, time::Duration};

use ipcmark_engine::Plan;
use ipcmark_results::RunResult;

use super::{
    super::{
        launcher::JobRank,
        rank_host::RankHost,
        rounds::slots,
        status::{EXIT_TIMEOUT, gather},
    },
    gathered::GatheredResults,
    halt::{Halt, HaltCause},
    heartbeat::{Heartbeat, STOP},
    pair::{PairContext, PairOrder},
};
use crate::{
    definition::CommandOutcome,
    measurement::{self, RunRequest, exports},
    output,
};

/// The interval at which rank 0 checks if the pairs of a round have ended.
const LOOK: Duration = Duration::from_millis(100);

/// Waits for the others, has all pairs measured, and shows the result.
pub(super) fn lead(
    work: &PairContext<'_>,
    rank: &JobRank,
    heartbeat: &Heartbeat<'_>,
) -> CommandOutcome {
    let (request, left) = work.request()?;
    let registry = &work.transports.registry;
    let plan = Plan::new(registry, &request.plan);
    let several = rank.count > 2 || measurement::has_several_rows(&plan);
    exports::check(&work.arguments.run, several)?;
    let Some(lines) = gather(work.rendezvous, rank.count)? else {
        return Ok(heartbeat.interrupts.exit_status());
    };
    let places: Vec<RankHost> = std::iter::once(RankHost::here())
        .chain(lines.iter().map(|line| RankHost::of_line(line)))
        .collect();
    let others = (1..).zip(&places[1..]).map(|(rank, place)| (rank, place.host.clone()));
    let _ = heartbeat.watched.set(others.collect());
    let planned = ipcmark_engine::unmeasured(
        registry,
        &plan,
        &request.options,
        &work.halt.readable,
        "it was not measured",
    );
    let hosts = places.iter().map(|place| place.host.clone()).collect();
    let mut gathered = GatheredResults::new(planned, hosts);
    measure(work, &places, &mut gathered);
    let mut result = gathered.finish(&reason(work.halt));
    result.notes.extend(left_out(&left));
    result.notes.extend(ended_early(work.halt));
    let status = conclude(work, &request, &result, heartbeat);
    Ok(work.transports.status(status))
}

/// Writes and shows the result. A rank that is gone is reported first.
fn conclude(
    work: &PairContext<'_>,
    request: &RunRequest,
    result: &RunResult,
    heartbeat: &Heartbeat<'_>,
) -> ExitCode {
    if let Some(HaltCause::Died(_, why)) = work.halt.cause() {
        output::say(format_args!("{why}; earlier results are kept"));
    }
    let (run, registry) = (&work.arguments.run, &work.transports.registry);
    measurement::conclude(run, &request.selection, registry, result, heartbeat.interrupts)
}

fn ended_early(halt: &Halt) -> Option<String> {
    let Some(HaltCause::Died(_, why)) = halt.cause() else { return None };
    Some(format!(
        "The job ended early: {why}. Rows that were being measured have fewer trials, or none."
    ))
}

/// The ranks that are not waited for at the end.
pub(super) fn gone(halt: &Halt) -> Vec<u32> {
    match halt.cause() {
        Some(HaltCause::Died(ranks, _)) => ranks.clone(),
        _ => Vec::new(),
    }
}

/// The reason why pairs were not measured.
fn reason(halt: &Halt) -> String {
    match halt.cause() {
        Some(HaltCause::Died(_, why)) => format!("the job has ended: {why}"),
        Some(HaltCause::Signal) => "the job has ended: the user interrupted".into(),
        _ => "the job has ended: rank 0 could not go on".into(),
    }
}

fn left_out(names: &[String]) -> Option<String> {
    let sentence = || {
        format!(
            "Left out, because they do not cross hosts, which --all-pairs requires: {}.",
            names.join(", ")
        )
    };
    (!names.is_empty()).then(sentence)
}

/// Has all pairs measured, unless the job ends early.
fn measure(work: &PairContext<'_>, places: &[RankHost], gathered: &mut GatheredResults) {
    let machines: Vec<&str> = places.iter().map(|place| place.machine.as_str()).collect();
    let order = |pair: (u32, u32)| {
        let [one, other] = [pair.0, pair.1].map(|rank| &places[rank as usize]);
        PairOrder { pair, is_beside: one.is_beside(other) }
    };
    for (number, slot) in slots(&machines).into_iter().enumerate() {
        let orders: Vec<PairOrder> = slot.into_iter().map(order).collect();
        let text: String = orders.iter().map(PairOrder::line).collect();
        if work.halt.is_set() || work.rendezvous.put(&self::slot(number), &text).is_err() {
            return;
        }
        measure_slot(work, &orders);
        for order in &orders {
            let (found, why) = work.found(order);
            // The end of the job is a symptom; the rank that died is the cause.
            let halted = work.halt.cause().map(|_| reason(work.halt));
            gathered.add(order.pair, found, halted.or(why).as_deref());
        }
        save(work, gathered);
    }
}

/// The file name for the orders of a slot.
pub(super) fn slot(number: usize) -> String {
    format!("slot-{number}")
}

/// Has the pairs of a slot measured, leads those of this rank, and waits until all their ends are
/// done.
fn measure_slot(work: &PairContext<'_>, orders: &[PairOrder]) {
    for order in orders.iter().filter(|order| order.pair.0 == 0) {
        if let Err(error) = work.lead(order) {
            output::say(error);
        }
    }
    let is_done = || {
        let done = |order: &PairOrder| {
            work.rendezvous.has(&order.led()) && work.rendezvous.has(&order.followed())
        };
        orders.iter().all(done).then_some(())
    };
    // Waits until they are done or a rank dies: the time that a pair takes is unknown.
    let forever = Duration::from_secs(u64::from(u32::MAX));
    if work.rendezvous.within(forever).until(LOOK, &is_done).is_ok() {
        return;
    }
    let _ = work.rendezvous.put(STOP, "");
    wait_for_last(work, orders);
}

/// Gives the live ranks time to store their results.
fn wait_for_last(work: &PairContext<'_>, orders: &[PairOrder]) {
    let dead = gone(work.halt);
    let ends =
        |order: &PairOrder| !dead.contains(&order.pair.0) && !work.rendezvous.has(&order.led());
    let began = std::time::Instant::now();
    while orders.iter().any(ends) && began.elapsed() < EXIT_TIMEOUT {
        std::thread::sleep(LOOK);
    }
}

/// Writes the result so far to the result file after every slot.
fn save(work: &PairContext<'_>, gathered: &GatheredResults) {
    let output = work.arguments.run.output.as_ref();
    if let Some(path) = output.filter(|path| !ipcmark_results::is_stream(path)) {
        // An error is reported at the end, when the whole result is written.
        let _ = ipcmark_results::write_atomically(path, &gathered.so_far());
    }
}
