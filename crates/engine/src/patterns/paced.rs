//! The turn of a load that pauses: each message at its time, in blocks between probes.
//!
//! Every block is sampled: each message is waited for anyway, so one more clock reading disturbs nothing.

use hdrhistogram::Histogram;
use ipcmark_machine::clock::now_ns;
use ipcmark_transport::Error;

use super::{
    blocks::{BlockLoop, BlockRecorder, IsOver, MOST_SAMPLES, Probe, place},
    cost_meter::Pauses,
    pacer::{Due, Pacer, Sent, Tally},
    probe::Distance,
};
use crate::wire::{Block, BlockKind, OfferedReport, TurnLimit};

/// The state and the results of a load that pauses.
pub(super) struct Paced {
    pacer: Pacer,
    sent: Vec<Sent>,
    service: Histogram<u64>,
    delay: Histogram<u64>,
    /// Unsent messages, by the time that they waited until the end.
    unsent: Histogram<u64>,
}

impl Paced {
    pub(super) fn new(pacer: Pacer) -> Self {
        let new = ipcmark_results::new_histogram;
        // Nonzero values, so that every page is already in memory.
        let due = Due { intended_ns: u64::MAX, start_ns: u64::MAX, len: usize::MAX };
        let sent = vec![Sent { due, end_ns: u64::MAX }; MOST_SAMPLES];
        Self { pacer, sent, service: new(), delay: new(), unsent: new() }
    }

    /// Returns the costs of waiting for the times of messages since the last call.
    pub(super) fn take_pauses(&mut self) -> Pauses {
        self.pacer.take_pauses()
    }

    /// One turn: blocks between probes until the schedule is over, or until `is_over`.
    pub(super) fn turn(
        &mut self,
        recorder: &mut BlockRecorder,
        ends: &mut dyn BlockLoop,
        limit: TurnLimit,
        probe: &mut Probe<'_>,
        is_over: &mut IsOver<'_>,
    ) -> Result<(), Error> {
        let mut left = limit.samples;
        let start_ns = now_ns();
        let mut before = probed(ends, probe)?;
        self.pacer.probed(now_ns() - start_ns);
        self.pacer.begin(limit.time_ns);
        loop {
            let length = self.pacer.messages_in(recorder.length_ns()).min(MOST_SAMPLES);
            let most = (left.min(length as u64) as usize).max(1);
            let mut block = self.block(ends, most)?;
            block.turn = limit.number;
            left = left.saturating_sub(block.events);
            self.pacer.pause();
            let after = probed(ends, probe)?;
            place(&mut block, before, after);
            before = after;
            self.keep(recorder, block);
            let is_over = is_over()?;
            self.pacer.resume();
            if is_over {
                self.pacer.stop();
            }
            if is_over || left == 0 || !self.pacer.has_next() {
                break;
            }
        }
        let unsent = &mut self.unsent;
        self.pacer.end(left, |waited_ns, count| {
            let waited_ns = waited_ns.clamp(1, unsent.high());
            unsent.record_n(waited_ns, count).expect("it is within the range");
        });
        Ok(())
    }

    fn block(&mut self, ends: &mut dyn BlockLoop, most: usize) -> Result<Block, Error> {
        let lost = ends.losses().count;
        let start_ns = now_ns();
        let count = ends.paced(&mut self.sent[..most], &mut self.pacer)?;
        let elapsed_ns = self.sent[..count].iter().map(Sent::response_ns).sum();
        let lost = ends.losses().count - lost;
        let (kind, events) = (BlockKind::Sampled, count as u64);
        let samples = events;
        // No sleeps: the leader also sleeps until the next message is due.
        Ok(Block { start_ns, kind, events, samples, elapsed_ns, lost, ..Block::default() })
    }

    /// Sorts the times of a block into histograms.
    fn keep(&mut self, recorder: &mut BlockRecorder, block: Block) {
        let sent = &self.sent[..block.events as usize];
        for one in sent {
            self.service.saturating_record(one.end_ns - one.due.start_ns);
            self.delay.saturating_record(one.due.start_ns - one.due.intended_ns);
        }
        // The last block is empty if its messages were due after the end.
        if !sent.is_empty() {
            recorder.keep(block, sent.iter().map(Sent::response_ns));
        }
    }

    /// The offered load, with the waiting times of unsent messages; nothing if messages had no intended times.
    pub(super) fn finish(self) -> Option<OfferedReport> {
        let Tally { sent, lost, unsent, late, elapsed_ns } = self.pacer.tally()?;
        let encode = ipcmark_results::encode;
        Some(OfferedReport {
            sent,
            lost,
            unsent,
            late,
            elapsed_ns,
            service: encode(&self.service),
            delay: encode(&self.delay),
            waited: encode(&self.unsent),
        })
    }
}

/// A probe, and a round trip after it: the next message must not benefit from what a probe leaves awake and warm.
fn probed(ends: &mut dyn BlockLoop, probe: &mut Probe<'_>) -> Result<Option<Distance>, Error> {
    let distance = probe(ends)?;
    ends.flagged(0)?;
    Ok(distance)
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use ipcmark_results::{Arrivals, Load};
    use ipcmark_transport::Wait;

    use super::*;
    use crate::patterns::scripted::Scripted;
    use crate::wire::Pass;

    const NEAR: Distance = Distance::RoundTrip(70.0);

    /// One turn at this rate; returns the offered load, the number of samples, and the blocks.
    fn turn(per_second: u64, limit: TurnLimit) -> (OfferedReport, u64, Vec<Block>) {
        turn_with(per_second, limit, &mut |_| Ok(Some(NEAR)))
    }

    fn turn_with(
        per_second: u64,
        limit: TurnLimit,
        probe: &mut Probe<'_>,
    ) -> (OfferedReport, u64, Vec<Block>) {
        let load = Load::Rate { per_second, arrivals: Arrivals::Fixed };
        let mut recorder = BlockRecorder::new(Duration::from_micros(1500), 1000.0);
        let mut paced = Paced::new(Pacer::new(&Pass::of(load), Wait::Block).unwrap());
        let mut ends = Scripted::new(1000);
        paced.turn(&mut recorder, &mut ends, limit, probe, &mut || Ok(false)).unwrap();
        let (blocks, groups) = recorder.finish();
        let samples = groups.iter().map(|group| {
            assert!(group.bins.is_some(), "all were measured near");
            ipcmark_results::decode(&group.histogram).unwrap().len()
        });
        (paced.finish().unwrap(), samples.sum(), blocks)
    }

    #[test]
    fn a_count_is_met_and_every_message_has_a_sample() {
        let limit = TurnLimit { number: 3, time_ns: u64::MAX / 2, samples: 50 };
        let (offered, samples, blocks) = turn(10_000, limit);
        assert_eq!((offered.sent, offered.unsent, samples), (50, 0, 50));
        assert_eq!(blocks.iter().map(|block| block.events).sum::<u64>(), 50);
        assert!(blocks.iter().all(|block| block.turn == 3 && block.kind == BlockKind::Sampled));
        assert!(blocks.len() > 1, "1.5 ms hold 15 of them");
    }

    /// The whole pause around a probe was once left out of the schedule, however long it took.
    #[test]
    fn a_stall_around_a_probe_makes_the_messages_late_that_were_due_in_it() {
        let limit = TurnLimit { number: 0, time_ns: u64::MAX / 2, samples: 200 };
        let mut probes = 0;
        let (offered, ..) = turn_with(1000, limit, &mut |_| {
            probes += 1;
            if probes == 10 {
                thread::sleep(Duration::from_millis(100));
            }
            Ok(Some(NEAR))
        });
        // About 100; fewer if the machine was busy in all of the nine probes before.
        assert!(offered.late >= 50, "{offered:?}");
    }

    /// The losses of the round trips around probes are not those of the load.
    #[test]
    fn only_losses_of_the_load_count_as_not_received() {
        let load = Load::Rate { per_second: 10_000, arrivals: Arrivals::Fixed };
        let mut paced = Paced::new(Pacer::new(&Pass::of(load), Wait::Spin).unwrap());
        let mut ends = Scripted { lost: vec![0, 3, 4], ..Scripted::new(1000) };
        let limit = TurnLimit { number: 0, time_ns: u64::MAX / 2, samples: 10 };
        let mut recorder = BlockRecorder::new(Duration::from_micros(1500), 1000.0);
        paced.turn(&mut recorder, &mut ends, limit, &mut |_| Ok(None), &mut || Ok(false)).unwrap();
        // The first round trip follows a probe.
        let offered = paced.finish().unwrap();
        assert_eq!((offered.sent, offered.lost), (10, 2));
    }

    #[test]
    fn a_turn_of_limited_time_ends_at_any_rate() {
        let limit = TurnLimit { number: 0, time_ns: 20_000_000, samples: u64::MAX };
        let (offered, samples, _) = turn(100_000_000, limit);
        assert_eq!(samples, offered.sent);
        assert!(offered.unsent > 0 && offered.late >= offered.unsent, "{offered:?}");
        let waited = ipcmark_results::decode(&offered.waited).unwrap();
        assert_eq!(waited.len(), offered.unsent);
        let intended = offered.sent + offered.unsent;
        assert!(intended.abs_diff(2_000_000) <= 1, "{offered:?}");
        assert!(waited.min() >= 9_000_000, "all that waited less was sent: {offered:?}");
    }

    /// Its samples once made a group of their own, and a report has no more groups than blocks.
    #[test]
    fn a_block_in_which_nothing_was_due_any_more_leaves_nothing() {
        let mut recorder = BlockRecorder::new(Duration::from_micros(1500), 1000.0);
        let load = Load::Interval { pause_ns: 1 };
        let mut paced = Paced::new(Pacer::new(&Pass::of(load), Wait::Block).unwrap());
        let empty = Block {
            turn: 0,
            start_ns: 0,
            kind: BlockKind::Sampled,
            events: 0,
            samples: 0,
            elapsed_ns: 0,
            lost: 0,
            sleeps: None,
            probes_ns: Some([70.0, 70.0]),
            shared: false,
        };
        paced.keep(&mut recorder, empty);
        let (blocks, samples) = recorder.finish();
        assert!(blocks.is_empty() && samples.is_empty());
    }
}
