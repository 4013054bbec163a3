//! The wake-ups of receivers that sleep: each row has a short pass of its own for them, because watching makes a message
//! slower, and a row's figures must not contain that.

use std::time::Duration;

use ipcmark_results::Load;
use ipcmark_transport::{Error, Pattern, Wait};

use super::{OpenRow, Round, SlotOutcome};
use crate::{
    command::{
        receiver::{self, KnownWakeUps},
        request::Slot,
        session::SessionError,
        turns::Turns,
    },
    wire::{Counting, Length, Pass},
};

/// The time for which a receiver is watched.
const WATCHED: Duration = Duration::from_millis(50);

impl Round<'_, '_> {
    /// Watches the receivers of the slot's rows, one after the other, once their turns are over and reported. A row whose
    /// session fails meanwhile has been measured.
    pub(super) fn watch_wake_ups(
        &mut self,
        slot: Slot,
        open: &mut Vec<OpenRow>,
        outcome: &mut SlotOutcome,
    ) -> Result<(), SessionError> {
        let counts = self.sessions.options.counting != Counting::Nothing;
        if slot.pattern != Pattern::OneWay || self.wait == Wait::Spin || counts {
            return Ok(());
        }
        for mut row in std::mem::take(open) {
            let reports = self.reports(row.member);
            let reports = self.settle(&row, reports)?;
            let Some(mut reports) = outcome.or_noted(row.row, reports) else { continue };
            let watched = self.watched(&row, slot);
            match self.settle(&row, watched)? {
                Ok(known) => {
                    reports.wake_ups = Some(known);
                    row.reports = Some(reports);
                    open.push(row);
                }
                Err(reason) => {
                    reports.wake_ups = Some(Err(reason));
                    reports.opened = row.opened;
                    outcome.rows.extend(row.row.map(|row| (row, Ok(reports))));
                }
            }
        }
        Ok(())
    }

    /// The wake-ups of a row's receiver in a pass of their own.
    fn watched(&mut self, row: &OpenRow, slot: Slot) -> Result<KnownWakeUps, SessionError> {
        if self.plan.pairs > 1 {
            return Ok(Err("other pairs run beside the measured one".into()));
        }
        // Each block also has five or six messages of the harness, and of a load that pauses few others.
        if slot.load != Load::Closed {
            return Ok(Err(
                "messages come at their times, and most wake-ups would be the harness's".into(),
            ));
        }
        // Turns as long as those of the row: in one of 50 ms, round trips of sleeping ends took half as long again.
        let turn = self.turn(slot.pattern);
        let length = Length::Time(WATCHED);
        let mut turns = Turns::of(length, row.turns.round_trip_ns, turn, slot.load);
        let (count, messages) = (turns.count, turns.messages(slot.load));
        let pass = Pass { is_thorough: false, ..self.pass(slot, length) };
        let placement = &self.placements[0];
        let session = self.session(row.member)?;
        let mut wake_ups = match receiver::watch(session, placement, messages) {
            Ok(wake_ups) => wake_ups,
            Err(error) => return Ok(Err(error.to_string())),
        };
        session.begin(&pass)?;
        let mut known = Ok(ipcmark_results::new_histogram());
        for time in 0..count {
            let Some((limit, expected)) = turns.next(time, count) else { continue };
            wake_ups.start();
            session.turn(limit, expected)?;
            record(&mut known, wake_ups.stop());
        }
        session.finish()?;
        Ok(known)
    }
}

/// Adds the wake-ups of a turn, unless those of another are unknown.
fn record(known: &mut KnownWakeUps, times: Result<Vec<u64>, Error>) {
    match (known.as_mut(), times) {
        (Ok(histogram), Ok(times)) => {
            times.into_iter().for_each(|ns| histogram.saturating_record(ns));
        }
        (Ok(_), Err(error)) => *known = Err(error.to_string()),
        (Err(_), _) => {}
    }
}
