//! A round: sessions that are open side by side and take turns. Every statement about two of its rows is one
//! about pairs of neighbouring turns, and a bad moment of the machine meets all of them alike.

use std::time::{Duration, Instant};

use ipcmark_machine::{
    conditions::{self, Snapshot},
    placement::Placement,
};
use ipcmark_results::{Conditions, Load, Touch};
use ipcmark_transport::{Pattern, Wait};

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
    wire::{Length, Opening, Pass, Reply, Request},
};

/// How long a turn is, where a round trip is much shorter.
const TURN: Duration = Duration::from_millis(5);

/// How long a turn of a stream is: a block with what stands around it.
const STREAM_TURN: Duration = Duration::from_millis(10);

/// So many times as long is a turn beside other pairs: to start and to stop these takes as long as a turn alone.
const BESIDE_OTHERS: u32 = 4;

/// The number of the turn of the other pairs beside the warm-up: none of the measured turns has it.
const WARM_UP: u32 = u32::MAX;

/// What the other pairs are in the middle of when the one that is measured has warmed up.
const FIRST_BLOCKS: Duration = Duration::from_secs(1);

/// What became of one row in one trial: what its workers reported, or why it failed.
pub(crate) type RowOutcome = (usize, Result<RowReports, String>);

/// What one slot of a round brought.
pub(crate) struct SlotOutcome {
    pub wait: Wait,
    pub rows: Vec<RowOutcome>,
    /// What the reference reported that took its turns among the rows.
    pub reference: Option<RowReports>,
    /// What the machine took from it.
    pub conditions: Conditions,
}

impl SlotOutcome {
    fn of(wait: Wait) -> Self {
        Self { wait, rows: Vec::new(), reference: None, conditions: Conditions::default() }
    }
}

/// What the machine took from the processors of the ends.
fn conditions(found: &conditions::Conditions, placement: &Placement) -> Conditions {
    Conditions {
        elapsed_ns: found.elapsed_ns,
        stolen_share: found.stolen_share(&placement.cpus().collect::<Vec<u32>>()),
        throttled_ns: found.throttling.as_ref().map(|throttling| throttling.stopped_ns),
        canary_shift: found.canary_shift(),
    }
}

/// Sessions side by side.
pub(crate) struct Round<'r, 'a> {
    plan: &'r Plan,
    sessions: &'r Sessions<'a>,
    /// Of the pair that is measured, then of those beside it.
    placements: &'r [Placement],
    wait: Wait,
    members: Vec<Member<'a>>,
    spent: Spent,
}

/// One session of the round; it starts when it is needed first, and anew after a failure.
struct Member<'a> {
    /// Which of the plan's sessions; none for the reference.
    planned: Option<usize>,
    session: Option<Session<'a>>,
    /// The pairs beside it; nobody where it is measured alone.
    background: Background<'a>,
}

/// A row whose ends are open and warmed up.
struct OpenRow {
    /// Which of the plan's rows; none for the reference.
    row: Option<usize>,
    member: usize,
    opening: Opening,
    opened: Vec<Reply>,
    turns: Turns,
}

impl<'r, 'a> Round<'r, 'a> {
    /// Of these sessions of the plan, which wait alike, with their reference where there is one.
    pub(crate) fn new(
        plan: &'r Plan,
        sessions: &'r Sessions<'a>,
        placements: &'r [Placement],
        planned: &[usize],
    ) -> Self {
        let wait = planned.first().map_or(Wait::Spin, |first| plan.sessions[*first].wait);
        let members = planned.iter().copied().map(Some).chain([None]);
        let background = Background::default;
        let member = |planned| Member { planned, session: None, background: background() };
        let (members, spent) = (members.map(member).collect(), Spent::default());
        Self { plan, sessions, placements, wait, members, spent }
    }

    /// Measures the rows of a slot that `wants` lets through: opens them all, lets them take turns, closes them.
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
        let (opened, earlier) = (Instant::now(), Snapshot::now(&[]));
        self.take_turns(&mut open, schedule, &mut outcome)?;
        outcome.conditions = conditions(&Snapshot::now(&[]).since(&earlier), &self.placements[0]);
        let turns = opened.elapsed();
        for open in open {
            let reports = self.close(&open);
            let reports = self.settle(&open, reports)?;
            if reports.is_ok() {
                self.sessions.close(&open.opening);
            }
            let reports = reports.map(|reports| RowReports { opened: open.opened, ..reports });
            match open.row {
                Some(row) => outcome.rows.push((row, reports)),
                None => outcome.reference = reports.ok(),
            }
        }
        self.spent.turns += turns;
        self.spent.setup += begun.elapsed() - turns;
        Ok(outcome)
    }

    /// Ends its sessions; what all its slots took.
    pub(crate) fn end(self) -> Spent {
        let (begun, mut spent) = (Instant::now(), self.spent);
        drop(self.members);
        spent.setup += begun.elapsed();
        spent
    }

    fn open_all(
        &mut self,
        slot: Slot,
        length: Length,
        wants: impl Fn(usize) -> bool,
        outcome: &mut SlotOutcome,
    ) -> Result<Vec<OpenRow>, SessionError> {
        let mut open = Vec::new();
        for member in 0..self.members.len() {
            let row = match self.members[member].planned {
                Some(planned) => self.plan.row(planned, slot).filter(|row| wants(*row)),
                None => None,
            };
            let is_reference = self.members[member].planned.is_none();
            if row.is_none() && !(is_reference && self.has_reference(slot) && !open.is_empty()) {
                continue;
            }
            match (self.open(member, row, slot, length), row) {
                (Ok(one), _) => open.push(one),
                (Err(error), Some(row)) => outcome.rows.push((row, Err(reason(error)?))),
                // Without its reference a row has no multiple of it.
                (Err(error), None) => drop(reason(error)?),
            }
        }
        Ok(open)
    }

    /// Whether there is something bare that a row of this slot can be divided by. The floor is probed anyway: what
    /// spins needs another one only where it touches more than the head.
    fn has_reference(&self, slot: Slot) -> bool {
        let fits = match self.wait {
            Wait::Spin => slot.touch == Touch::All,
            Wait::Block => true,
            Wait::Hybrid => false,
        };
        let makes_round_trips = matches!(slot.pattern, Pattern::Latency | Pattern::FanOut);
        let is_alike = slot.load == Load::Closed && makes_round_trips;
        // The reference has one pair alone.
        let is_pair = self.plan.subscribers == 1 && self.plan.pairs == 1;
        fits && is_alike && is_pair && self.sessions.options.followers.is_none()
    }

    fn open(
        &mut self,
        at: usize,
        row: Option<usize>,
        slot: Slot,
        length: Length,
    ) -> Result<OpenRow, SessionError> {
        let member = &mut self.members[at];
        let planned = member.planned.map(|planned| &self.plan.sessions[planned]);
        let is_whole = member.session.as_ref().is_some_and(|session| session.is_whole());
        if !is_whole || !member.background.is_whole() {
            let (placement, others) = (&self.placements[0], &self.placements[1..]);
            (member.session, member.background) = (None, Background::default());
            let session = match planned {
                Some(planned) => self.sessions.start(planned, placement)?,
                None => self.sessions.start_reference(placement)?,
            };
            if let Some(planned) = planned {
                member.background = Background::start(self.sessions, planned, others)?;
            }
            // Only now: without its pairs it is not to be used for the next slot.
            member.session = Some(session);
        }
        let options = planned.map(|planned| planned.options.clone()).unwrap_or_default();
        let n_sends =
            planned.is_some_and(|planned| self.sessions.sends_to_each(planned, slot.pattern));
        let opening = self.sessions.opening(self.wait, options, slot, n_sends)?;
        let mut open =
            OpenRow { row, member: at, opening, opened: Vec::new(), turns: Turns::default() };
        let warmed_up = self.open_ends(&mut open, slot, length);
        match self.settle(&open, warmed_up)? {
            Ok(round_trip_ns) => {
                open.turns = match self.sessions.options.counts_calls {
                    true => Turns::one(length, round_trip_ns),
                    false => Turns::of(length, round_trip_ns, self.turn(slot.pattern), slot.load),
                };
                Ok(open)
            }
            Err(reason) => Err(SessionError::Failed(reason)),
        }
    }

    fn open_ends(
        &mut self,
        open: &mut OpenRow,
        slot: Slot,
        length: Length,
    ) -> Result<f64, SessionError> {
        let session = self.session(open.member)?;
        let request = Request::Open(open.opening.clone());
        open.opened = session.ask("opening", &request, Duration::ZERO)?;
        let pass = self.pass(slot, length);
        self.open_background(open.member, slot, &pass)?;
        // What a round trip takes beside the others is what its turns are planned by.
        self.beside_others(open.member, WARM_UP, FIRST_BLOCKS, |session| session.begin(&pass))
    }

    /// How long a turn is, where a round trip is much shorter.
    fn turn(&self, pattern: Pattern) -> Duration {
        let alone = if pattern.is_stream() { STREAM_TURN } else { TURN };
        if self.plan.pairs > 1 { alone * BESIDE_OTHERS } else { alone }
    }

    fn pass(&self, slot: Slot, length: Length) -> Pass {
        Pass {
            pattern: slot.pattern,
            payload: slot.payload,
            touch: slot.touch,
            warm_up: length.warm_up(),
            seed: self.plan.seed,
            silent: self.plan.silent,
            load: slot.load,
            trace: self.plan.trace.clone(),
        }
    }

    fn open_background(
        &mut self,
        member: usize,
        slot: Slot,
        pass: &Pass,
    ) -> Result<(), SessionError> {
        let Member { planned, background, .. } = &mut self.members[member];
        let Some(planned) = planned.map(|planned| &self.plan.sessions[planned]) else {
            return Ok(());
        };
        background.open(self.sessions, planned, slot, pass)
    }

    /// Has a session do something while the other pairs of its row run; these stop within the time of some blocks.
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

    /// Gives every row its turns, in an order of its own each time round.
    fn take_turns(
        &mut self,
        open: &mut Vec<OpenRow>,
        schedule: &mut Schedule,
        outcome: &mut SlotOutcome,
    ) -> Result<(), SessionError> {
        let times = open.iter().map(|row| row.turns.count).max().unwrap_or(0);
        for time in 0..times {
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

    fn close(&mut self, open: &OpenRow) -> Result<RowReports, SessionError> {
        let session = self.session(open.member)?;
        let measured = session.finish()?;
        let look = "looking at what carried the messages";
        let seen = session.ask(look, &Request::Look, Duration::ZERO)?;
        session.ask("closing", &Request::Close, Duration::ZERO)?;
        let others = self.members[open.member].background.close(self.sessions)?;
        Ok(RowReports { opened: Vec::new(), measured, seen, others })
    }

    /// The outcome of something asked of a row's session; one that failed is ended and cleared up.
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
                    self.sessions.clear_up(session, transport, &open.opening);
                }
                background.clear_up(self.sessions, transport);
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

/// The reason of a failure; an interrupt stays one.
fn reason(error: SessionError) -> Result<String, SessionError> {
    match error {
        SessionError::Failed(reason) | SessionError::Refused(reason) => Ok(reason),
        SessionError::Interrupted => Err(SessionError::Interrupted),
    }
}
