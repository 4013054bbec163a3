//! A worker: the process of one endpoint. It opens, runs and closes as the command requests.

mod context;
mod costs;
mod cycling;
mod descriptors;
mod ends;
mod evidence;
mod holdings;
mod opening;
mod process;
mod star;

use std::{collections::BTreeMap, time::Instant};

use ipcmark_transport::{Definition, Error, Role, Settings, Span, Transport};

pub(crate) use context::SessionContext;
pub use context::WorkerContext;
use ends::{Carried, Carries, OpenEnd, reference};
use holdings::Before;
use opening::EndpointSettings;
pub(crate) use opening::{check_opening, check_pass, options};
pub(crate) use process::{run_workers, status};

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_machine::clock;

use crate::{
    patterns::{self, LoopContext, ProbePages, Turn},
    wire::{Channel, ClockReport, Costs, Counting, Opened, PathOptions, Reply, Request},
};

/// The service that a process's workers provide.
pub(crate) struct Service<'a> {
    pub session: &'a SessionContext,
    /// Without a transport, they serve only what needs none.
    pub transport: Option<String>,
    pub paths: PathOptions,
    /// The counts that the process takes.
    pub counting: Counting,
}

impl WorkerContext {
    fn answer(&mut self, reply: Result<Reply, Error>) -> Result<(), Error> {
        let reply = reply.unwrap_or_else(|error| Reply::Failed {
            reason: error.to_string().into(),
            peer_gone: error.is_peer_gone(),
        });
        self.control.send(&reply)
    }

    /// Serves requests that need no transport: the probes, the clock and the references.
    pub(crate) fn serve_without_transport(&mut self) -> Result<(), Error> {
        while let Some(request) = self.next()? {
            match request {
                Request::Open(opening) => match self.reference_settings(opening) {
                    Ok(settings) => {
                        serve_case(|peers| reference(&settings, peers), &settings, self)?
                    }
                    Err(error) => self.answer(Err(error))?,
                },
                other => self.answer(Err(out_of_turn(&other)))?,
            }
        }
        Ok(())
    }

    /// The next request; answers those that need no transport by itself.
    fn next(&mut self) -> Result<Option<Request>, Error> {
        loop {
            match self.control.receive()? {
                Some(Request::Prepare { probes }) => {
                    let prepared = self.prepare(probes);
                    self.answer(prepared)?;
                }
                request => return Ok(request),
            }
        }
    }

    /// The loop context for an endpoint that is reliable and connects processes.
    fn for_loop(&mut self, settings: &Settings) -> LoopContext<'_> {
        LoopContext {
            reliable: true,
            alternating: false,
            span: Span::Process,
            wait: settings.wait,
            follower: match settings.role {
                Role::Leader => 0,
                Role::Follower(number) => number,
            },
            subscribers: settings.subscribers,
            peers: &mut self.peers,
            probe: self.probe.as_mut(),
            pin: self.pin.as_ref(),
            counts_calls: self.counts_calls,
            command: &mut self.control,
        }
    }

    fn prepare(&mut self, probes: bool) -> Result<Reply, Error> {
        if probes {
            self.probe = ProbePages::open(self.role, &mut self.peers)?;
        }
        let clock = || ClockReport { read_ns: clock::reading_cost_ns(), step_ns: clock::step_ns() };
        Ok(Reply::Prepared(self.role.is_leader().then(clock)))
    }
}

/// Serves the cases of one transport, one after another, until the command closes the channel.
pub(crate) fn serve<T: Transport>(transport: &T, context: &mut WorkerContext) -> Result<(), Error> {
    serve_ends(&Carried(transport), transport.definition(), context)
}

/// The same for a type-erased transport.
fn serve_ends(
    carried: &dyn Carries,
    definition: &Definition,
    context: &mut WorkerContext,
) -> Result<(), Error> {
    while let Some(request) = context.next()? {
        match request {
            Request::Open(opening) => match context.settings(definition, opening) {
                Ok(EndpointSettings { settings, ends }) => {
                    serve_case(|peers| carried.open(&settings, &ends, peers), &settings, context)?;
                }
                Err(error) => context.answer(Err(error))?,
            },
            other => context.answer(Err(out_of_turn(&other)))?,
        }
    }
    Ok(())
}

/// Opens an endpoint, runs the requests on it and closes it.
fn serve_case<'a>(
    open: impl FnOnce(&mut SocketRendezvous) -> Result<Box<dyn OpenEnd + 'a>, Error>,
    settings: &Settings,
    context: &mut WorkerContext,
) -> Result<(), Error> {
    // Fast DDS creates files in the working directory; here they are removed with the session. A follower in
    // another container may have no such directory, and stays where it is.
    let _ = std::env::set_current_dir(&settings.directory);
    Costs::forget_peak_memory();
    let before = Before::now();
    let start = Instant::now();
    let mut end = match open(&mut context.peers) {
        Ok(end) => end,
        Err(error) => return context.answer(Err(error)),
    };
    if let Some(pin) = &context.pin {
        pin.release_other_threads();
    }
    let setup_ns = start.elapsed().as_nanos() as u64;
    context.answer(Ok(opened(setup_ns, end.configuration())))?;
    while let Some(request) = context.next()? {
        match request {
            Request::Run(pass) => {
                let reply = end.run(settings, &pass, context);
                context.answer(reply)?;
            }
            Request::Look => {
                context.answer(Ok(seen(&before)))?;
            }
            Request::Close => {
                drop(end);
                return context.answer(Ok(Reply::Closed));
            }
            other => context.answer(Err(out_of_turn(&other)))?,
        }
    }
    Ok(())
}

/// An endpoint's answer to its opening.
fn opened(setup_ns: u64, configuration: BTreeMap<String, String>) -> Reply {
    let configuration = configuration.into_iter().map(|(key, value)| (key.into(), value.into()));
    let process = process_name().into();
    Reply::Opened(Opened { setup_ns, configuration: configuration.collect(), process })
}

/// The evidence and the resources that an endpoint's process has now.
fn seen(before: &Before) -> Reply {
    let open = descriptors::all();
    let network = evidence::has_network_socket(&open);
    let shared = evidence::shared_mappings();
    Reply::Seen { shared, network, holdings: before.holdings(&open) }
}

/// The kernel's name for this process.
fn process_name() -> String {
    let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    name.trim_end().into()
}

impl patterns::Command for Channel<Request> {
    fn phase(&mut self, phase: &'static str) -> Result<(), Error> {
        self.send(&Reply::Phase(phase.into()))
    }

    fn next_turn(&mut self, round_trip_ns: f64) -> Result<Option<Turn>, Error> {
        self.send(&Reply::Ready { round_trip_ns })?;
        match self.receive()? {
            Some(Request::Turn(limit)) => Ok(Some(Turn::Measured(limit))),
            Some(Request::Background(number)) => Ok(Some(Turn::Background(number))),
            Some(Request::Finish) => Ok(None),
            Some(other) => Err(out_of_turn(&other)),
            None => Err(Error::peer_gone("wait for", "the next turn")),
        }
    }

    fn background_runs(&mut self) -> Result<(), Error> {
        self.send(&Reply::BackgroundRuns)
    }

    fn has_ended_background(&mut self) -> Result<bool, Error> {
        if !self.is_ready() {
            return Ok(false);
        }
        match self.receive()? {
            Some(Request::EndBackground) => Ok(true),
            Some(other) => Err(out_of_turn(&other)),
            None => Err(Error::peer_gone("wait for", "the end of a background turn")),
        }
    }
}

fn out_of_turn(request: &Request) -> Error {
    Error::new("serve", format!("the request {request:?}"), "it came out of turn")
}
