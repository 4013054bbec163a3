//! Marks: arrival times of messages, noted by the follower under their sequence numbers and joined with the
//! leader's times after the block. Nothing is added to a message, and neither endpoint reads what the other writes
//! while messages travel.
//!
//! Messages are marked in batches of a power of two: the first of each batch to arrive, with the number of messages
//! that had arrived before. A batch of one is a mark per message.
//!
//! Both endpoints read the same clock of the system, on two processors. How far the follower's is ahead is measured
//! before each block and subtracted from its marks: some nanoseconds, or any time if the follower is in another time
//! namespace.

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_machine::clock::{now_ns, thread_cpu_ns};
use ipcmark_results::ClockOffset;
use ipcmark_transport::{Endpoint, Error, Rendezvous, Span};

use super::{
    blocks::BlockLoop,
    context::LoopContext,
    follower::{Follower, Next},
    latency::LatencyLeader,
    message::{BEGIN, CLOCKS, COLLECT, Head, MARKED, STREAM, TouchPolicy, exponent},
    probe::ProbePages,
    turns,
};
use crate::wire::{FollowerReport, Pass};

/// The most marks in a block.
pub(super) const MOST_MARKS: usize = 4096;

/// Marks in one frame, of two numbers each.
const MARKS_A_FRAME: usize = 128;

/// The clocks are compared at most this often before the warm-up.
const ATTEMPTS: u32 = 8;

/// The time at which a batch began to arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// The receiver's clock; 0 if none of the batch arrived.
    pub at_ns: u64,
    /// Messages that had arrived before.
    pub before: u64,
}

/// The marks of a block.
pub(super) struct Marks {
    /// One per batch, up to the last batch that arrived.
    pub batches: Vec<Mark>,
    /// Messages that arrived.
    pub received: u64,
}

/// Takes streamed and marked messages until the case is over. `SIZED` messages have sizes of their own.
pub(super) fn follow<E: Endpoint, T: TouchPolicy, const RELIABLE: bool, const SIZED: bool>(
    end: &mut E,
    pass: &Pass,
    context: LoopContext<'_>,
) -> Result<Option<FollowerReport>, Error> {
    if context.span == Span::None {
        return turns::LeaderChannel(context.peers).await_end().map(|()| None);
    }
    let mut follower = Follower::new(end, pass, context);
    follower.is_silent = true;
    let mut notes = Notes::new();
    let mut streams = false;
    loop {
        let next = match streams {
            true => follower.stream::<T>(|seq| notes.note(seq))?,
            false => follower.next::<T, RELIABLE, SIZED>()?,
        };
        streams = false;
        let head = match next {
            Next::Message(head) => head,
            Next::Collect => {
                notes.send(&mut follower)?;
                continue;
            }
            Next::End => break,
        };
        if head.flags == STREAM {
            notes.note(head.seq);
            streams = RELIABLE && !SIZED;
        } else if head.flags == MARKED {
            notes.note(head.seq);
            follower.send::<T, SIZED>(head.seq)?;
            follower.flagged += 1;
        } else if !notes.flagged::<E, T, RELIABLE>(&mut follower, head)? {
            break;
        }
    }
    Ok(Some(follower.report()))
}

/// The follower's notes of a block.
struct Notes {
    /// Allocated and touched beforehand.
    marks: Vec<Mark>,
    /// The sequence number of the first message.
    first: u64,
    exponent: u32,
    /// The batch of the last message; none before the first.
    batch: u64,
    received: u64,
}

impl Notes {
    fn new() -> Self {
        // Nonzero values, so that every page is already in memory.
        let marks = vec![Mark { at_ns: u64::MAX, before: u64::MAX }; MOST_MARKS];
        Self { marks, first: 0, exponent: 0, batch: u64::MAX, received: 0 }
    }

    /// Notes the arrival of a message that has been read.
    #[inline(always)]
    fn note(&mut self, seq: u64) {
        let batch = seq.wrapping_sub(self.first) >> self.exponent;
        if batch != self.batch {
            // The batches between the two lost all their messages.
            if let Some(mark) = self.marks.get_mut(batch as usize) {
                *mark = Mark { at_ns: now_ns(), before: self.received };
            }
            self.batch = batch;
        }
        self.received += 1;
    }

    /// Handles the flags; false once the case is over.
    #[cold]
    fn flagged<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        &mut self,
        follower: &mut Follower<'_, E>,
        head: Head,
    ) -> Result<bool, Error> {
        if head.flags & BEGIN != 0 {
            self.begin(head);
        }
        let goes_on = follower.answer_flagged::<T, RELIABLE>(head)?;
        if head.flags & COLLECT != 0 {
            self.send(follower)?;
        }
        Ok(goes_on)
    }

    fn begin(&mut self, head: Head) {
        self.marks.fill(Mark::default());
        // A peer that asks for larger batches than there are numbers gets a single batch.
        self.exponent = exponent(head.flags).min(u64::BITS - 1);
        (self.first, self.batch, self.received) = (head.seq + 1, u64::MAX, 0);
    }

    /// Sends the marks, which counts for no cost of the transport: first their number and the number of messages
    /// that arrived.
    #[cold]
    fn send<E: Endpoint>(&mut self, follower: &mut Follower<'_, E>) -> Result<(), Error> {
        let last = self.batch.wrapping_add(1).min(MOST_MARKS as u64) as usize;
        let marks = &self.marks[..last];
        let Follower { meter, leader: turns::LeaderChannel(peers), .. } = follower;
        meter.around_probe(|| {
            peers.send(0, &bytes(&[last as u64, self.received]), &[])?;
            marks.chunks(MARKS_A_FRAME).try_for_each(|marks| {
                let numbers: Vec<u64> =
                    marks.iter().flat_map(|mark| [mark.at_ns, mark.before]).collect();
                peers.send(0, &bytes(&numbers), &[])
            })
        })
    }
}

fn bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The leader's access to the marks of its follower.
pub(super) struct Collector {
    peers: SocketRendezvous,
    aside_ns: u64,
    /// The comparisons of the two clocks; the last one is that of the next block.
    clock_offsets: Vec<ClockOffset>,
}

impl Collector {
    /// Uses the sockets to the followers; the first follower marks. Compares the clocks, for the warm-up and for blocks
    /// without a comparison of their own; on a busy machine that can take several attempts.
    pub(super) fn new<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        ends: &mut LatencyLeader<'_, E, T, RELIABLE>,
        context: &mut LoopContext<'_>,
    ) -> Result<Self, Error> {
        let peers = context.peers.try_clone()?;
        let mut collector = Self { peers, aside_ns: 0, clock_offsets: Vec::new() };
        for _ in 0..ATTEMPTS {
            let Some(pages) = &mut context.probe else { break };
            collector.compare_clocks(ends, pages)?;
            if !collector.clock_offsets.is_empty() {
                break;
            }
        }
        Ok(collector)
    }

    /// Compares the clocks before a block, once a probe has found both endpoints running. If the comparison is given up,
    /// the last one holds.
    pub(super) fn compare_clocks<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        &mut self,
        ends: &mut LatencyLeader<'_, E, T, RELIABLE>,
        pages: &mut ProbePages,
    ) -> Result<(), Error> {
        ends.flagged(CLOCKS)?;
        let start = thread_cpu_ns();
        self.clock_offsets.extend(pages.compare_clocks());
        self.aside_ns += thread_cpu_ns() - start;
        Ok(())
    }

    /// The medians of the comparisons; none if there were none.
    pub(super) fn clock_offset(&self) -> Option<ClockOffset> {
        ClockOffset::median(&self.clock_offsets)
    }

    /// Asks for the marks of the last `sent` messages, in batches of two to the power of `exponent`, and takes
    /// them, by the leader's clock.
    pub(super) fn collect<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        &mut self,
        ends: &mut LatencyLeader<'_, E, T, RELIABLE>,
        sent: u64,
        exponent: u32,
    ) -> Result<Marks, Error> {
        if RELIABLE {
            ends.certainly(COLLECT)?;
        } else {
            turns::ask_for_marks(&mut self.peers)?;
        }
        let start = thread_cpu_ns();
        let mut marks = Marks::receive(&mut self.peers, sent, exponent)?;
        if let Some(offset) = self.clock_offsets.last() {
            marks.subtract(offset.estimate_ns);
        }
        self.aside_ns += thread_cpu_ns() - start;
        Ok(marks)
    }

    /// Returns the CPU time of comparing clocks and taking marks since the last call.
    pub(super) fn take_aside_ns(&mut self) -> u64 {
        std::mem::take(&mut self.aside_ns)
    }
}

impl Marks {
    /// Takes the marks that the follower sends for `sent` messages in batches of two to the power of `exponent`.
    /// The follower can be another user's: impossible values are refused.
    fn receive(peers: &mut SocketRendezvous, sent: u64, exponent: u32) -> Result<Self, Error> {
        let most = sent.div_ceil(1 << exponent).min(MOST_MARKS as u64);
        let [count, received] = numbers(peers)?[..] else { return Err(impossible()) };
        if count > most || received > sent {
            return Err(impossible());
        }
        let mut batches = Vec::with_capacity(count as usize);
        while batches.len() < count as usize {
            let frame = numbers(peers)?;
            let left = count as usize - batches.len();
            if frame.is_empty() || frame.len() > 2 * left || !frame.len().is_multiple_of(2) {
                return Err(impossible());
            }
            batches.extend(frame.chunks(2).map(|pair| Mark { at_ns: pair[0], before: pair[1] }));
        }
        let seen = || batches.iter().filter(|mark| mark.at_ns > 0);
        let in_order = seen().is_sorted_by_key(|mark| mark.at_ns)
            && seen().is_sorted_by_key(|mark| mark.before);
        match in_order && seen().all(|mark| mark.before <= received) {
            true => Ok(Self { batches, received }),
            false => Err(impossible()),
        }
    }

    /// Subtracts the offset of the follower's clock. What has arrived stays so.
    fn subtract(&mut self, ahead_ns: i64) {
        for mark in self.batches.iter_mut().filter(|mark| mark.at_ns > 0) {
            mark.at_ns = mark.at_ns.saturating_add_signed(ahead_ns.saturating_neg()).max(1);
        }
    }
}

fn numbers(peers: &mut SocketRendezvous) -> Result<Vec<u64>, Error> {
    let frame = peers.receive(0)?.0;
    let numbers = frame.chunks_exact(8);
    match numbers.remainder() {
        [] => Ok(numbers.map(|n| u64::from_le_bytes(n.try_into().expect("8 bytes"))).collect()),
        _ => Err(impossible()),
    }
}

#[cold]
fn impossible() -> Error {
    Error::new("collect", "the follower's marks", "they are not those of the messages sent")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::message::begin;

    fn noted(exponent: u32, arrivals: &[u64]) -> Notes {
        let mut notes = Notes::new();
        notes.begin(Head { seq: 99, flags: begin(exponent) });
        arrivals.iter().for_each(|at| notes.note(100 + at));
        notes
    }

    #[test]
    fn the_first_of_each_batch_is_marked_with_those_before() {
        let notes = noted(2, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let before: Vec<u64> = notes.marks[..3].iter().map(|mark| mark.before).collect();
        assert_eq!((before, notes.received), (vec![0, 4, 8], 9));
        assert!(notes.marks[..3].is_sorted_by_key(|mark| mark.at_ns) && notes.marks[0].at_ns > 0);
        assert_eq!(notes.marks[3], Mark::default());
    }

    #[test]
    fn a_batch_that_was_lost_has_no_mark() {
        let notes = noted(1, &[0, 5]);
        let seen: Vec<bool> = notes.marks[..4].iter().map(|mark| mark.at_ns > 0).collect();
        assert_eq!(seen, [true, false, true, false]);
        assert_eq!(notes.marks[2].before, 1);
    }

    #[test]
    fn more_than_there_is_room_for_is_counted_and_not_marked() {
        let all: Vec<u64> = (0..MOST_MARKS as u64 + 7).collect();
        assert_eq!(noted(0, &all).received, all.len() as u64);
    }

    #[test]
    fn marks_are_those_of_the_leaders_clock() {
        let marked = |times: [u64; 3], ahead_ns| {
            let batches = times.map(|at_ns| Mark { at_ns, before: 0 }).to_vec();
            let mut marks = Marks { batches, received: 2 };
            marks.subtract(ahead_ns);
            marks.batches.iter().map(|mark| mark.at_ns).collect::<Vec<_>>()
        };
        assert_eq!(marked([1_000, 0, 1_200], 30), [970, 0, 1_170]);
        assert_eq!(marked([1_000, 0, 1_200], -5_000_000_000), [5_000_001_000, 0, 5_000_001_200]);
        assert_eq!(marked([1_000, 0, 1_200], i64::MAX), [1, 0, 1], "they have arrived");
        assert_eq!(marked([1, 0, u64::MAX], i64::MIN)[2], u64::MAX);
    }

    #[test]
    fn marks_that_cannot_be_are_refused() {
        let taken = |frames: &[&[u64]]| {
            let (mut ours, mut theirs) = SocketRendezvous::pair().unwrap();
            frames.iter().for_each(|frame| theirs.send(0, &bytes(frame), &[]).unwrap());
            drop(theirs);
            Marks::receive(&mut ours, 8, 1).map(|marks| (marks.batches.len(), marks.received))
        };
        assert_eq!(taken(&[&[2, 4], &[70, 0, 71, 2]]).unwrap(), (2, 4));
        assert_eq!(taken(&[&[2, 4], &[70, 0], &[71, 2]]).unwrap(), (2, 4));
        assert_eq!(taken(&[&[0, 0]]).unwrap(), (0, 0));
        let lies: [&[&[u64]]; 8] = [
            &[&[5, 8], &[1; 10]],
            &[&[1, 9], &[1, 0]],
            &[&[2, 4], &[70, 0, 69, 2]],
            &[&[2, 4], &[70, 3, 71, 2]],
            &[&[2, 4], &[70, 0, 71, 5]],
            &[&[1, 4], &[70, 0, 71]],
            &[&[1, 4], &[]],
            &[&[1]],
        ];
        for lie in lies {
            assert!(taken(lie).unwrap_err().to_string().contains("not those of"), "{lie:?}");
        }
    }
}
