//! A run: the floor first, then every session of the plan, case by case.

use std::{
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use ipcmark_results::{Case, Figures, Floor, Run, RunResult, SCHEMA, Status};
use ipcmark_transport::{Error, Role, RunId, Settings, Span};

use ipcmark_machine::{
    clock,
    placement::{self, Pinning, Placement},
};

use super::{
    carrier::CarrierEvidence,
    environment,
    figures::figures,
    followers::{FollowerSource, address},
    plan::{Plan, PlannedCase, PlannedSession},
    session::{Session, SessionError, SessionSpec},
};
use crate::{
    leftovers::{self, RunDirectory},
    registry::{AnyTransport, Registry},
    wire::{Budget, FloorReport, Pass, Reply, Request},
};

/// How a run measures its plan; the defaults measure in a sandbox, pinned, with 10 s of patience.
pub struct RunOptions {
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The version of the command, for the record.
    pub version: String,
    /// Where the workers run.
    pub pinning: Pinning,
    /// Whether to try namespaces.
    pub sandbox: bool,
    /// Files and directories that the transports' options name: a sandbox must not hide them.
    pub visible: Vec<PathBuf>,
    /// Where the followers come from, if this command does not start them.
    pub followers: Option<Box<dyn FollowerSource>>,
    /// How long a case may take beyond its expected length.
    pub timeout: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            version: String::new(),
            pinning: Pinning::Auto,
            sandbox: true,
            visible: Vec::new(),
            followers: None,
            timeout: Duration::from_secs(10),
        }
    }
}

/// Told how a run goes on.
pub trait Observer {
    /// The machine and the floor are known; nothing has been measured yet.
    fn begun(&mut self, result: &RunResult);
    /// A case begins.
    fn starting(&mut self, name: &str, session: &PlannedSession, case: &PlannedCase);
    /// A case has ended and is the last of `result`. An error ends the run.
    fn finished(&mut self, result: &RunResult) -> Result<(), Error>;
}

/// Runs a plan. `interrupt` becomes readable when the user wants to stop; the result then says that
/// it is incomplete.
pub fn run(
    registry: &Registry,
    plan: &Plan,
    options: &RunOptions,
    interrupt: &UnixStream,
    observer: &mut dyn Observer,
) -> Result<RunResult, Error> {
    let placement = match &options.followers {
        Some(followers) if followers.is_remote() => {
            placement::choose_alone(&options.pinning, plan.subscribers)?
        }
        _ => placement::choose(&options.pinning, plan.subscribers)?,
    };
    let mut runner = Runner {
        registry,
        plan,
        options,
        interrupt,
        placement,
        sandbox: options.sandbox && options.followers.is_none(),
        directory: None,
        id: random_id(),
        opened: 0,
        floors: Vec::new(),
        result: empty_result(plan, options),
    };
    match runner.run(observer) {
        Ok(()) => runner.result.complete = true,
        Err(End::Interrupted) => {}
        Err(End::Broken(error)) => return Err(error),
    }
    Ok(runner.result)
}

/// Why a run ends before its plan does.
enum End {
    Interrupted,
    Broken(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        End::Broken(error)
    }
}

struct Runner<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    options: &'a RunOptions,
    interrupt: &'a UnixStream,
    placement: Placement,
    /// Whether sessions get namespaces; false as soon as the system has refused them.
    sandbox: bool,
    /// Without a sandbox: where the names of this run lie.
    directory: Option<RunDirectory>,
    id: RunId,
    /// How many times ends were opened, for names that never repeat.
    opened: u64,
    /// Every floor measured, ascending.
    floors: Vec<f64>,
    result: RunResult,
}

impl<'a> Runner<'a> {
    fn run(&mut self, observer: &mut dyn Observer) -> Result<(), End> {
        self.result.run.id = self.id.to_string();
        self.measure_floor()?;
        self.describe()?;
        observer.begun(&self.result);
        let plan = self.plan;
        for session in &plan.sessions {
            self.run_session(session, observer)?;
        }
        Ok(())
    }

    /// Measures the floor, and finds out on the way whether the system allows a sandbox.
    fn measure_floor(&mut self) -> Result<(), End> {
        let floor = match self.floor() {
            Err(SessionError::Refused(reason)) => {
                self.sandbox = false;
                self.result.notes.push(format!(
                    "No sandbox: {reason}. Names carry the run's id and are removed afterwards."
                ));
                self.floor()
            }
            other => other,
        };
        match floor {
            Ok(floor) => {
                self.result.clock = environment::clock(floor.clock_read_ns, floor.clock_step_ns);
                self.note_floor(floor.round_trip_ns);
                Ok(())
            }
            Err(SessionError::Interrupted) => Err(End::Interrupted),
            Err(SessionError::Failed(reason) | SessionError::Refused(reason)) => {
                let cause = Error::new("measure", "the floor", reason);
                Err(End::Broken(cause.remedy("without two processes nothing can be measured")))
            }
        }
    }

    /// Tries twice: there is no row yet for a process that somebody kills.
    fn floor(&self) -> Result<FloorReport, SessionError> {
        let attempt = || floor(&mut self.start(None, Span::Process)?, self.is_apart());
        match attempt() {
            Err(SessionError::Failed(_)) => attempt(),
            other => other,
        }
    }

    fn start(&self, transport: Option<&str>, span: Span) -> Result<Session<'a>, SessionError> {
        let followers = match &self.options.followers {
            Some(source) => source
                .keepers(self.interrupt, self.options.timeout)?
                .ok_or(SessionError::Interrupted)?,
            None => Vec::new(),
        };
        let stage = SessionSpec {
            sandbox: self.sandbox,
            run: self.id,
            transport,
            visible: self.options.visible.clone(),
            placement: &self.placement,
            one_process: span == Span::Thread,
            followers,
        };
        Session::start(stage, self.options.timeout, self.interrupt)
    }

    /// Whether the ends are on different hosts.
    fn is_apart(&self) -> bool {
        self.options.followers.as_ref().is_some_and(|source| source.is_remote())
    }

    fn describe(&mut self) -> Result<(), End> {
        let sandbox = match (self.sandbox, self.options.sandbox) {
            (true, _) => "namespaces",
            (false, _) if self.options.followers.is_some() => "off: the followers are elsewhere",
            (false, true) => "off: refused by the system",
            (false, false) => "off: as asked for",
        };
        self.result.environment = environment::environment(&self.placement, sandbox.into());
        self.result.notes.extend(self.placement.warning.clone());
        if !self.sandbox {
            self.directory = Some(RunDirectory::create(&self.id.to_string())?);
        }
        Ok(())
    }

    /// The run's floor is the median of all that were measured; between hosts there is none.
    fn note_floor(&mut self, round_trip_ns: f64) {
        if round_trip_ns == 0.0 {
            return;
        }
        let at = self.floors.partition_point(|floor| *floor < round_trip_ns);
        self.floors.insert(at, round_trip_ns);
        let floors = &self.floors;
        self.result.floor = Some(Floor {
            round_trip_ns: floors[floors.len() / 2],
            lowest_ns: floors[0],
            highest_ns: floors[floors.len() - 1],
        });
    }

    /// Runs the cases of a session; after one that failed, the next begin with fresh processes.
    fn run_session(
        &mut self,
        planned: &PlannedSession,
        observer: &mut dyn Observer,
    ) -> Result<(), End> {
        let registry = self.registry;
        let candidate = registry[planned.transport].as_ref();
        let mut session = None;
        for case in &planned.cases {
            let entry = self.entry(candidate, planned, case);
            let entry = match &case.verdict {
                Some((status, reason)) => {
                    Case { status: *status, reason: Some(reason.clone()), ..entry }
                }
                None => {
                    observer.starting(&candidate.definition().name, planned, case);
                    let measured = self.run_case(&mut session, candidate, planned, case);
                    self.judged(entry, measured, &mut session)?
                }
            };
            if let Some(figures) = &entry.figures {
                self.note_floor(figures.floor_round_trip_ns);
            }
            self.result.cases.push(entry);
            observer.finished(&self.result)?;
        }
        Ok(())
    }

    fn judged(
        &self,
        entry: Case,
        measured: Result<Figures, SessionError>,
        session: &mut Option<Session<'a>>,
    ) -> Result<Case, End> {
        match measured {
            Ok(figures) => Ok(Case { status: Status::Ok, figures: Some(figures), ..entry }),
            Err(SessionError::Interrupted) => Err(End::Interrupted),
            Err(SessionError::Failed(reason) | SessionError::Refused(reason)) => {
                *session = None;
                Ok(Case { reason: Some(reason), ..entry })
            }
        }
    }

    /// The row of a case before anything is known about it.
    fn entry(
        &self,
        candidate: &dyn AnyTransport,
        session: &PlannedSession,
        case: &PlannedCase,
    ) -> Case {
        let definition = candidate.definition();
        Case {
            transport: definition.name.to_string(),
            family: definition.family.to_string(),
            library_version: session.library_version.clone(),
            pattern: case.pattern.to_string(),
            payload_bytes: case.payload as u64,
            wait: session.wait.to_string(),
            touch: case.touch.as_str().into(),
            span: definition.capabilities.span.to_string(),
            subscribers: self.plan.subscribers,
            silent_subscribers: self.plan.silent,
            trial: session.trial,
            options: session.options.clone(),
            status: Status::Failed,
            reason: None,
            figures: None,
        }
    }

    fn run_case(
        &mut self,
        session: &mut Option<Session<'a>>,
        candidate: &dyn AnyTransport,
        planned: &PlannedSession,
        case: &PlannedCase,
    ) -> Result<Figures, SessionError> {
        if session.as_ref().is_none_or(|session| !session.is_whole()) {
            *session = None;
            *session = Some(self.start(
                Some(&candidate.definition().name),
                candidate.definition().capabilities.span,
            )?);
        }
        let Some(session) = session else { unreachable!("a session was just started") };
        let settings = self.settings(planned, case)?;
        let measured = self.measure(session, candidate, &settings, case);
        if measured.is_err() && !self.sandbox {
            self.tidy(session, candidate, &settings);
        }
        measured
    }

    fn settings(
        &mut self,
        planned: &PlannedSession,
        case: &PlannedCase,
    ) -> Result<Settings, SessionError> {
        self.opened += 1;
        let directory = match &self.directory {
            Some(directory) => directory.session(self.opened)?,
            None => PathBuf::from("/tmp"),
        };
        Ok(Settings {
            role: Role::Leader,
            wait: planned.wait,
            payload: case.payload,
            subscribers: self.plan.subscribers,
            name: self.id.session(self.opened),
            directory,
            address: None,
            options: planned.options.clone(),
        })
    }

    fn measure(
        &self,
        session: &mut Session<'_>,
        candidate: &dyn AnyTransport,
        settings: &Settings,
        case: &PlannedCase,
    ) -> Result<Figures, SessionError> {
        let floor = floor(session, self.is_apart())?;
        let addresses = session.addresses();
        let open = |role| {
            let address = address(&addresses, role);
            Request::Open(Settings { role, address, ..settings.clone() })
        };
        let opened = session.ask("opening", open, Duration::ZERO)?;
        let pass = Pass {
            pattern: case.pattern,
            payload: case.payload,
            touch: case.touch,
            budget: self.plan.budget,
            seed: self.plan.seed,
            silent: self.plan.silent,
        };
        let expected = match pass.budget {
            Budget::Time(time) => time,
            Budget::RoundTrips(_) => Duration::ZERO,
        };
        let replies = session.ask("starting", |_| Request::Run(pass.clone()), expected)?;
        let seen = session.ask(
            "looking at what carried the messages",
            |_| Request::Look,
            Duration::ZERO,
        )?;
        session.ask("closing", |_| Request::Close, Duration::ZERO)?;
        let figures = figures(&opened, replies, floor.round_trip_ns, &pass, &self.placement);
        let mut figures = figures.map_err(SessionError::Failed)?;
        figures.path = self.path(&figures, candidate, case, &seen);
        Ok(figures)
    }

    /// What carried the messages, from what the workers saw while all ends were open.
    fn path(
        &self,
        figures: &Figures,
        candidate: &dyn AnyTransport,
        case: &PlannedCase,
        seen: &[Reply],
    ) -> ipcmark_results::Path {
        let (shared, network): (Vec<_>, Vec<bool>) = seen
            .iter()
            .filter_map(|reply| match reply {
                Reply::Seen { shared, network } => Some((shared.clone(), *network)),
                _ => None,
            })
            .unzip();
        let evidence = CarrierEvidence {
            declared: candidate.carrier(),
            span: candidate.definition().capabilities.span,
            sandboxed: self.sandbox,
            has_network_sockets: network.iter().all(|has| *has),
            apart: self.is_apart(),
            payload: case.payload,
            loopback_bytes_per_message: figures.path.loopback_bytes_per_message,
            shared: &shared,
        };
        evidence.path()
    }

    /// Ends the workers of a failed case and removes what they left in the host's own places.
    fn tidy(&self, session: &mut Session<'_>, candidate: &dyn AnyTransport, settings: &Settings) {
        session.end();
        let _ = candidate.remove(&settings.name);
        let _ = std::fs::remove_dir_all(&settings.directory);
        leftovers::remove_names(settings.name.trim_start_matches(leftovers::PREFIX));
    }
}

/// The floor between the workers of a session, and the clock of its leader.
fn floor(session: &mut Session<'_>, alone: bool) -> Result<FloorReport, SessionError> {
    let replies =
        session.ask("measuring the floor", |_| Request::Floor { alone }, Duration::ZERO)?;
    let floor = replies.into_iter().find_map(|reply| match reply {
        Reply::Floor(floor) => floor,
        _ => None,
    });
    floor.ok_or_else(|| SessionError::Failed("the leader did not report the floor".into()))
}

fn empty_result(plan: &Plan, options: &RunOptions) -> RunResult {
    let now = SystemTime::now();
    RunResult {
        schema: SCHEMA.into(),
        complete: false,
        planned_cases: plan.len() as u64,
        run: Run {
            id: String::new(),
            started_at: humantime::format_rfc3339_seconds(now).to_string(),
            command: options.command.clone(),
            version: options.version.clone(),
            seed: plan.seed,
        },
        environment: Default::default(),
        floor: None,
        clock: environment::clock(0.0, 0),
        notes: Vec::new(),
        cases: Vec::new(),
    }
}

/// An id that no other run has.
fn random_id() -> RunId {
    let mut bytes = [0; 4];
    // SAFETY: the buffer is valid for its length. Where the system has no random numbers, the
    // process id and the time stand in.
    let read = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    let number = match read == bytes.len() as isize {
        true => u32::from_ne_bytes(bytes),
        false => std::process::id().rotate_left(16) ^ clock::now_ns() as u32,
    };
    RunId::new(number)
}
