//! Open loops: rows that hold their rate and rows that do not.

use crate::sample::{identity, measured, placed, run, trial};
use ipcmark_results::*;

/// A row of three trials, each of which sent this many of 1,000 messages, with this mean.
fn row(transport: &str, sent: u64, ns: u64) -> Case {
    let trials = (1..=3).map(|number| {
        let mut one = placed(trial(number, &[ns; 1_000]), ns as f64, 2.0 * ns as f64);
        one.offered = Some(Offered {
            intended: 1_000,
            sent,
            received: Some(sent),
            late: 1_000 - sent,
            elapsed_ns: 1_000_000_000,
            service_ns: one.times_ns.clone(),
            delay_ns: one.times_ns.clone(),
        });
        one
    });
    let load = Load::Rate { per_second: 1_000, arrivals: Arrivals::Fixed };
    Case { identity: Identity { load, ..identity(transport) }, outcome: measured(trials.collect()) }
}

fn is_told(row: &Row) -> bool {
    caveats(row).iter().any(|caveat| matches!(caveat, Caveat::NotHeld(_)))
}

/// Such a row once was the fastest: its messages that were not sent counted as answered when the measurement ended.
#[test]
fn a_row_that_does_not_hold_its_rate_has_no_rank() {
    let result = run(vec![row("overloaded", 980, 1_000), row("pipe", 1_000, 5_000)]);
    let [group] = &groups(&result)[..] else { panic!("they are comparable") };
    let [held, overloaded] = &group.rows[..] else { panic!("there are two") };
    assert_eq!(held.case.identity.transport, "pipe");
    assert!(held.rank.is_some() && held.not_held().is_none() && !is_told(held));
    assert!(held.floor_multiple().is_some() && held.reference_multiple().is_some());
    let rates = NotHeld { sent_per_second: 980.0, intended_per_second: 1_000.0 };
    assert_eq!(overloaded.not_held(), Some(rates));
    assert!(overloaded.rank.is_none() && is_told(overloaded));
    assert_eq!((overloaded.floor_multiple(), overloaded.reference_multiple()), (None, None));
    let found = best(&result);
    let name = |row: &Row| row.case.identity.transport.clone();
    assert_eq!(found[0].fastest.iter().map(name).collect::<Vec<_>>(), ["pipe"]);
    assert_eq!(found[0].cheapest.as_ref().map(name).as_deref(), Some("pipe"));
}

#[test]
fn a_rate_that_no_row_holds_has_no_fastest_row() {
    let result = run(vec![row("pipe", 400, 1_000), row("shm-ring", 600, 5_000)]);
    assert!(best(&result).is_empty());
    assert!(groups(&result)[0].rows.iter().all(|row| row.rank.is_none()));
}

#[test]
fn a_rate_is_held_if_99_of_100_messages_are_sent() {
    let is_held = |sent| Row::of(&row("pipe", sent, 1_000), None).unwrap().not_held().is_none();
    assert_eq!([1_000, 990, 989].map(is_held), [true, true, false]);
    let closed = Case { identity: identity("pipe"), ..row("pipe", 400, 1_000) };
    assert!(Row::of(&closed, None).unwrap().not_held().is_none(), "it has no rate to hold");
}
