//! A run: trial after trial, each with every row of the plan once.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet, VecDeque},
    os::unix::net::UnixStream,
};

use ipcmark_machine::{
    clock,
    placement::{self, Pinning, Placement},
    remarks::remarks,
};
use ipcmark_results::{Identity, Load, RunResult};
use ipcmark_transport::{Error, RunId, Wait};

use super::{
    environment,
    options::RunOptions,
    pace::{Pace, Spent},
    plan::Plan,
    record::RowRecorder,
    request::{Slot, Trials},
    round::Round,
    schedule::{self, Schedule},
    session::SessionError,
    sessions::Sessions,
};
use crate::{
    registry::Registry,
    wire::{ClockReport, Length},
};

/// Receives the progress of a run.
pub trait Observer {
    /// The machine is known; nothing has been measured yet.
    fn begun(&mut self, result: &RunResult);
    /// The current measurement, and the progress of the run, from 0 to 1.
    fn progress(&mut self, what: &str, done: f64);
    /// One or more rows have been recorded in `result`. An error ends the run.
    fn recorded(&mut self, result: &RunResult) -> Result<(), Error>;
    /// All rows have had their trials: the rows that get further ones, because they decide what the user wants to know.
    /// Only asked in a run with a final.
    fn finalists(&mut self, _result: &RunResult) -> Vec<Identity> {
        Vec::new()
    }
}

/// Runs a plan. `interrupt` becomes readable when the user wants to stop; the result is then marked as incomplete.
pub fn run(
    registry: &Registry,
    plan: &Plan,
    options: &RunOptions,
    interrupt: &UnixStream,
    observer: &mut dyn Observer,
) -> Result<RunResult, Error> {
    let placements = match &options.followers {
        Some(followers) if followers.is_remote() => {
            vec![vec![placement::choose_alone(&options.pinning, plan.subscribers)?]]
        }
        _ => placement::choose_in_turn(&options.pinning, plan.subscribers, plan.pairs)?,
    };
    let sessions = sessions(registry, plan, options, interrupt);
    let recorder = RowRecorder::new(plan, &sessions);
    let mut runner = Runner { plan, placements, sessions, recorder };
    let ended = runner.run(observer);
    runner.sessions.clean_up_after(plan);
    match ended {
        Ok(()) => runner.recorder.result.complete = true,
        Err(RunEnd::Interrupted) => {}
        Err(RunEnd::Broken(error)) => return Err(error),
    }
    runner.recorder.add_time(Spent::default());
    Ok(runner.recorder.finish(options.distance))
}

/// The result of a run in which every row fails for this reason, before anything is known of the machine.
pub fn unmeasured(
    registry: &Registry,
    plan: &Plan,
    options: &RunOptions,
    interrupt: &UnixStream,
    reason: &str,
) -> RunResult {
    RowRecorder::new(plan, &sessions(registry, plan, options, interrupt)).all_failed(reason)
}

fn sessions<'a>(
    registry: &'a Registry,
    plan: &Plan,
    options: &'a RunOptions,
    interrupt: &'a UnixStream,
) -> Sessions<'a> {
    Sessions {
        registry,
        options,
        interrupt,
        id: random_id(),
        subscribers: plan.subscribers,
        sandbox: options.sandbox && options.followers.is_none(),
        directory: None,
        opened: Cell::new(0),
    }
}

/// The most additional trials of rows with too few blocks at the reference distance.
const MOST_TRIALS_AGAIN: u32 = 8;

/// The note on rows that spin where processes share a processor.
const SPINNERS_WAIT: &str = "A process that spins waits for the end of the other's time slice where they share a \
    processor: rows that spin measure the scheduler there, not the transport.";

/// The reason why a run ends before its plan does.
enum RunEnd {
    Interrupted,
    Broken(Error),
}

impl From<Error> for RunEnd {
    fn from(error: Error) -> Self {
        RunEnd::Broken(error)
    }
}

impl From<SessionError> for RunEnd {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Interrupted => RunEnd::Interrupted,
            SessionError::Failed(reason) | SessionError::Refused(reason) => {
                let cause = Error::new("start", "a session", reason);
                RunEnd::Broken(cause.remedy("without two processes nothing can be measured"))
            }
        }
    }
}

struct Runner<'a> {
    plan: &'a Plan,
    /// For trials in turn, the placement of the measured pair, then of the background pairs.
    placements: Vec<Vec<Placement>>,
    sessions: Sessions<'a>,
    recorder: RowRecorder<'a>,
}

impl Runner<'_> {
    fn run(&mut self, observer: &mut dyn Observer) -> Result<(), RunEnd> {
        self.sessions.make_directory()?;
        let clock = self.look_at_machine()?;
        self.recorder.result.clock = environment::clock(clock.read_ns, clock.step_ns);
        self.describe()?;
        observer.begun(&self.recorder.result);
        self.recorder.record_verdicts(&self.sessions);
        observer.recorded(&self.recorder.result)?;
        let mut pace = Pace::new(self.plan.trials, self.plan.length, self.plan.measurable())
            .each_times(self.placements.len() as u32);
        if self.plan.has_final {
            pace = pace.before_final();
        }
        let mut trial = self.plan.first_trial;
        while let Some(length) = pace.next().filter(|_| self.plan.measurable() > 0) {
            let spent = self.trial(trial, length, &pace, observer, &|_| true)?;
            pace.end_of_trial(spent);
            trial += 1;
            if self.is_precise(trial - 1, &pace) {
                break;
            }
        }
        if self.plan.has_final {
            trial = self.play_final(trial, &pace, observer)?;
        }
        self.measure_again(trial, &pace, observer)?;
        self.note_width();
        self.note_overrun(&pace);
        Ok(())
    }

    fn note_overrun(&mut self, pace: &Pace) {
        let Some((budget, taken)) = pace.overrun() else { return };
        let [budget, taken] = [budget, taken].map(|time| time.as_secs_f64().round());
        let (trials, rows) = (pace.fewest(), self.plan.measurable());
        let cause = match pace.made_the_fewest() {
            true => format!(
                "{trials} trials, the fewest that give an interval, of {rows} rows take that long. Ask for fewer rows, \
                 or for one trial with --trials 1"
            ),
            false => "trials took longer than those before had led to expect".into(),
        };
        self.recorder
            .result
            .notes
            .push(format!("The run took {taken} s of a budget of {budget} s: {cause}."));
    }

    /// Gives the finalists further trials, numbered from `first`: twice as many as all rows had, or as many as fit into
    /// the time kept for them. Returns the number of the next trial.
    fn play_final(
        &mut self,
        first: u32,
        before: &Pace,
        observer: &mut dyn Observer,
    ) -> Result<u32, RunEnd> {
        let so_far = self.recorder.clone().finish(self.sessions.options.distance);
        let finalists = self.recorder.rows_of(&observer.finalists(&so_far));
        let (mut pace, mut trial) = (before.of_final(finalists.len()), first);
        self.recorder.is_final = true;
        while let Some(length) = pace.next().filter(|_| !finalists.is_empty()) {
            let spent =
                self.trial(trial, length, &pace, observer, &|row| finalists.contains(&row))?;
            pace.end_of_trial(spent);
            trial += 1;
        }
        self.recorder.is_final = false;
        Ok(trial)
    }

    /// Measures rows with too few blocks at the distance at which rows are compared again, as long as the budget
    /// lasts. Each of them gets further trials, numbered from `first`.
    fn measure_again(
        &mut self,
        first: u32,
        pace: &Pace,
        observer: &mut dyn Observer,
    ) -> Result<(), RunEnd> {
        let mut repeated: BTreeMap<usize, u32> = BTreeMap::new();
        for trial in first..first + MOST_TRIALS_AGAIN {
            // Finding the rows copies the result, so this checks for time first.
            let Some((fitting, length)) = pace.again() else { break };
            let thin = self.recorder.thin(self.sessions.options.distance);
            let mut thin: Vec<usize> = thin.into_iter().collect();
            thin.sort_by_key(|row| repeated.get(row).copied().unwrap_or_default());
            thin.truncate(fitting);
            if thin.is_empty() {
                break;
            }
            for row in &thin {
                *repeated.entry(*row).or_default() += 1;
            }
            self.trial(trial, length, pace, observer, &|row| thin.contains(&row))?;
        }
        Ok(())
    }

    /// True if this many trials have made every interval as narrow as requested.
    fn is_precise(&self, trials: u32, pace: &Pace) -> bool {
        match self.plan.trials {
            Trials::Until { half_width, .. } => {
                trials >= pace.fewest() && self.wider_than(half_width) == 0
            }
            _ => false,
        }
    }

    fn wider_than(&self, half_width: f64) -> usize {
        self.recorder.wider_than(half_width, self.sessions.options.distance)
    }

    fn note_width(&mut self) {
        let Trials::Until { half_width, .. } = self.plan.trials else { return };
        let wide = self.wider_than(half_width);
        if wide > 0 {
            self.recorder.result.notes.push(format!(
                "{wide} of the rows did not reach ± {} % in the available time: increase it with --budget.",
                half_width * 100.0
            ));
        }
    }

    /// Starts a session, and thereby finds out if the system allows a sandbox.
    fn look_at_machine(&mut self) -> Result<ClockReport, RunEnd> {
        match self.look_at_clock() {
            Err(SessionError::Refused(reason)) => {
                self.sessions.sandbox = false;
                self.sessions.make_directory()?;
                self.recorder.result.notes.push(format!(
                    "No sandbox: {reason}. Names carry the run's id and are removed afterwards."
                ));
                Ok(self.look_at_clock()?)
            }
            clock => Ok(clock?),
        }
    }

    /// Tries twice: if a process is killed now, there is no row yet that could fail for it.
    fn look_at_clock(&self) -> Result<ClockReport, SessionError> {
        match self.sessions.look_at_clock(self.measured_pair()) {
            Err(SessionError::Failed(_)) => self.sessions.look_at_clock(self.measured_pair()),
            other => other,
        }
    }

    fn measured_pair(&self) -> &Placement {
        &self.placements[0][0]
    }

    fn describe(&mut self) -> Result<(), RunEnd> {
        let Sessions { options, sandbox, .. } = self.sessions;
        let sandbox = match (sandbox, options.sandbox) {
            (true, _) => "namespaces",
            (false, _) if options.followers.is_some() => "off: the followers are elsewhere",
            (false, true) => "off: refused by the system",
            (false, false) => "off: as asked for",
        };
        let spins = self.plan.sessions.iter().any(|session| session.wait != Wait::Block);
        let measured: Vec<&Placement> = self.placements.iter().map(|pairs| &pairs[0]).collect();
        let words: Vec<&str> = measured.iter().map(|placement| &placement.words[..]).collect();
        let result = &mut self.recorder.result;
        result.environment = environment::environment(measured[0], sandbox.into());
        result.environment.placement = words.join("; in turn with ");
        let warnings: BTreeSet<&String> =
            measured.iter().filter_map(|placement| placement.warning.as_ref()).collect();
        result.notes.extend(warnings.into_iter().cloned());
        if spins && measured.iter().any(|placement| placement.shares_processors()) {
            result.notes.push(SPINNERS_WAIT.into());
        }
        result.notes.extend(remarks());
        Ok(())
    }

    /// One trial: every selected row once, in rounds of sessions side by side.
    fn trial(
        &mut self,
        number: u32,
        length: Length,
        pace: &Pace,
        observer: &mut dyn Observer,
        among: &dyn Fn(usize) -> bool,
    ) -> Result<Spent, RunEnd> {
        let Self { plan, sessions, recorder, .. } = self;
        let turn = number.saturating_sub(1) as usize;
        let placements = &self.placements[turn % self.placements.len()];
        let placements = match turn / self.placements.len() % 2 {
            1 if alternates(sessions.options, plan.subscribers) => {
                placements.iter().map(Placement::swapped).collect()
            }
            _ => placements.clone(),
        };
        let mut schedule = Schedule::new(plan.seed, number);
        let width = schedule::width(plan);
        let wanted = |at: usize| {
            let rows = plan.rows.iter().enumerate().filter(|(_, row)| row.session == at);
            rows.into_iter().any(|(row, _)| among(row) && recorder.wants(row))
        };
        let alone = |at: usize| sessions.runs_alone(&plan.sessions[at]) || recorder.is_restless(at);
        let mut rounds = VecDeque::from(schedule.rounds(plan, width, wanted, alone));
        let (mut done, mut spent) = (0, Spent::default());
        while let Some(planned) = rounds.pop_front() {
            let mut round = Round::new(plan, sessions, &placements, &planned.sessions, number);
            let mut left = BTreeSet::new();
            for (at, slot) in planned.slots.iter().enumerate() {
                let what = words(sessions, plan, &planned.sessions, *slot);
                observer.progress(&what, pace.progress(done));
                let stays = |row: usize| !left.contains(&plan.rows[row].session);
                let wants = |row: usize| among(row) && recorder.wants(row) && stays(row);
                let outcome = round.measure(*slot, length, &mut schedule, wants)?;
                done += outcome.rows.len();
                recorder.record(number, outcome, sessions, &placements);
                observer.recorded(&recorder.result)?;
                let leaves = |at| recorder.is_restless(at) && left.insert(at);
                rounds.extend(planned.apart(at + 1, leaves));
            }
            let of_round = round.end();
            recorder.add_time(of_round);
            spent.add(of_round);
        }
        Ok(spent)
    }
}

/// True if the leader's processor alternates from trial to trial: if the user leaves the choice for all endpoints to this
/// command. With several followers an exchange would change how near they are to the leader.
fn alternates(options: &RunOptions, subscribers: u32) -> bool {
    let is_free = match options.pinning {
        Pinning::Auto => true,
        Pinning::Near(_) | Pinning::EachLevel => subscribers == 1,
        Pinning::Cpus(_) | Pinning::Off => false,
    };
    is_free && options.followers.is_none()
}

/// The current measurement: `pipe block, 64 B, touch all`, or the number of rows side by side.
fn words(sessions: &Sessions<'_>, plan: &Plan, planned: &[usize], slot: Slot) -> String {
    let Slot { payload, touch, load, .. } = slot;
    let wait = plan.sessions[planned[0]].wait;
    let what = match planned {
        [one] => sessions.registry[plan.sessions[*one].transport].definition().name.to_string(),
        several => format!("{} rows side by side,", several.len()),
    };
    let load = if load == Load::Closed { String::new() } else { format!(" {load}") };
    format!("{what} {wait} {payload} B touch {touch}{load}")
}

/// A random id, so that no two runs share one.
fn random_id() -> RunId {
    let mut bytes = [0; 4];
    // SAFETY: the buffer is valid for its length. If the system has no random numbers, the process id and the time
    // are used instead.
    let read = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    let number = match read == bytes.len() as isize {
        true => u32::from_ne_bytes(bytes),
        false => std::process::id().rotate_left(16) ^ clock::now_ns() as u32,
    };
    RunId::new(number)
}
