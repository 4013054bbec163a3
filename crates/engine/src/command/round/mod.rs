//! A round: sessions that are open side by side and take turns. Every comparison of two of its rows is based on
//! pairs of neighbouring turns, and a bad moment of the machine affects all of them alike.

mod ends;
mod hiccups;
mod wake_ups;

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use ipcmark_machine::{
    conditions::{self, Snapshot},
    placement::Placement,
};
use ipcmark_results::{Conditions, Hiccups};
use ipcmark_transport::Wait;

use super::{
    background::Background,
    pace::Spent,
    plan::Plan,
    request::Slot,
    row_reports::RowReports,
    schedule::Schedule,
    session::{Session, SessionError},
    sessions::Sessions,
    turns::Turns,
};
use crate::{
    registry::AnyTransport,
    wire::{Length, Opening, Reply},
};

/// The outcome of one row in one trial: its workers' reports, or the reason of its failure.
pub(crate) type RowOutcome = (usize, Result<RowReports, String>);

/// The outcome of one slot of a round.
pub(crate) struct SlotOutcome {
    pub wait: Wait,
    pub rows: Vec<RowOutcome>,
    /// The reports of the reference that took its turns among the rows.
    pub reference: Option<RowReports>,
    /// The disturbances by the machine.
    pub conditions: Conditions,
    /// The hiccups of the processors before the first turn.
    pub hiccups: Vec<Hiccups>,
}

impl SlotOutcome {
    fn of(wait: Wait) -> Self {
        let (rows, reference) = (Vec::new(), None);
        Self { wait, rows, reference, conditions: Conditions::default(), hiccups: Vec::new() }
    }

    /// The result for a row, or none after recording the reason of its failure. If the reference fails, the rows
    /// have no multiple of it.
    fn or_noted<T>(&mut self, row: Option<usize>, came: Result<T, String>) -> Option<T> {
        came.map_err(|reason| self.rows.extend(row.map(|row| (row, Err(reason))))).ok()
    }
}

/// The disturbances of the endpoints' processors by the machine.
fn conditions(found: &conditions::Conditions, cpus: &[u32]) -> Conditions {
    Conditions {
        elapsed_ns: found.elapsed_ns,
        stolen_share: found.stolen_share(cpus),
        throttled_ns: found.throttling.as_ref().map(|throttling| throttling.stopped_ns),
        canary_shift: found.canary_shift(),
    }
}

/// Sessions side by side.
pub(crate) struct Round<'r, 'a> {
    plan: &'r Plan,
    sessions: &'r Sessions<'a>,
    /// The placement of the measured pair, then of the background pairs.
    placements: &'r [Placement],
    wait: Wait,
    /// The number of the trial. Each row is verified at length in the first.
    trial: u32,
    members: Vec<RoundSession<'a>>,
    spent: Spent,
}

/// One session of the round; it starts when first needed, and again after a failure.
struct RoundSession<'a> {
    /// The index of the plan's session; none for the reference.
    planned: Option<usize>,
    session: Option<Session<'a>>,
    /// The background pairs; empty if it is measured alone.
    background: Background<'a>,
}

/// A row whose endpoints are open and warmed up.
struct OpenRow {
    /// The index of the plan's row; none for the reference.
    row: Option<usize>,
    member: usize,
    opening: Opening,
    opened: Vec<Reply>,
    turns: Turns,
    /// The reports, if they were taken before it closes.
    reports: Option<RowReports>,
}

impl<'r, 'a> Round<'r, 'a> {
    /// A round of trial `trial` with these sessions of the plan, which have the same wait, and with their reference
    /// if there is one.
    pub(crate) fn new(
        plan: &'r Plan,
        sessions: &'r Sessions<'a>,
        placements: &'r [Placement],
        planned: &[usize],
        trial: u32,
    ) -> Self {
        let wait = planned.first().map_or(Wait::Spin, |first| plan.sessions[*first].wait);
        let members = planned.iter().copied().map(Some).chain([None]);
        let background = Background::default;
        let member = |planned| RoundSession { planned, session: None, background: background() };
        let (members, spent) = (members.map(member).collect(), Spent::default());
        Self { plan, sessions, placements, wait, trial, members, spent }
    }

    /// Measures the rows of a slot that `wants` selects: opens them all, runs their turns, closes them.
    pub(crate) fn measure(
        &mut self,
        slot: Slot,
        length: Length,
        schedule: &mut Schedule,
        wants: impl Fn(usize) -> bool,
    ) -> Result<SlotOutcome, SessionError> {
        let begun = Instant::now();
        let mut outcome = SlotOutcome::of(self.wait);
        let mut open = self.open_all(slot, length, wants, &mut outcome)?;
        let cpus: Vec<u32> =
            self.placements[0].cpus().collect::<BTreeSet<u32>>().into_iter().collect();
        outcome.hiccups = hiccups::watch(&cpus, length);
        let (opened, earlier) = (Instant::now(), Snapshot::now(&[], &cpus));
        self.take_turns(&mut open, schedule, &mut outcome)?;
        outcome.conditions = conditions(&Snapshot::now(&[], &cpus).since(&earlier), &cpus);
        let turns = opened.elapsed();
        self.watch_wake_ups(slot, &mut open, &mut outcome)?;
        self.close_all(open, &mut outcome)?;
        self.spent.turns += turns;
        self.spent.setup += begun.elapsed() - turns;
        Ok(outcome)
    }

    /// Ends its sessions; returns the time of all its slots.
    pub(crate) fn end(self) -> Spent {
        let (begun, mut spent) = (Instant::now(), self.spent);
        drop(self.members);
        spent.setup += begun.elapsed();
        spent
    }

    /// Runs `does` on a session while the other pairs of its row run; these then stop within the time of some
    /// blocks.
    fn beside_others<T>(
        &mut self,
        member: usize,
        number: u32,
        blocks: Duration,
        does: impl FnOnce(&mut Session<'a>) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.members[member].background.run(number)?;
        let done = does(self.session(member)?)?;
        self.members[member].background.stop(blocks)?;
        Ok(done)
    }

    /// Gives every row its turns, in a new random order each time round.
    fn take_turns(
        &mut self,
        open: &mut Vec<OpenRow>,
        schedule: &mut Schedule,
        outcome: &mut SlotOutcome,
    ) -> Result<(), SessionError> {
        let times = open.iter().map(|row| row.turns.count).max().unwrap_or(0);
        for time in 0..times {
            // The reference alone is useless.
            if open.iter().all(|row| row.row.is_none()) {
                break;
            }
            let mut order: Vec<usize> = open.iter().map(|row| row.member).collect();
            schedule.shuffle(&mut order);
            for member in order {
                let Some(at) = open.iter().position(|row| row.member == member) else { continue };
                let Some((limit, expected)) = open[at].turns.next(time, times) else { continue };
                let turned = self.beside_others(member, limit.number, expected, |session| {
                    session.turn(limit, expected)
                });
                match self.settle(&open[at], turned)? {
                    Ok(round_trip_ns) => open[at].turns.round_trip_ns = round_trip_ns,
                    Err(reason) => {
                        let row = open.remove(at).row;
                        outcome.rows.extend(row.map(|row| (row, Err(reason))));
                    }
                }
            }
        }
        Ok(())
    }

    /// The outcome of a request to a row's session; a failed session is ended and its leftovers are removed.
    fn settle<T>(
        &mut self,
        open: &OpenRow,
        outcome: Result<T, SessionError>,
    ) -> Result<Result<T, String>, SessionError> {
        match outcome {
            Ok(done) => Ok(Ok(done)),
            Err(error) => {
                let reason = reason(error)?;
                let (transport, member) =
                    (self.transport(open.member), &mut self.members[open.member]);
                let background = std::mem::take(&mut member.background);
                if let Some(session) = member.session.take() {
                    self.sessions.clean_up(session, transport, &open.opening);
                }
                background.clean_up(self.sessions, transport);
                Ok(Err(reason))
            }
        }
    }

    fn transport(&self, member: usize) -> Option<&'a dyn AnyTransport> {
        let planned = &self.plan.sessions[self.members[member].planned?];
        Some(self.sessions.registry[planned.transport].as_ref())
    }

    fn session(&mut self, member: usize) -> Result<&mut Session<'a>, SessionError> {
        let session = self.members[member].session.as_mut();
        session.ok_or_else(|| SessionError::Failed("its session has ended".into()))
    }
}

/// The reason of a failure; an interrupt remains an error.
fn reason(error: SessionError) -> Result<String, SessionError> {
    match error {
        SessionError::Failed(reason) | SessionError::Refused(reason) => Ok(reason),
        SessionError::Interrupted => Err(SessionError::Interrupted),
    }
}
