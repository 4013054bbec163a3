//! Starts the sessions of a run, names what their ends make, and clears up after one that failed.

use std::{cell::Cell, collections::BTreeMap, os::unix::net::UnixStream, time::Duration};

use ipcmark_machine::placement::Placement;
use ipcmark_transport::{Error, FanOut, Pattern, RunId, Span, Wait};

use super::{
    options::RunOptions,
    plan::{Plan, PlannedSession},
    request::Slot,
    session::{Session, SessionError, SessionSpec},
};
use crate::{
    leftovers::{self, RunDirectory},
    registry::{AnyTransport, Registry},
    wire::{ClockReport, Isolation, Opening, Reply, Request},
};

/// What all sessions of a run are started with.
pub(crate) struct Sessions<'a> {
    pub registry: &'a Registry,
    pub options: &'a RunOptions,
    /// Readable as soon as the user wants to stop.
    pub interrupt: &'a UnixStream,
    /// The run's id.
    pub id: RunId,
    /// Followers of one leader.
    pub subscribers: u32,
    /// Whether sessions get namespaces; false as soon as the system has refused them.
    pub sandbox: bool,
    /// Without a sandbox: where the names of this run lie.
    pub directory: Option<RunDirectory>,
    /// How many times ends were opened, for names that never repeat.
    pub opened: Cell<u64>,
}

impl<'a> Sessions<'a> {
    /// Without a sandbox a run has a directory, from before its first session on.
    pub(crate) fn make_directory(&mut self) -> Result<(), Error> {
        if !self.sandbox {
            self.directory = Some(RunDirectory::create(self.id)?);
        }
        Ok(())
    }

    fn isolation(&self) -> Isolation {
        match &self.directory {
            None => Isolation::Namespaces { visible: self.options.visible.clone() },
            Some(directory) => Isolation::Names { directory: directory.path().to_owned() },
        }
    }

    /// Starts a session without a transport and makes it ready; what the leader's clock is like.
    pub(crate) fn look_at_clock(&self, placement: &Placement) -> Result<ClockReport, SessionError> {
        self.prepare(&mut self.start_with(None, Span::Process, placement)?)
    }

    /// Starts a session of the plan and makes it ready.
    pub(crate) fn start(
        &self,
        planned: &PlannedSession,
        placement: &Placement,
    ) -> Result<Session<'a>, SessionError> {
        let definition = self.registry[planned.transport].definition();
        let span = definition.capabilities.span;
        let mut session = self.start_with(Some(&definition.name), span, placement)?;
        self.prepare(&mut session)?;
        Ok(session)
    }

    /// Starts a session that serves references and makes it ready.
    pub(crate) fn start_reference(
        &self,
        placement: &Placement,
    ) -> Result<Session<'a>, SessionError> {
        let mut session = self.start_with(None, Span::Process, placement)?;
        self.prepare(&mut session)?;
        Ok(session)
    }

    fn start_with(
        &self,
        transport: Option<&str>,
        span: Span,
        placement: &Placement,
    ) -> Result<Session<'a>, SessionError> {
        let followers = match &self.options.followers {
            Some(source) => {
                let keepers = source.keepers(self.interrupt, self.options.timeout)?;
                keepers.ok_or(SessionError::Interrupted)?
            }
            None => Vec::new(),
        };
        let spec = SessionSpec {
            run: self.id,
            isolation: self.isolation(),
            transport,
            placement,
            one_process: span == Span::Thread,
            counts_calls: self.options.counts_calls && transport.is_some(),
            followers,
        };
        Session::start(spec, self.options.timeout, self.interrupt)
    }

    fn prepare(&self, session: &mut Session<'_>) -> Result<ClockReport, SessionError> {
        // Ends on different hosts share no memory to probe, and a probe makes calls that are not the transport's.
        let probes = !self.are_apart() && !self.options.counts_calls;
        let replies = session.ask("making ready", &Request::Prepare { probes }, Duration::ZERO)?;
        let clock = replies.into_iter().find_map(|reply| match reply {
            Reply::Prepared(clock) => clock,
            _ => None,
        });
        clock.ok_or_else(|| SessionError::Failed("the leader did not report its clock".into()))
    }

    /// Whether the ends are on different hosts.
    pub(crate) fn are_apart(&self) -> bool {
        self.options.followers.as_ref().is_some_and(|source| source.is_remote())
    }

    /// Whether the sessions of a transport can be open beside those of others.
    pub(crate) fn runs_alone(&self, planned: &PlannedSession) -> bool {
        let capabilities = &self.registry[planned.transport].definition().capabilities;
        self.options.followers.is_some() || (capabilities.exclusive && !self.sandbox)
    }

    /// Why there cannot be several pairs of a transport at once, if so.
    pub(crate) fn refuses_pairs(&self, planned: &PlannedSession) -> Option<String> {
        let capabilities = &self.registry[planned.transport].definition().capabilities;
        let is_alone = capabilities.exclusive && !self.sandbox;
        is_alone.then(|| "without a sandbox one pair of it is the most that can be open".into())
    }

    /// What the ends of a row are opened with.
    pub(crate) fn opening(
        &self,
        wait: Wait,
        options: BTreeMap<String, String>,
        slot: Slot,
        n_sends: bool,
    ) -> Result<Opening, Error> {
        let (payload, subscribers) = (slot.payload, self.subscribers);
        let number = self.opened.get() + 1;
        let opening = Opening { number, wait, payload, subscribers, n_sends, options };
        self.opened.set(opening.numbers().end - 1);
        if let Some(directory) = &self.directory {
            opening.numbers().try_for_each(|number| directory.open_session(number))?;
        }
        Ok(opening)
    }

    /// The ends of a row are closed, and nothing of theirs is left.
    pub(crate) fn close(&self, opening: &Opening) {
        if let Some(directory) = &self.directory {
            opening.numbers().for_each(|number| directory.close_session(number));
        }
    }

    /// Whether the leader of a row sends to each of its followers through an end of its own.
    pub(crate) fn sends_to_each(&self, planned: &PlannedSession, pattern: Pattern) -> bool {
        let capabilities = &self.registry[planned.transport].definition().capabilities;
        pattern == Pattern::FanOut && capabilities.fan_out() == Some(FanOut::NSends)
    }

    /// Ends the workers of a row that failed and, without a sandbox, removes what they left in the host's own
    /// places.
    pub(crate) fn clear_up(
        &self,
        mut session: Session<'_>,
        transport: Option<&dyn AnyTransport>,
        opening: &Opening,
    ) {
        session.end();
        let Some(directory) = &self.directory else { return };
        // What cannot be removed now is there for `ipcmark clean`.
        for number in opening.numbers() {
            leftovers::clean_session(transport, &self.id.session(number));
            directory.clear_session(number);
        }
    }

    /// Without a sandbox: removes what libraries of the plan named by themselves and left, once all sessions have ended.
    /// A library's thread may remove a name later than its end is closed, and who is interrupted closes none.
    pub(crate) fn clear_up_after(&self, plan: &Plan) {
        if self.directory.is_none() {
            return;
        }
        let planned = plan.sessions.iter().map(|planned| planned.transport);
        let transports = planned.map(|transport| self.registry[transport].as_ref());
        // What cannot be removed now is there for `ipcmark clean`.
        leftovers::clean_sessions(transports, self.id);
    }
}
