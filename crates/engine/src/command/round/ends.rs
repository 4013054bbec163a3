//! Opens and closes the endpoints of a round's rows: several at once, because libraries spend much of that time
//! waiting.

use std::{collections::VecDeque, time::Duration};

use ipcmark_results::{Load, Touch};
use ipcmark_transport::{Pattern, Wait};

use super::{OpenRow, Round, RoundSession, SlotOutcome, reason};
use crate::{
    command::{
        background::Background,
        request::Slot,
        row_reports::RowReports,
        session::{Session, SessionError},
        turns::Turns,
    },
    wire::{Counting, Length, Pass, Request},
};

/// The length of a turn, if a round trip is much shorter.
const TURN: Duration = Duration::from_millis(5);

/// The length of a stream's turn: a block with the overhead around it.
const STREAM_TURN: Duration = Duration::from_millis(10);

/// The factor by which a turn beside other pairs is longer: to start and stop the pairs takes as long as a turn
/// alone.
const BESIDE_OTHERS: u32 = 4;

/// The number of the background pairs' turn beside the warm-up: no measured turn has it.
const WARM_UP: u32 = u32::MAX;

/// The time of the blocks that the background pairs may still have to finish when the measured pair has warmed up, if
/// their messages are not far apart.
const FIRST_BLOCKS: Duration = Duration::from_secs(1);

/// The number of sessions that open or close their endpoints at once. Their work on the processors is still
/// sequential, and each endpoint must find its peer within the session's timeout.
const AT_ONCE: usize = 8;

impl<'a> Round<'_, 'a> {
    /// Opens the rows of a slot that `wants` selects, with their reference, and warms them up one after the other.
    pub(super) fn open_all(
        &mut self,
        slot: Slot,
        length: Length,
        wants: impl Fn(usize) -> bool,
        outcome: &mut SlotOutcome,
    ) -> Result<Vec<OpenRow>, SessionError> {
        let (mut asked, mut opened) = (VecDeque::new(), Vec::new());
        for (member, row) in self.rows(slot, wants) {
            if asked.len() == AT_ONCE
                && let Some(open) = asked.pop_front()
            {
                opened.extend(self.answer_to_open(open, outcome)?);
            }
            match self.ask_to_open(member, Some(row), slot) {
                Ok(open) => asked.push_back(open),
                Err(error) => outcome.rows.push((row, Err(reason(error)?))),
            }
        }
        for open in asked {
            opened.extend(self.answer_to_open(open, outcome)?);
        }
        let mut open = Vec::new();
        for row in opened {
            open.extend(self.warm_up(row, slot, length, outcome)?);
        }
        // Without rows, the reference is not needed.
        if !open.is_empty()
            && self.has_reference(slot)
            && let Some(reference) = self.open_reference(slot, outcome)?
        {
            open.extend(self.warm_up(reference, slot, length, outcome)?);
        }
        Ok(open)
    }

    /// Its members with a row to measure, and these rows.
    fn rows(&self, slot: Slot, wants: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
        let members = self.members.iter().enumerate();
        let row = |planned: Option<usize>| self.plan.row(planned?, slot).filter(|row| wants(*row));
        members.filter_map(|(at, member)| Some((at, row(member.planned)?))).collect()
    }

    /// Opens the reference of the rows. If that fails, they have no multiple of it.
    fn open_reference(
        &mut self,
        slot: Slot,
        outcome: &mut SlotOutcome,
    ) -> Result<Option<OpenRow>, SessionError> {
        let reference = self.members.iter().position(|member| member.planned.is_none());
        let Some(at) = reference else { return Ok(None) };
        match self.ask_to_open(at, None, slot) {
            Ok(open) => self.answer_to_open(open, outcome),
            Err(error) => reason(error).map(|_| None),
        }
    }

    /// True if the rows of this slot have a reference. The floor is probed anyway: a row that spins needs another
    /// reference only if it touches more than the head.
    fn has_reference(&self, slot: Slot) -> bool {
        let fits = match self.wait {
            Wait::Spin => slot.touch == Touch::All,
            Wait::Block => true,
            Wait::Hybrid => false,
        };
        let makes_round_trips = matches!(slot.pattern, Pattern::Latency | Pattern::FanOut);
        let is_alike = slot.load == Load::Closed && makes_round_trips;
        // The reference has only one pair.
        let is_pair = self.plan.subscribers == 1 && self.plan.pairs == 1;
        fits && is_alike && is_pair && self.sessions.options.followers.is_none()
    }

    /// Starts a member's session if there is none, and asks it to open.
    fn ask_to_open(
        &mut self,
        at: usize,
        row: Option<usize>,
        slot: Slot,
    ) -> Result<OpenRow, SessionError> {
        self.start(at)?;
        let planned = self.members[at].planned.map(|planned| &self.plan.sessions[planned]);
        let options = planned.map(|planned| planned.options.clone()).unwrap_or_default();
        let n_sends =
            planned.is_some_and(|planned| self.sessions.sends_to_each(planned, slot.pattern));
        let opening = self.sessions.opening(self.wait, options, slot, n_sends)?;
        self.session(at)?.request("opening", &Request::Open(opening.clone()));
        let (opened, turns) = (Vec::new(), Turns::default());
        Ok(OpenRow { row, member: at, opening, opened, turns, reports: None })
    }

    fn start(&mut self, at: usize) -> Result<(), SessionError> {
        let member = &mut self.members[at];
        let is_whole = member.session.as_ref().is_some_and(|session| session.is_whole());
        if is_whole && member.background.is_whole() {
            return Ok(());
        }
        let planned = member.planned.map(|planned| &self.plan.sessions[planned]);
        let (placement, others) = (&self.placements[0], &self.placements[1..]);
        (member.session, member.background) = (None, Background::default());
        let session = match planned {
            Some(planned) => self.sessions.start(planned, placement)?,
            None => self.sessions.start_reference(placement)?,
        };
        if let Some(planned) = planned {
            member.background = Background::start(self.sessions, planned, others)?;
        }
        // Only now: without its background pairs it must not be used for the next slot.
        member.session = Some(session);
        Ok(())
    }

    /// Waits until a row has opened; none if it failed.
    fn answer_to_open(
        &mut self,
        mut open: OpenRow,
        outcome: &mut SlotOutcome,
    ) -> Result<Option<OpenRow>, SessionError> {
        let answers = self.session(open.member).and_then(Session::answers);
        let answers = self.settle(&open, answers)?;
        Ok(outcome.or_noted(open.row, answers).map(|answers| {
            open.opened = answers;
            open
        }))
    }

    /// Makes an opened row verify and warm up, beside the background pairs if there are any; none if it failed.
    fn warm_up(
        &mut self,
        mut open: OpenRow,
        slot: Slot,
        length: Length,
        outcome: &mut SlotOutcome,
    ) -> Result<Option<OpenRow>, SessionError> {
        let pass = self.pass(slot, length);
        // The turns are planned by the time of a round trip beside the other pairs.
        let gap = Duration::from_nanos(slot.load.gap_ns().unwrap_or(0.0) as u64);
        let warmed_up = self.open_background(open.member, slot, &pass).and_then(|()| {
            let blocks = FIRST_BLOCKS + gap;
            self.beside_others(open.member, WARM_UP, blocks, |session| session.begin(&pass))
        });
        let warmed_up = self.settle(&open, warmed_up)?;
        let Some(round_trip_ns) = outcome.or_noted(open.row, warmed_up) else { return Ok(None) };
        open.turns = match self.sessions.options.counting {
            Counting::Nothing => {
                Turns::of(length, round_trip_ns, self.turn(slot.pattern), slot.load)
            }
            Counting::Calls | Counting::Cycles => Turns::one(length, round_trip_ns),
        };
        Ok(Some(open))
    }

    /// The length of a turn, if a round trip is much shorter.
    pub(super) fn turn(&self, pattern: Pattern) -> Duration {
        let alone = if pattern.is_stream() { STREAM_TURN } else { TURN };
        if self.plan.pairs > 1 { alone * BESIDE_OTHERS } else { alone }
    }

    pub(super) fn pass(&self, slot: Slot, length: Length) -> Pass {
        Pass {
            pattern: slot.pattern,
            payload: slot.payload,
            touch: slot.touch,
            warm_up: length.warm_up(),
            seed: self.plan.seed,
            trial: self.trial,
            pair: 0,
            silent: self.plan.silent,
            load: slot.load,
            is_thorough: self.trial == self.plan.first_trial,
            trace: self.plan.trace.clone(),
        }
    }

    fn open_background(
        &mut self,
        member: usize,
        slot: Slot,
        pass: &Pass,
    ) -> Result<(), SessionError> {
        let RoundSession { planned, background, .. } = &mut self.members[member];
        let Some(planned) = planned.map(|planned| &self.plan.sessions[planned]) else {
            return Ok(());
        };
        background.open(self.sessions, planned, slot, pass)
    }

    /// Ends the turns of the rows and closes their endpoints.
    pub(super) fn close_all(
        &mut self,
        open: Vec<OpenRow>,
        outcome: &mut SlotOutcome,
    ) -> Result<(), SessionError> {
        let mut asked = VecDeque::new();
        for mut open in open {
            if asked.len() == AT_ONCE
                && let Some((open, reports)) = asked.pop_front()
            {
                self.answer_to_close(open, reports, outcome)?;
            }
            let reports = self.ask_to_close(&mut open);
            let reports = self.settle(&open, reports)?;
            let reports = outcome.or_noted(open.row, reports);
            asked.extend(reports.map(|reports| (open, reports)));
        }
        asked
            .into_iter()
            .try_for_each(|(open, reports)| self.answer_to_close(open, reports, outcome))
    }

    /// Takes the reports of a row, and asks it to close.
    fn ask_to_close(&mut self, open: &mut OpenRow) -> Result<RowReports, SessionError> {
        let reports = match open.reports.take() {
            Some(reports) => reports,
            None => self.reports(open.member)?,
        };
        self.session(open.member)?.request("closing", &Request::Close);
        Ok(reports)
    }

    /// Ends the turns of a row and takes its reports.
    pub(super) fn reports(&mut self, member: usize) -> Result<RowReports, SessionError> {
        let session = self.session(member)?;
        let measured = session.finish()?;
        let look = "looking at what carried the messages";
        let seen = session.ask(look, &Request::Look, Duration::ZERO)?;
        Ok(RowReports { opened: Vec::new(), measured, seen, wake_ups: None, others: Vec::new() })
    }

    /// Waits until a row has closed; its reports and those of the background pairs go into the outcome.
    fn answer_to_close(
        &mut self,
        open: OpenRow,
        reports: RowReports,
        outcome: &mut SlotOutcome,
    ) -> Result<(), SessionError> {
        let closed = self.session(open.member).and_then(Session::answers);
        let others = closed.and_then(|_| self.members[open.member].background.close(self.sessions));
        let others = self.settle(&open, others)?;
        let Some(others) = outcome.or_noted(open.row, others) else { return Ok(()) };
        self.sessions.close(&open.opening);
        let reports = RowReports { opened: open.opened, others, ..reports };
        match open.row {
            Some(row) => outcome.rows.push((row, Ok(reports))),
            None => outcome.reference = Some(reports),
        }
        Ok(())
    }
}
