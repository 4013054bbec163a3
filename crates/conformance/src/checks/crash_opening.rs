//! `crash-opening`: a process is killed while the endpoints open, before each frame that it would send or receive. The
//! waits divide the frames between them, because opening hardly depends on the wait. The other process fails to open,
//! or closes; nothing is left; the name can be used again.

use std::os::fd::{BorrowedFd, OwnedFd};

use ipcmark_transport::{Error, Rendezvous};
use nix::sys::signal::{Signal, raise};

use crate::check::{Check, none_exempt};
use crate::{
    checks::crash::{AFTERWARDS, died_as_planned},
    context::CheckContext,
    failure::Failure,
    runner::CheckRunner,
    stamp::Side,
    traces,
};

/// More frames than any transport exchanges.
const MAX_FRAMES: u32 = 32;
const PAYLOAD: usize = 65_536;

fn run_test(runner: &CheckRunner<'_>) -> Result<(), Failure> {
    let (first, stride) = runner.share();
    for victim in [Side::Follower, Side::Leader] {
        let session = runner.session()?;
        for frame in (first..MAX_FRAMES).step_by(stride) {
            let ended = runner.start(&session, scenario(victim, frame))?.wait()?;
            if ended.of(victim).passed() {
                // It exchanges no more frames.
                break;
            }
            let described = |failure: Failure| {
                failure.during(format_args!("{victim} killed before frame {frame} of opening"))
            };
            died_as_planned(&ended, Some(victim)).map_err(described)?;
            runner.clear(&session, &ended).map_err(described)?;
        }
        runner
            .run(&session, AFTERWARDS)
            .map_err(|failure| failure.during("the same name used again"))?;
    }
    Ok(())
}

fn scenario(victim: Side, frame: u32) -> u32 {
    frame * 2 + u32::from(victim == Side::Follower)
}

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    let part = context.part();
    if part.scenario == AFTERWARDS {
        let mut end = context.open(PAYLOAD)?;
        context.echo(&mut end, &[16, 64, 5000])?;
        return context.meet("both are done");
    }
    let victim = if part.scenario % 2 == 1 { Side::Follower } else { Side::Leader };
    let lives = (victim == part.side).then_some(part.scenario / 2);
    let killing = |inner| KillingRendezvous { inner, lives, name: &part.name };
    // The survivor may or may not be able to open its endpoint; it must only not hang.
    let _ = context.open_and_close_through(PAYLOAD, killing);
    Ok(())
}

/// A rendezvous that kills its process before one of the frames. Before that it reports the message queues that the
/// process has open, because nobody can list them where mqueue is not mounted.
struct KillingRendezvous<'a, R> {
    inner: &'a mut R,
    lives: Option<u32>,
    name: &'a str,
}

impl<R> KillingRendezvous<'_, R> {
    fn live_on(&mut self) -> Result<(), Error> {
        for queue in traces::queues(self.name).unwrap_or_default() {
            println!("{queue}");
        }
        match self.lives {
            Some(0) => {
                raise(Signal::SIGKILL).map_err(|errno| Error::os("kill", "this process", errno))
            }
            Some(lives) => {
                self.lives = Some(lives - 1);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl<R: Rendezvous> Rendezvous for KillingRendezvous<'_, R> {
    fn peers(&self) -> usize {
        self.inner.peers()
    }

    fn send(&mut self, peer: usize, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        self.live_on()?;
        self.inner.send(peer, bytes, fds)
    }

    fn receive(&mut self, peer: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        self.live_on()?;
        self.inner.receive(peer)
    }
}

/// A process is killed while the ends open.
pub const CRASH_OPENING: Check =
    Check { name: "crash-opening", exempt: none_exempt, run_process, run_test, kills: true };
