//! The endpoints that a worker opens: of a transport, of one several times, or of the reference. Outside the loops
//! they are type-erased, so that the code around the loops is built once; inside they have their concrete type.

use std::collections::BTreeMap;

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_transport::{Definition, Endpoint, Error, Settings, Transport};

use super::{
    context::WorkerContext,
    cycling::{self, Cycling},
    opening,
    star::{OnePeer, Star},
};
use crate::{
    patterns::{self, Bare, LoopContext},
    wire::{LeaderReport, Pass, Reply},
};

/// A transport that can open endpoints.
pub(super) trait Carries {
    /// Opens an endpoint for these settings. If the leader sends to each follower separately, `ends` has their
    /// settings: the leader opens a star of them, and each follower one.
    fn open(
        &self,
        settings: &Settings,
        ends: &[Settings],
        peers: &mut SocketRendezvous,
    ) -> Result<Box<dyn OpenEnd + '_>, Error>;
}

/// An open endpoint; dropping it closes it.
pub(super) trait OpenEnd {
    /// The configuration that its library reports.
    fn configuration(&self) -> BTreeMap<String, String>;
    /// This endpoint's part of a pass.
    fn run(
        &mut self,
        settings: &Settings,
        pass: &Pass,
        context: &mut WorkerContext,
    ) -> Result<Reply, Error>;
}

/// A transport with its concrete type.
pub(super) struct Carried<'a, T>(pub &'a T);

impl<T: Transport> Carries for Carried<'_, T> {
    fn open(
        &self,
        settings: &Settings,
        ends: &[Settings],
        peers: &mut SocketRendezvous,
    ) -> Result<Box<dyn OpenEnd + '_>, Error> {
        let definition = self.0.definition();
        if settings.role.is_leader() && !ends.is_empty() {
            let open = |(peer, end)| self.0.open(end, &mut OnePeer { peers: &mut *peers, peer });
            let ends = ends.iter().enumerate().map(open).collect::<Result<Vec<_>, Error>>()?;
            let reliable = definition.capabilities.reliable;
            let star = Star::new(ends, settings.wait, settings.payload, reliable);
            return Ok(Box::new(StarOf::<T> { definition, star }));
        }
        let end = self.0.open(ends.first().unwrap_or(settings), peers)?;
        Ok(Box::new(EndOf::<T> { definition, end }))
    }
}

/// One endpoint.
struct EndOf<'a, T: Transport> {
    definition: &'a Definition,
    end: T::Endpoint,
}

impl<T: Transport> OpenEnd for EndOf<'_, T> {
    fn configuration(&self) -> BTreeMap<String, String> {
        self.end.configuration()
    }

    fn run(
        &mut self,
        settings: &Settings,
        pass: &Pass,
        context: &mut WorkerContext,
    ) -> Result<Reply, Error> {
        let Self { definition, end } = self;
        opening::check_pass(definition, settings, pass)?;
        let shares_process = context.shares_process;
        let loop_context = loop_context(definition, settings, end.may_lose(), context);
        let cycles = T::CYCLES && cycling::is_asked_for(settings);
        if settings.role.is_leader() {
            let report = match cycles {
                true => cycled::<T>(end, settings, pass, loop_context)?,
                false => patterns::lead::<T, _>(end, pass, loop_context)?,
            };
            return Ok(led(report, end.parts_per_message()));
        }
        let mut report = match cycles {
            true => patterns::follow::<T, _>(&mut Cycling(end), pass, loop_context)?,
            false => patterns::follow::<T, _>(end, pass, loop_context)?,
        };
        if let Some(report) = report.as_mut().filter(|_| shares_process) {
            // A process's costs are reported once: with its leader.
            report.costs = None;
        }
        Ok(Reply::Followed(report))
    }
}

/// A leader's endpoints, one for each follower.
struct StarOf<'a, T: Transport> {
    definition: &'a Definition,
    star: Star<T::Endpoint>,
}

impl<T: Transport> OpenEnd for StarOf<'_, T> {
    fn configuration(&self) -> BTreeMap<String, String> {
        self.star.configuration()
    }

    fn run(
        &mut self,
        settings: &Settings,
        pass: &Pass,
        context: &mut WorkerContext,
    ) -> Result<Reply, Error> {
        let Self { definition, star } = self;
        opening::check_pass(definition, settings, pass)?;
        let loop_context = loop_context(definition, settings, star.may_lose(), context);
        let report = patterns::lead_star::<T, _>(star, pass, loop_context)?;
        Ok(led(report, star.parts_per_message()))
    }
}

/// The report of a leader that changes its buffers.
fn cycled<T: Transport>(
    end: &mut T::Endpoint,
    settings: &Settings,
    pass: &Pass,
    context: LoopContext<'_>,
) -> Result<LeaderReport, Error> {
    let report = patterns::lead::<T, _>(&mut Cycling(end), pass, context)?;
    let asked = cycling::asked(settings);
    let working_set = report.working_set.map(|found| cycling::used(found, asked, pass.pattern));
    Ok(LeaderReport { working_set, ..report })
}

/// The context for an endpoint's loops.
fn loop_context<'c>(
    definition: &Definition,
    settings: &Settings,
    may_lose: bool,
    context: &'c mut WorkerContext,
) -> LoopContext<'c> {
    let capabilities = &definition.capabilities;
    LoopContext {
        reliable: capabilities.reliable && !may_lose,
        alternating: capabilities.alternating,
        span: capabilities.span,
        ..context.for_loop(settings)
    }
}

/// The leader's reply, with the number of parts in which its endpoint sends a message.
fn led(report: LeaderReport, parts_per_message: Option<f64>) -> Reply {
    Reply::Led(Box::new(LeaderReport { parts_per_message, ..report }))
}

/// The reference of a group.
pub(super) fn reference(
    settings: &Settings,
    peers: &mut SocketRendezvous,
) -> Result<Box<dyn OpenEnd>, Error> {
    Ok(Box::new(Bare::open(settings, peers)?))
}

impl OpenEnd for Bare {
    fn configuration(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn run(
        &mut self,
        settings: &Settings,
        pass: &Pass,
        context: &mut WorkerContext,
    ) -> Result<Reply, Error> {
        let loop_context = context.for_loop(settings);
        match settings.role.is_leader() {
            true => self.lead(pass, loop_context).map(|report| Reply::Led(Box::new(report))),
            false => self.follow(loop_context).map(|report| Reply::Followed(Some(report))),
        }
    }
}
