//! The background pairs of a row: sessions of the same transport that run the same traffic during the row's turn.

use std::time::Duration;

use ipcmark_machine::placement::Placement;

use super::{
    plan::PlannedSession,
    request::Slot,
    row_reports::RowReports,
    session::{Session, SessionError},
    sessions::Sessions,
};
use crate::{
    registry::AnyTransport,
    wire::{Opening, Pass, Reply, Request},
};

/// The background pairs of the measured one.
#[derive(Default)]
pub(super) struct Background<'a>(Vec<BackgroundPair<'a>>);

/// One background pair.
struct BackgroundPair<'a> {
    session: Session<'a>,
    /// The opening of its endpoints, and their replies.
    open: Option<(Opening, Vec<Reply>)>,
}

impl<'a> Background<'a> {
    /// Starts a session for each of these placements.
    pub(super) fn start(
        sessions: &Sessions<'a>,
        planned: &PlannedSession,
        placements: &[Placement],
    ) -> Result<Self, SessionError> {
        let start = |(at, placement): (usize, &Placement)| {
            let session = sessions.start(planned, placement).map_err(|error| named(at, error))?;
            Ok(BackgroundPair { session, open: None })
        };
        placements.iter().enumerate().map(start).collect::<Result<_, _>>().map(Self)
    }

    /// True if all processes are present, as far as is known.
    pub(super) fn is_whole(&self) -> bool {
        self.0.iter().all(|pair| pair.session.is_whole())
    }

    /// Opens the endpoints of all pairs and warms them up.
    pub(super) fn open(
        &mut self,
        sessions: &Sessions<'a>,
        planned: &PlannedSession,
        slot: Slot,
        pass: &Pass,
    ) -> Result<(), SessionError> {
        let n_sends = sessions.sends_to_each(planned, slot.pattern);
        let mut number = 0;
        self.of_each(|pair| {
            number += 1;
            let opening = sessions.opening(planned.wait, planned.options.clone(), slot, n_sends)?;
            let request = Request::Open(opening.clone());
            // Kept before the request: after a failure, the leftovers are removed by its number.
            let (_, opened) = pair.open.insert((opening, Vec::new()));
            *opened = pair.session.ask("opening", &request, Duration::ZERO)?;
            pair.session.begin(&pass.of_pair(number)).map(drop)
        })
    }

    /// Makes all pairs run beside the turn of this number; returns once they do.
    pub(super) fn run(&mut self, number: u32) -> Result<(), SessionError> {
        self.of_each(|pair| pair.session.run_in_background(number))
    }

    /// Stops all pairs at once, and waits until they have stopped.
    pub(super) fn stop(&mut self, expected: Duration) -> Result<(), SessionError> {
        self.0.iter_mut().for_each(|pair| pair.session.end_background());
        self.of_each(|pair| pair.session.await_background(expected).map(drop))
    }

    /// Closes the endpoints of all pairs; returns their reports.
    pub(super) fn close(
        &mut self,
        sessions: &Sessions<'a>,
    ) -> Result<Vec<RowReports>, SessionError> {
        let mut reports = Vec::new();
        self.of_each(|pair| {
            let measured = pair.session.finish()?;
            let look = "looking at what carried the messages";
            let seen = pair.session.ask(look, &Request::Look, Duration::ZERO)?;
            pair.session.ask("closing", &Request::Close, Duration::ZERO)?;
            if let Some((opening, opened)) = pair.open.take() {
                sessions.close(&opening);
                reports.push(RowReports {
                    opened,
                    measured,
                    seen,
                    wake_ups: None,
                    others: Vec::new(),
                });
            }
            Ok(())
        })?;
        Ok(reports)
    }

    /// Ends all pairs and removes their leftovers.
    pub(super) fn clean_up(self, sessions: &Sessions<'a>, transport: Option<&dyn AnyTransport>) {
        for BackgroundPair { session, open } in self.0 {
            match open {
                Some((opening, _)) => sessions.clean_up(session, transport, &opening),
                None => drop(session),
            }
        }
    }

    /// Does this with one pair after the other; an error names the pair.
    fn of_each(
        &mut self,
        mut does: impl FnMut(&mut BackgroundPair<'a>) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let mut pairs = self.0.iter_mut().enumerate();
        pairs.try_for_each(|(at, pair)| does(pair).map_err(|error| named(at, error)))
    }
}

/// The same failure, with the number of its pair: the measured pair is number 1.
fn named(at: usize, error: SessionError) -> SessionError {
    match error {
        SessionError::Failed(reason) => {
            SessionError::Failed(format!("pair {} beside it: {reason}", at + 2))
        }
        other => other,
    }
}
