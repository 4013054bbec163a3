//! Turns: while other sessions are measured, the endpoints of this one sleep.
//!
//! The command tells the leader when its turn comes. The leader wakes its followers with a frame, and puts them to
//! sleep again before it reports. A follower is put to sleep by a message, so that its loop polls nothing else. The
//! message of an unreliable transport could be lost, so a frame follows it, which the follower checks for from time to
//! time anyway. Either answers with a frame once it has left its loop.

use std::os::fd::AsFd;

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_machine::{conditions::Watched, pin::Pin};
use ipcmark_results::Load;
use ipcmark_transport::{Error, Pattern, Rendezvous, Span, Wait};
use nix::poll::{PollFd, PollFlags, PollTimeout};

use super::{
    blocks::{BlockLoop, BlockRecorder, IsOver, block_length},
    context::{Command, LoopContext, Turn},
    cost_meter::CostMeter,
    losses::Losses,
    message,
    paced::Paced,
    pacer::Pacer,
    probe::{Distance, ProbePages},
};
use crate::wire::{HelperCosts, LeaderReport, Pass, Traffic, TurnLimit};

const WAKE: &[u8] = b"turn";
const SLEEP: &[u8] = b"sleep";
const ASLEEP: &[u8] = b"asleep";
const END: &[u8] = b"end";
const COLLECT: &[u8] = b"collect";

/// Warms up and measures in turns, once verification has passed.
pub(super) fn lead(
    ends: &mut dyn BlockLoop,
    pass: &Pass,
    context: LoopContext<'_>,
) -> Result<LeaderReport, Error> {
    let LoopContext { reliable, span, wait, peers, probe, pin, counts_calls, command, .. } =
        context;
    let (followers, is_alone) = (FollowersChannel(peers), span == Span::None);
    let mut leader = Leading {
        reliable,
        is_alone,
        followers,
        probe,
        meter: CostMeter::new(),
        helpers: Watched::default(),
        pin,
        traffic: Traffic::default(),
        number: 0,
    };
    command.phase("warming up")?;
    let event_ns = ends.warm_up(pass.warm_up)?;
    leader.put_to_sleep(ends)?;
    leader.helpers = helpers();
    ends.start_measuring();
    let length = block_length(ends.block_length(wait), pass.time());
    let mut recorder = BlockRecorder::new(length, event_ns)
        .counting_sleeps(!counts_calls && sleeps_for_answers(pass, wait));
    let mut paced = Pacer::new(pass, wait).map(Paced::new);
    while let Some(turn) = command.next_turn(recorder.event_ns())? {
        leader.turn(ends, &mut recorder, paced.as_mut(), turn, command)?;
    }
    leader.finish(ends, recorder, paced)
}

/// True if the leader goes to sleep after each message until its answer comes, and for nothing else.
fn sleeps_for_answers(pass: &Pass, wait: Wait) -> bool {
    let awaits_answers = matches!(pass.pattern, Pattern::Latency | Pattern::FanOut);
    wait == Wait::Block && awaits_answers && pass.load == Load::Closed
}

/// The leader's state outside its measured loop.
struct Leading<'a> {
    reliable: bool,
    /// True if no message leaves its process, so that the followers sleep all the time.
    is_alone: bool,
    followers: FollowersChannel<'a>,
    probe: Option<&'a mut ProbePages>,
    meter: CostMeter,
    /// Processes of the library besides the workers.
    helpers: Watched,
    /// Threads that the library starts late inherit the processor of the thread that starts them.
    pin: Option<&'a Pin>,
    traffic: Traffic,
    /// The number of this turn: 0 for the warm-up.
    number: u32,
}

impl Leading<'_> {
    fn turn(
        &mut self,
        ends: &mut dyn BlockLoop,
        recorder: &mut BlockRecorder,
        mut paced: Option<&mut Paced>,
        turn: Turn,
        command: &mut dyn Command,
    ) -> Result<(), Error> {
        self.meter.wake();
        self.pin.inspect(|pin| pin.release_other_threads());
        self.helpers.start();
        self.meter.start();
        self.number += 1;
        let before = ends.traffic();
        if !self.is_alone {
            self.followers.wake()?;
        }
        let Self { is_alone, probe, meter, .. } = self;
        let probe = &mut |ends: &mut dyn BlockLoop| match probe {
            None => Ok(None),
            Some(_) if *is_alone => Ok(None),
            Some(pages) => announced(ends, pages, meter).map(Some),
        };
        let mut measure = |limit, is_over: &mut IsOver<'_>| match paced.as_deref_mut() {
            None => recorder.turn(ends, limit, probe, is_over),
            Some(paced) => paced.turn(recorder, ends, limit, probe, is_over),
        };
        match turn {
            Turn::Measured(limit) => measure(limit, &mut || Ok(false))?,
            Turn::Background(number) => {
                command.background_runs()?;
                measure(TurnLimit::none(number), &mut || command.has_ended_background())?;
            }
        }
        if let Some(paced) = paced {
            self.meter.leave_out_pauses(paced.take_pauses());
        }
        self.meter.leave_out(ends.take_aside_ns());
        self.meter.stop_thread();
        self.put_to_sleep(ends)?;
        self.meter.stop();
        self.helpers.stop();
        let after = ends.traffic();
        self.traffic.sent += after.sent - before.sent;
        self.traffic.received += after.received - before.received;
        Ok(())
    }

    fn put_to_sleep(&mut self, ends: &mut dyn BlockLoop) -> Result<(), Error> {
        if self.is_alone {
            return Ok(());
        }
        ends.flagged(message::sleep(self.number))?;
        if !self.reliable {
            self.followers.put_to_sleep()?;
        }
        self.followers.await_sleep()
    }

    fn finish(
        mut self,
        ends: &mut dyn BlockLoop,
        recorder: BlockRecorder,
        paced: Option<Paced>,
    ) -> Result<LeaderReport, Error> {
        self.followers.end()?;
        let (blocks, samples) = recorder.finish();
        let Losses { count, late, waited_ns, .. } = *ends.losses();
        let (costs, thread) = self.meter.total();
        let helpers = self.helpers.finish().into_iter();
        let mut report = LeaderReport {
            blocks,
            samples,
            traffic: self.traffic,
            costs,
            thread,
            helpers: helpers.map(HelperCosts::from).collect(),
            lost: count,
            late,
            lost_wait_ns: waited_ns,
            offered: paced.and_then(Paced::finish),
            // The pattern adds the rest.
            ..LeaderReport::default()
        };
        ends.complete(&mut report);
        Ok(report)
    }
}

/// The processes of this session that are neither its keeper nor workers.
fn helpers() -> Watched {
    let is_worker = |_, name: &str| name.starts_with("ipcmark-");
    Watched::below(nix::unistd::getppid().as_raw(), is_worker)
}

/// A probe, announced by a message. If the message was lost, the follower does not come, and the probe reports
/// that.
fn announced(
    ends: &mut dyn BlockLoop,
    pages: &mut ProbePages,
    meter: &mut CostMeter,
) -> Result<Distance, Error> {
    ends.flagged(message::PROBE)?;
    let distance = meter.around_probe(|| pages.measure());
    if distance != Distance::Apart {
        ends.met(pages)?;
    }
    Ok(distance)
}

/// The leader's channel to its followers between turns.
struct FollowersChannel<'a>(&'a mut SocketRendezvous);

impl FollowersChannel<'_> {
    /// Wakes all followers.
    fn wake(&mut self) -> Result<(), Error> {
        self.tell(WAKE)
    }

    /// Asks followers of an unreliable transport to leave their loops, which they may have been told by a message.
    fn put_to_sleep(&mut self) -> Result<(), Error> {
        self.tell(SLEEP)
    }

    /// Waits until all have left their loops.
    fn await_sleep(&mut self) -> Result<(), Error> {
        for peer in 0..self.0.peers() {
            expect(&self.0.receive(peer)?.0, ASLEEP)?;
        }
        Ok(())
    }

    /// Tells all followers, which are asleep, that the case is over.
    fn end(&mut self) -> Result<(), Error> {
        self.tell(END)
    }

    fn tell(&mut self, frame: &[u8]) -> Result<(), Error> {
        (0..self.0.peers()).try_for_each(|peer| self.0.send(peer, frame, &[]))
    }
}

/// The request in a frame from the leader of an unreliable transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameRequest {
    /// Leave the loop.
    Sleep,
    /// Send the marks.
    Collect,
}

/// Asks the follower of an unreliable transport for its marks.
pub(super) fn ask_for_marks(peers: &mut SocketRendezvous) -> Result<(), Error> {
    peers.send(0, COLLECT, &[])
}

/// A follower's channel to its leader between turns.
pub(super) struct LeaderChannel<'a>(pub &'a mut SocketRendezvous);

impl LeaderChannel<'_> {
    /// True if the leader of an unreliable transport has sent this endpoint a request.
    pub(super) fn asks(&self) -> bool {
        let mut poll = [PollFd::new(self.0.socket(0).as_fd(), PollFlags::POLLIN)];
        nix::poll::poll(&mut poll, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Takes the request that [`LeaderChannel::asks`] has found.
    pub(super) fn take_request(&mut self) -> Result<FrameRequest, Error> {
        let frame = self.0.receive(0)?.0;
        if frame == COLLECT {
            return Ok(FrameRequest::Collect);
        }
        expect(&frame, SLEEP).map(|()| FrameRequest::Sleep)
    }

    /// Waits for the request to leave the loop.
    pub(super) fn expect_sleep(&mut self) -> Result<(), Error> {
        expect(&self.0.receive(0)?.0, SLEEP)
    }

    /// Waits until the case is over, for an endpoint that takes no part.
    pub(super) fn await_end(&mut self) -> Result<(), Error> {
        expect(&self.0.receive(0)?.0, END)
    }

    /// Reports that this endpoint has left its loop, and sleeps until the next turn; false once the case is over.
    pub(super) fn sleep(&mut self) -> Result<bool, Error> {
        self.0.send(0, ASLEEP, &[])?;
        let frame = self.0.receive(0)?.0;
        if frame == END {
            return Ok(false);
        }
        expect(&frame, WAKE).map(|()| true)
    }
}

fn expect(frame: &[u8], expected: &[u8]) -> Result<(), Error> {
    match frame == expected {
        true => Ok(()),
        false => Err(Error::new(
            "take turns with",
            "the other end",
            format!("it sent {} where {} belongs", frame.escape_ascii(), expected.escape_ascii()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, thread};

    use super::*;
    use crate::patterns::scripted::Scripted;

    const TURN: TurnLimit = TurnLimit { number: 0, time_ns: u64::MAX, samples: 10 };

    /// A command with these turns to assign.
    struct TurnAssigner {
        turns: VecDeque<Turn>,
        phases: Vec<&'static str>,
        /// Of the background turn that runs: how often it is asked before it ends it; none if none runs.
        asked: Option<u32>,
    }

    /// The blocks of a background turn.
    const BACKGROUND_BLOCKS: u32 = 3;

    impl Command for TurnAssigner {
        fn phase(&mut self, phase: &'static str) -> Result<(), Error> {
            self.phases.push(phase);
            Ok(())
        }

        fn next_turn(&mut self, round_trip_ns: f64) -> Result<Option<Turn>, Error> {
            assert!(round_trip_ns > 0.0);
            Ok(self.turns.pop_front())
        }

        fn background_runs(&mut self) -> Result<(), Error> {
            self.asked = Some(0);
            Ok(())
        }

        fn has_ended_background(&mut self) -> Result<bool, Error> {
            let asked =
                self.asked.as_mut().expect("the command was told before that the turn runs");
            *asked += 1;
            Ok(*asked == BACKGROUND_BLOCKS)
        }
    }

    /// Leads this many turns with a follower that runs `follow`; returns the report, and the flags that were sent.
    fn led(
        turns: usize,
        reliable: bool,
        span: Span,
        follow: impl FnOnce(LeaderChannel<'_>) + Send,
    ) -> (Result<LeaderReport, Error>, Vec<u32>) {
        led_with(Load::Closed, vec![Turn::Measured(TURN); turns], reliable, span, follow)
    }

    fn led_with(
        load: Load,
        turns: Vec<Turn>,
        reliable: bool,
        span: Span,
        follow: impl FnOnce(LeaderChannel<'_>) + Send,
    ) -> (Result<LeaderReport, Error>, Vec<u32>) {
        let (mut ours, mut theirs) = SocketRendezvous::pair().unwrap();
        let mut ends = Scripted::new(1000);
        let mut giver = TurnAssigner { turns: turns.into(), phases: Vec::new(), asked: None };
        let pass = Pass { warm_up: TURN, ..Pass::of(load) };
        let report = thread::scope(|scope| {
            scope.spawn(|| follow(LeaderChannel(&mut theirs)));
            let context = LoopContext {
                pin: None,
                reliable,
                alternating: false,
                span,
                wait: Wait::Spin,
                follower: 0,
                subscribers: 1,
                peers: &mut ours,
                probe: None,
                counts_calls: false,
                command: &mut giver,
            };
            lead(&mut ends, &pass, context)
        });
        assert_eq!(giver.phases, ["warming up"]);
        (report, ends.flags)
    }

    #[test]
    fn a_follower_sleeps_after_the_warm_up_and_after_each_turn() {
        let (report, flags) = led(3, true, Span::Process, |mut leader| {
            for _ in 0..3 {
                assert!(leader.sleep().unwrap(), "it is woken for a turn");
            }
            assert!(!leader.sleep().unwrap(), "it is told that the case is over");
        });
        let report = report.unwrap();
        let ends = flags.iter().filter(|flags| **flags & message::SLEEP != 0);
        assert!(ends.copied().eq((0..4).map(message::sleep)), "{flags:?}");
        assert_eq!(report.blocks.len(), 6);
        // Warm-up traffic does not count.
        let in_blocks: u64 = report.blocks.iter().map(|block| block.events).sum();
        assert!(
            report.traffic.sent > in_blocks && report.traffic.sent < flags.len() as u64 + in_blocks
        );
    }

    #[test]
    fn a_follower_of_an_unreliable_transport_gets_a_frame_too() {
        let (report, flags) = led(1, false, Span::Process, |mut leader| {
            for goes_on in [true, false] {
                while !leader.asks() {
                    thread::yield_now();
                }
                assert_eq!(leader.take_request().unwrap(), FrameRequest::Sleep);
                assert_eq!(leader.sleep().unwrap(), goes_on);
            }
        });
        assert!(report.is_ok());
        assert_eq!(flags.iter().filter(|flags| **flags & message::SLEEP != 0).count(), 2);
    }

    #[test]
    fn a_follower_that_no_message_reaches_sleeps_all_the_time() {
        let (report, _) = led(2, true, Span::None, |mut leader| leader.await_end().unwrap());
        assert_eq!(report.unwrap().blocks.len(), 4);
    }

    /// From the second slice of 100 ms on, a background turn once had no message if they were further apart.
    #[test]
    fn a_background_turn_sends_at_its_pauses_until_it_is_ended() {
        let load = Load::Interval { pause_ns: 150_000_000 };
        let turns = vec![Turn::Background(7); 2];
        let (report, _) =
            led_with(
                load,
                turns,
                true,
                Span::Process,
                |mut leader| {
                    while leader.sleep().unwrap() {}
                },
            );
        let blocks = report.unwrap().blocks;
        let events: Vec<(u32, u64)> =
            blocks.iter().map(|block| (block.turn, block.events)).collect();
        assert_eq!(events, [(7, 1); 2 * BACKGROUND_BLOCKS as usize]);
    }

    #[test]
    fn an_unexpected_frame_is_quoted_in_the_error() {
        let (report, _) = led(1, true, Span::Process, |leader| {
            leader.0.send(0, b"good morning", &[]).unwrap();
        });
        let said = report.unwrap_err().to_string();
        assert!(said.contains("it sent good morning where asleep belongs"), "{said}");
    }

    #[test]
    fn a_dead_follower_is_a_symptom() {
        let (report, _) = led(1, true, Span::Process, |leader| leader.0.socket(0).close());
        assert!(report.unwrap_err().is_peer_gone());
    }
}
