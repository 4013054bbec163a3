//! Starts the sessions of a run, numbers their openings, and removes the leftovers of failed ones.

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
    wire::{ClockReport, Counting, Isolation, Opening, Reply, Request},
};

/// The common state for all sessions of a run.
pub(crate) struct Sessions<'a> {
    pub registry: &'a Registry,
    pub options: &'a RunOptions,
    /// Becomes readable when the user wants to stop.
    pub interrupt: &'a UnixStream,
    /// The run's id.
    pub id: RunId,
    /// The number of followers of one leader.
    pub subscribers: u32,
    /// True if sessions get namespaces; false once the system has refused them.
    pub sandbox: bool,
    /// Without a sandbox: the directory of this run's names.
    pub directory: Option<RunDirectory>,
    /// The number of openings so far, for names that never repeat.
    pub opened: Cell<u64>,
}

impl<'a> Sessions<'a> {
    /// Without a sandbox, creates the run's directory, before its first session.
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

    /// Starts and prepares a session without a transport; returns the leader's clock data.
    pub(crate) fn look_at_clock(&self, placement: &Placement) -> Result<ClockReport, SessionError> {
        self.prepare(&mut self.start_with(None, Span::Process, placement)?)
    }

    /// Starts and prepares a session of the plan.
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

    /// Starts and prepares a session that serves references.
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
            counting: transport.map_or(Counting::Nothing, |_| self.options.counting),
            followers,
        };
        Session::start(spec, self.options.timeout, self.interrupt)
    }

    fn prepare(&self, session: &mut Session<'_>) -> Result<ClockReport, SessionError> {
        // Endpoints on different hosts share no memory to probe, and a probe's work is not the transport's.
        let probes = !self.are_apart() && self.options.counting == Counting::Nothing;
        let replies = session.ask("making ready", &Request::Prepare { probes }, Duration::ZERO)?;
        let clock = replies.into_iter().find_map(|reply| match reply {
            Reply::Prepared(clock) => clock,
            _ => None,
        });
        clock.ok_or_else(|| SessionError::Failed("the leader did not report its clock".into()))
    }

    /// True if the endpoints are on different hosts.
    pub(crate) fn are_apart(&self) -> bool {
        self.options.followers.as_ref().is_some_and(|source| source.is_remote())
    }

    /// True if the sessions of this transport cannot be open beside others.
    pub(crate) fn runs_alone(&self, planned: &PlannedSession) -> bool {
        let capabilities = &self.registry[planned.transport].definition().capabilities;
        self.options.followers.is_some() || (capabilities.exclusive && !self.sandbox)
    }

    /// The reason why several pairs of this transport cannot run at once, if there is one.
    pub(crate) fn refuses_pairs(&self, planned: &PlannedSession) -> Option<String> {
        let capabilities = &self.registry[planned.transport].definition().capabilities;
        let is_alone = capabilities.exclusive && !self.sandbox;
        is_alone.then(|| "without a sandbox only one pair of it can be open".into())
    }

    /// The opening for a row's endpoints.
    pub(crate) fn opening(
        &self,
        wait: Wait,
        options: BTreeMap<String, String>,
        slot: Slot,
        n_sends: bool,
    ) -> Result<Opening, Error> {
        let (payload, subscribers) = (slot.payload, self.subscribers);
        let number = self.opened.get() + 1;
        let connect_within = self.options.connect_within();
        let opening =
            Opening { number, wait, payload, subscribers, n_sends, options, connect_within };
        self.opened.set(opening.numbers().end - 1);
        if let Some(directory) = &self.directory {
            opening.numbers().try_for_each(|number| directory.open_session(number))?;
        }
        Ok(opening)
    }

    /// Cleans up after a row whose endpoints have closed and left nothing.
    pub(crate) fn close(&self, opening: &Opening) {
        if let Some(directory) = &self.directory {
            opening.numbers().for_each(|number| directory.close_session(number));
        }
    }

    /// True if the leader of a row sends to each of its followers through an endpoint of its own.
    pub(crate) fn sends_to_each(&self, planned: &PlannedSession, pattern: Pattern) -> bool {
        let capabilities = &self.registry[planned.transport].definition().capabilities;
        pattern == Pattern::FanOut && capabilities.fan_out() == Some(FanOut::NSends)
    }

    /// Ends the workers of a failed row and, without a sandbox, removes their leftovers on the host.
    pub(crate) fn clean_up(
        &self,
        mut session: Session<'_>,
        transport: Option<&dyn AnyTransport>,
        opening: &Opening,
    ) {
        session.end();
        let Some(directory) = &self.directory else { return };
        // `ipcmark clean` can remove the rest.
        for number in opening.numbers() {
            leftovers::clean_session(transport, &self.id.session(number));
            directory.clear_session(number);
        }
    }

    /// Without a sandbox: removes leftovers that the plan's libraries named themselves, once all sessions have
    /// ended. A library's thread may remove a name later than its endpoint is closed, and an interrupted run closes
    /// no endpoint.
    pub(crate) fn clean_up_after(&self, plan: &Plan) {
        if self.directory.is_none() {
            return;
        }
        let planned = plan.sessions.iter().map(|planned| planned.transport);
        let transports = planned.map(|transport| self.registry[transport].as_ref());
        // `ipcmark clean` can remove the rest.
        leftovers::clean_sessions(transports, self.id);
    }
}
