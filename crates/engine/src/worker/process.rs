//! The process of the workers: one process each, or one process with all of them as threads for a transport that
//! stays within a process.

use std::{
    io::{self, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    panic::{self, AssertUnwindSafe},
    process, thread,
};

use ipcmark_transport::{Error, Role};
use nix::sys::{
    prctl,
    signal::{SigSet, SigmaskHow, sigprocmask},
};

use ipcmark_fdpass::{FrameSocket, SocketRendezvous};
use ipcmark_machine::{
    calls, counters, inherited::STACK_BYTES, pin::Pin, process::die_with_parent,
};

use super::{Service, WorkerContext};
use crate::{
    registry::Registry,
    wire::{COMMAND_FD, Channel, Counting, FOLLOWER_THREAD, MAX_FRAME, MAX_REPORT, WorkerSpec},
};

/// The exit status of a process that panicked.
const PANICKED: i32 = 101;

/// The whole life of a process with these workers. If there are several, all but the first are threads, and one
/// failure ends them all. There is one at least.
pub(crate) fn run_workers(
    registry: &Registry,
    workers: Vec<(WorkerSpec, Vec<OwnedFd>)>,
    service: &Service<'_>,
) -> Result<(), Error> {
    die_with_parent()?;
    let workers = workers.into_iter().map(|(spec, fds)| WorkerProcess::new(spec, fds));
    let Some(mut workers) = workers.collect::<Option<Vec<_>>>() else {
        return Err(Error::new("start", "a worker", "it got too few descriptors"));
    };
    settle(&workers[0].stderr)?;
    match service.counting {
        Counting::Nothing => {}
        Counting::Calls => calls::count_from_now()?,
        Counting::Cycles => counters::count_from_now()?,
    }
    let shares_process = workers.len() > 1;
    let first = workers.remove(0);
    thread::scope(|scope| {
        let works =
            |worker: WorkerProcess| match status(|| worker.work(registry, service, shares_process))
            {
                0 => {}
                status => process::exit(status),
            };
        for worker in workers {
            let work = move || works(worker);
            // As large as the first thread's, regardless of RUST_MIN_STACK.
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, work).map_err(|e| Error::scarce("start", "a thread", e))?;
        }
        works(first);
        Ok(())
    })
}

/// A worker with its descriptors.
struct WorkerProcess {
    spec: WorkerSpec,
    control: OwnedFd,
    stderr: OwnedFd,
    peers: Vec<FrameSocket>,
}

impl WorkerProcess {
    /// The worker with the descriptors that came with its order; none if there are too few.
    fn new(spec: WorkerSpec, fds: Vec<OwnedFd>) -> Option<Self> {
        let mut fds = fds.into_iter();
        let (control, stderr) = (fds.next()?, fds.next()?);
        let peers: Vec<_> = fds.take(spec.peers).map(FrameSocket::from).collect();
        (peers.len() == spec.peers).then_some(Self { spec, control, stderr, peers })
    }

    /// A worker's whole life.
    fn work(
        self,
        registry: &Registry,
        service: &Service<'_>,
        shares_process: bool,
    ) -> Result<(), Error> {
        let role = self.spec.role;
        let name = if role.is_leader() { c"ipcmark-leader" } else { FOLLOWER_THREAD };
        prctl::set_name(name).map_err(|e| Error::os("name", "a worker", e))?;
        let pin = self.spec.cpu.map(Pin::to).transpose()?;
        let mut context = WorkerContext {
            role,
            address: self.spec.address,
            control: Channel::new(UnixStream::from(self.control), "command", longest_frame(role)),
            peers: SocketRendezvous::new(self.peers),
            pin,
            probe: None,
            shares_process,
            counts_calls: matches!(service.counting, Counting::Calls),
            session: service.session.clone(),
            paths: service.paths.clone(),
        };
        let Some(name) = &service.transport else { return context.serve_without_transport() };
        registry
            .iter()
            .find(|transport| transport.definition().name == *name)
            .ok_or_else(|| Error::new("find", format!("the transport {name}"), "it is unknown"))?
            .serve(&mut context)
    }
}

/// The longest frame that the command sends to a worker: a leader's command belongs to the same user, and its frame
/// can hold a trace.
fn longest_frame(role: Role) -> usize {
    if role.is_leader() { MAX_REPORT } else { MAX_FRAME }
}

/// The exit status of a process. A panic is caught here, because the stack frames below are the keeper's.
pub(crate) fn status(work: impl FnOnce() -> Result<(), Error>) -> i32 {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
        Err(_) => PANICKED,
    }
}

/// Sets streams, signals and limits as workers need them.
fn settle(stderr: &OwnedFd) -> Result<(), Error> {
    // SAFETY: standard descriptors are replaced by ones of ours, the keeper's channel is closed in this copy,
    // dispositions and limits are set for this process only.
    unsafe {
        libc::dup2(stderr.as_raw_fd(), 1);
        libc::dup2(stderr.as_raw_fd(), 2);
        libc::close(COMMAND_FD);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        // The standard library's handlers would swallow a signal that was sent from outside.
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
    }
    // Without a backtrace, so that the standard error tail contains the message.
    panic::set_hook(Box::new(|panic| _ = writeln!(io::stderr(), "{panic}")));
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
        .map_err(|e| Error::os("settle", "a worker", e))
}
