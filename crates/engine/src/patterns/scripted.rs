//! Simulated round trips with times that the test sets.

use ipcmark_transport::Error;

use super::{
    blocks::BlockLoop,
    losses::Losses,
    steps::{ClockFree, Sampled},
};
use crate::wire::Traffic;

/// Round trips of one duration.
pub(super) struct Scripted {
    /// The time of each round trip.
    pub round_trip_ns: u64,
    /// The flags of the round trips outside the blocks.
    pub flags: Vec<u32>,
    /// The round trips outside the blocks that are lost, by their numbers.
    pub lost: Vec<usize>,
    /// The number of losses in each block.
    pub lost_a_block: u64,
    pub losses: Losses,
    pub sent: u64,
}

impl Scripted {
    pub fn new(round_trip_ns: u64) -> Self {
        let (flags, losses) = (Vec::new(), Losses::default());
        Self { round_trip_ns, flags, lost: Vec::new(), lost_a_block: 0, losses, sent: 0 }
    }

    fn block(&mut self, count: u64) -> u64 {
        self.sent += count;
        self.losses.count += self.lost_a_block;
        count
    }
}

impl BlockLoop for Scripted {
    fn flagged(&mut self, flags: u32) -> Result<bool, Error> {
        self.flags.push(flags);
        self.sent += 1;
        Ok(!self.lost.contains(&(self.flags.len() - 1)))
    }

    fn sampled(
        &mut self,
        slots: &mut [u64],
        wanted: u64,
        length_ns: u64,
    ) -> Result<Sampled, Error> {
        let most = slots.len().min(wanted as usize);
        let samples = most.min(length_ns.div_ceil(self.round_trip_ns) as usize);
        slots[..samples].fill(self.round_trip_ns);
        let events = self.block(samples as u64);
        let elapsed_ns = events * self.round_trip_ns;
        Ok(Sampled { samples, events, elapsed_ns, spent: events })
    }

    fn clock_free(&mut self, count: u64) -> Result<ClockFree, Error> {
        let round_trips = self.block(count);
        Ok(ClockFree { round_trips, elapsed_ns: round_trips * self.round_trip_ns })
    }

    fn start_measuring(&mut self) {
        self.losses = Losses::default();
    }

    fn losses(&self) -> &Losses {
        &self.losses
    }

    fn traffic(&self) -> Traffic {
        Traffic { sent: self.sent, received: self.sent }
    }
}
