//! A worker: the process of one end. It opens, runs and closes as the command tells it.

mod costs;
mod evidence;
mod floor;
mod process;

use std::time::Instant;

use ipcmark_transport::{Endpoint, Error, Role, Settings, Transport};

pub(crate) use process::{run_workers, status};

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_machine::pin::Pin;

use crate::{
    patterns::{self, LoopContext, Progress},
    wire::{Channel, Costs, Pass, Reply, Request},
};

/// What a worker works with: its role, its channel to the command and its sockets to the other workers.
pub struct WorkerContext {
    pub(crate) role: Role,
    pub(crate) control: Channel<Request>,
    pub(crate) peers: SocketRendezvous,
    pub(crate) pin: Option<Pin>,
    /// Whether the other workers are threads of this process.
    pub(crate) shares_process: bool,
}

impl WorkerContext {
    fn answer(&mut self, reply: Result<Reply, Error>) -> Result<(), Error> {
        let reply = reply.unwrap_or_else(|error| Reply::Failed {
            reason: error.to_string(),
            peer_gone: error.is_peer_gone(),
        });
        self.control.send(&reply)
    }

    /// Serves what needs no transport: the floor and the clock.
    pub(crate) fn serve_without_transport(&mut self) -> Result<(), Error> {
        while let Some(request) = self.next()? {
            self.answer(Err(out_of_turn(&request)))?;
        }
        Ok(())
    }

    /// The next request; answers by itself what has nothing to do with a transport.
    fn next(&mut self) -> Result<Option<Request>, Error> {
        loop {
            match self.control.receive()? {
                Some(Request::Floor { alone }) => {
                    let floor = match alone {
                        true => Ok(self.role.is_leader().then(floor::clock_alone)),
                        false => floor::measure(self.role, &mut self.peers),
                    };
                    self.answer(floor.map(Reply::Floor))?;
                }
                Some(Request::Enough) => {}
                request => return Ok(request),
            }
        }
    }
}

/// Serves the cases of one transport, one after another, until the command closes the channel.
pub(crate) fn serve<T: Transport>(transport: &T, context: &mut WorkerContext) -> Result<(), Error> {
    while let Some(request) = context.next()? {
        match request {
            Request::Open(settings) => serve_case(transport, &settings, context)?,
            other => context.answer(Err(out_of_turn(&other)))?,
        }
    }
    Ok(())
}

/// Opens an end, runs what is asked for on it and closes it.
fn serve_case<T: Transport>(
    transport: &T,
    settings: &Settings,
    context: &mut WorkerContext,
) -> Result<(), Error> {
    let start = Instant::now();
    let mut end = match transport.open(settings, &mut context.peers) {
        Ok(end) => end,
        Err(error) => return context.answer(Err(error)),
    };
    if let Some(pin) = &context.pin {
        pin.release_other_threads();
    }
    let setup_ns = start.elapsed().as_nanos() as u64;
    context.answer(Ok(Reply::Opened { setup_ns, configuration: end.configuration() }))?;
    while let Some(request) = context.next()? {
        match request {
            Request::Run(pass) => {
                let reply = run(transport, settings, &mut end, &pass, context);
                context.answer(reply)?;
            }
            Request::Look => {
                let shared = evidence::shared_mappings();
                let network = evidence::has_network_socket();
                context.answer(Ok(Reply::Seen { shared, network }))?;
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

fn run<T: Transport>(
    transport: &T,
    settings: &Settings,
    end: &mut T::Endpoint,
    pass: &Pass,
    context: &mut WorkerContext,
) -> Result<Reply, Error> {
    let capabilities = &transport.definition().capabilities;
    // The two closures use the channel at different times: one asks, the other tells.
    let control = std::cell::RefCell::new(&mut context.control);
    let mut around = LoopContext {
        reliable: capabilities.reliable && !end.may_lose(),
        alternating: capabilities.alternating,
        span: capabilities.span,
        wait: settings.wait,
        follower: match settings.role {
            Role::Leader => 0,
            Role::Follower(number) => number,
        },
        subscribers: settings.subscribers,
        stop: &mut || control.borrow().has_input(),
        tell: &mut |progress| control.borrow_mut().send(&reply_of(progress)),
    };
    if settings.role.is_leader() {
        patterns::lead(end, pass, &mut around).map(|report| Reply::Led(Box::new(report)))
    } else {
        let costs = patterns::follow(end, pass, &mut around)?;
        // What a process costs stands once: with its leader.
        Ok(Reply::Followed(if context.shares_process { Costs::default() } else { costs }))
    }
}

fn reply_of(progress: Progress) -> Reply {
    match progress {
        Progress::Phase(phase) => Reply::Phase(phase.into()),
        Progress::Measuring { expected_ns } => Reply::Measuring { expected_ns },
    }
}

fn out_of_turn(request: &Request) -> Error {
    Error::new("serve", format!("the request {request:?}"), "it came out of turn")
}
