//! Bounds for a worker's reports. A worker can be another user's, or run a library that corrupts its memory: a
//! report must be possible for a process that had the given time, or it is rejected.

use ipcmark_results::{ChannelRecord, ClockOffset};

use super::{
    blocks::{Block, SampleGroup},
    reports::{
        AnswerReport, CallCosts, ClockReport, Costs, FollowerReport, Holdings, LeaderReport,
        Mapping, OfferedReport, OneWayReport, Opened, ProcessorCosts, StreamReport, ThreadCosts,
        Traffic,
    },
};

/// More settings than any library reports.
const MAX_SETTINGS: usize = 100;

/// More threads than run at once on any machine.
const MAX_THREADS: u64 = 1 << 16;

/// More bytes than a process has, or than a network carries during a measurement.
const MAX_MEMORY: u64 = 1 << 50;

/// More mappings than any process has.
const MAX_MAPPINGS: usize = 10_000;

/// More followers than any leader has.
const MAX_FOLLOWERS: usize = 1 << 16;

/// More system calls than there are.
const MAX_CALLS: usize = 1 << 10;

/// More kinds of queues, by capacity, than a process has.
const MAX_CHANNELS: usize = 1 << 10;

/// More processes than any library starts besides its endpoints.
const MAX_HELPERS: usize = 1 << 10;

/// More cycles than any processor has in a nanosecond.
const MAX_CYCLES: u64 = 16;

/// More instructions than any processor retires in a cycle.
const MAX_INSTRUCTIONS: u64 = 32;

/// True for a time of at most `most` nanoseconds.
pub(super) fn is_time(ns: f64, most: u64) -> bool {
    ns >= 0.0 && ns <= most as f64
}

impl Opened {
    /// True if it is possible for a process that was given `most` nanoseconds; likewise below.
    pub(super) fn is_possible(&self, most: u64) -> bool {
        self.setup_ns <= most && self.configuration.len() <= MAX_SETTINGS
    }
}

impl ClockReport {
    pub(super) fn is_possible(&self, most: u64) -> bool {
        is_time(self.read_ns, most) && self.step_ns <= most
    }
}

impl FollowerReport {
    pub(super) fn is_possible(&self, most: u64) -> bool {
        self.traffic.is_possible(most)
            && self.costs.as_ref().is_none_or(|costs| costs.is_possible(most))
            && self.thread.is_possible(most)
    }
}

impl LeaderReport {
    pub(super) fn is_possible(&self, most: u64) -> bool {
        let Self { blocks, samples, traffic, costs, lost, late, lost_wait_ns, answers, .. } = self;
        let helpers = self.helpers.iter().flat_map(|helper| [helper.cpu_ns, helper.idle_cpu_ns]);
        are_possible_blocks(blocks, most, self.offered.is_some())
            && self.offered.as_ref().is_none_or(|offered| offered.is_possible(most))
            && are_possible_samples(samples, blocks)
            && self.one_way.as_ref().is_none_or(OneWayReport::is_possible)
            && self.stream.as_ref().is_none_or(|stream| stream.is_possible(most))
            && traffic.is_possible(most)
            && costs.is_possible(most)
            && [lost, late, lost_wait_ns].into_iter().all(|figure| *figure <= most)
            && self.parts_per_message.is_none_or(|parts| is_time(parts, most))
            && self.working_set.is_none_or(|set| set.written.max(set.read) <= most)
            && self.first_round_trip_ns.is_none_or(|first_ns| first_ns <= most)
            && self.thread.is_possible(most)
            && self.helpers.len() <= MAX_HELPERS
            && helpers.into_iter().all(|figure| figure <= most.saturating_mul(MAX_THREADS))
            && answers.len() <= MAX_FOLLOWERS
            && answers.iter().all(|answer| AnswerReport::is_possible(answer, most))
    }
}

impl OfferedReport {
    /// The load has at most one message per nanosecond.
    fn is_possible(&self, most: u64) -> bool {
        let Self { sent, lost, unsent, late, elapsed_ns, .. } = self;
        [sent, unsent, elapsed_ns].into_iter().all(|figure| *figure <= most)
            && lost <= sent
            && *late <= sent + unsent
    }
}

impl OneWayReport {
    /// The follower can be in another time namespace, so any offset is possible.
    fn is_possible(&self) -> bool {
        self.clock_offset.is_none_or(|ClockOffset { least_ns, estimate_ns, most_ns }| {
            least_ns <= estimate_ns && estimate_ns <= most_ns
        })
    }
}

impl Holdings {
    /// True if the lists are bounded, and the bytes fit into memory.
    pub(super) fn is_possible(&self) -> bool {
        let holds = |channel: &ChannelRecord| channel.send_bytes.max(channel.receive_bytes);
        u64::from(self.threads) <= MAX_THREADS
            && self.channels.len() <= MAX_CHANNELS
            && self.channels.iter().all(|channel| holds(channel) <= MAX_MEMORY)
    }
}

impl StreamReport {
    /// Each message takes at least a nanosecond.
    fn is_possible(&self, most: u64) -> bool {
        self.sent <= most
            && self.received <= self.sent
            && self.published.len() <= MAX_FOLLOWERS
            && self.published.iter().all(|messages| *messages <= most)
    }
}

impl AnswerReport {
    fn is_possible(&self, most: u64) -> bool {
        self.lost <= most
    }
}

impl Traffic {
    /// Each message takes at least a nanosecond.
    fn is_possible(&self, most: u64) -> bool {
        self.sent <= most && self.received <= most
    }
}

impl Costs {
    fn is_possible(&self, most: u64) -> bool {
        let of_all_threads = most.saturating_mul(MAX_THREADS);
        let Self { cpu_ns, other_threads_ns, user_ns, system_ns, switches, faults, .. } = self;
        let counts = [switches.voluntary, switches.involuntary, faults.minor, faults.major];
        let times = [*cpu_ns, *other_threads_ns, *user_ns, *system_ns];
        times.into_iter().chain(counts).all(|figure| figure <= of_all_threads)
            && self.peak_memory_bytes <= MAX_MEMORY
            && self.loopback_bytes <= MAX_MEMORY
            && self.idle_ns <= most
            && self.turns_ns <= most
            && self.idle_cpu_ns <= of_all_threads
            && self.calls.len() <= MAX_CALLS
            && self.calls.iter().all(|calls| calls.is_possible(of_all_threads))
            && self.processor.is_none_or(|processor| processor.is_possible(of_all_threads))
    }
}

impl ProcessorCosts {
    fn is_possible(&self, most_ns: u64) -> bool {
        let most = most_ns.saturating_mul(MAX_CYCLES);
        self.instructions <= most.saturating_mul(MAX_INSTRUCTIONS) && self.cycles <= most
    }
}

impl CallCosts {
    fn is_possible(&self, most: u64) -> bool {
        self.made <= most && self.failed <= self.made && self.bytes <= MAX_MEMORY
    }
}

impl ThreadCosts {
    fn is_possible(&self, most: u64) -> bool {
        let Self { cpu_ns, run_delay_ns, sleeps, pauses, idles } = *self;
        let figures = [cpu_ns, run_delay_ns, sleeps, pauses, idles.unwrap_or(0)];
        figures.into_iter().all(|figure| figure <= most)
    }
}

/// Blocks follow one another, within the available time. In an open loop several messages wait at once.
fn are_possible_blocks(blocks: &[Block], most: u64, is_open: bool) -> bool {
    let sum = |figure: fn(&Block) -> u64| {
        blocks.iter().fold(0_u64, |sum, block| sum.saturating_add(figure(block)))
    };
    let in_order = blocks.windows(2).all(|pair| pair[0].start_ns <= pair[1].start_ns);
    in_order
        && (is_open || sum(|block| block.elapsed_ns) <= most)
        && blocks.iter().all(|block| block.elapsed_ns <= most.saturating_mul(block.events))
        && sum(|block| block.events) <= most
        && blocks.iter().all(|block| block.samples <= block.events)
        && sum(|block| block.lost) <= most
        && blocks.iter().all(|block| has_possible_probes(block, most))
        && blocks.windows(2).all(|pair| pair[0].sleeps.is_some() == pair[1].sleeps.is_some())
}

/// The list of a process's mappings is bounded, and together they fit into its addresses.
pub(super) fn are_possible_mappings(shared: &[Mapping]) -> bool {
    let bytes = shared.iter().fold(0_u64, |sum, mapping| sum.saturating_add(mapping.bytes));
    shared.len() <= MAX_MAPPINGS && bytes <= MAX_MEMORY
}

/// Probes must be positive, because their logarithms are used.
fn has_possible_probes(block: &Block, most: u64) -> bool {
    let probes = block.probes_ns.iter().flatten();
    probes.into_iter().all(|probe| *probe > 0.0 && is_time(*probe, most))
}

/// Every group has samples of some block, and every step of the scale at most one group of each kind.
fn are_possible_samples(samples: &[SampleGroup], blocks: &[Block]) -> bool {
    let kind = |group: &SampleGroup| (group.bins, group.awake, group.shared);
    samples.len() <= blocks.len() && samples.windows(2).all(|pair| kind(&pair[0]) < kind(&pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{BlockKind, ProbeBin, WorkingSetReport};

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn mappings_fit_into_the_addresses_of_a_process_together() {
        let mapping = |bytes| Mapping { id: "00:01 7".into(), bytes, name: "/dev/shm/x".into() };
        assert!(are_possible_mappings(&[mapping(4096), mapping(MAX_MEMORY / 2)]));
        // Their sum exceeds 64 bits.
        assert!(!are_possible_mappings(&[mapping(u64::MAX), mapping(1)]));
        assert!(!are_possible_mappings(&vec![mapping(0); MAX_MAPPINGS + 1]));
    }

    fn block(start_ns: u64) -> Block {
        Block {
            turn: 0,
            start_ns,
            kind: BlockKind::Sampled,
            events: 1000,
            samples: 1000,
            elapsed_ns: 500_000,
            lost: 0,
            sleeps: Some(900),
            probes_ns: Some([70.0, 71.0]),
            shared: false,
        }
    }

    fn group(bin: Option<u16>) -> SampleGroup {
        SampleGroup {
            bins: bin.map(|bin| [ProbeBin(bin); 2]),
            awake: false,
            shared: false,
            histogram: String::new(),
        }
    }

    fn compared(clock_offset: ClockOffset) -> OneWayReport {
        let (send, clock_offset) = (String::new(), Some(clock_offset));
        OneWayReport { send, round_trips: None, clock_offset }
    }

    fn report() -> LeaderReport {
        LeaderReport {
            blocks: vec![block(10), block(20)],
            samples: vec![group(None), group(Some(3))],
            traffic: Traffic { sent: 2000, received: 2000 },
            costs: Costs { cpu_ns: 1_000_000, ..Costs::default() },
            ..LeaderReport::default()
        }
    }

    fn is_possible_with(lie: impl FnOnce(&mut LeaderReport)) -> bool {
        let mut report = report();
        lie(&mut report);
        report.is_possible(SECOND)
    }

    #[test]
    fn possible_reports_of_a_leader_are_accepted() {
        assert!(is_possible_with(|_| {}));
        assert!(is_possible_with(|report| report.blocks[0].probes_ns = None));
    }

    #[test]
    fn impossible_reports_of_a_leader_are_rejected() {
        let lies: [fn(&mut LeaderReport); 26] = [
            |report| report.blocks[1].samples = 1001,
            |report| report.blocks[1].sleeps = None,
            |report| report.samples[1] = SampleGroup { awake: false, ..group(None) },
            |report| {
                report.one_way =
                    Some(compared(ClockOffset { least_ns: 9, estimate_ns: 9, most_ns: -9 }));
            },
            |report| {
                report.one_way =
                    Some(compared(ClockOffset { least_ns: -9, estimate_ns: 10, most_ns: 9 }));
            },
            |report| {
                let (sent, received) = (5, 6);
                report.stream = Some(StreamReport { sent, received, ..StreamReport::default() });
            },
            |report| {
                let published = vec![1, u64::MAX];
                report.stream = Some(StreamReport { published, ..StreamReport::default() });
            },
            |report| report.blocks[1].start_ns = 9,
            |report| report.blocks[1].elapsed_ns = u64::MAX,
            |report| report.blocks[1].events = u64::MAX,
            |report| report.blocks[1].lost = u64::MAX,
            |report| report.blocks[1].probes_ns = Some([0.0, 70.0]),
            |report| report.blocks[1].probes_ns = Some([70.0, 1e300]),
            |report| report.blocks[1].probes_ns = Some([-70.0, 70.0]),
            |report| report.samples = vec![group(Some(3)), group(Some(3))],
            |report| report.samples = (0..3).map(|bin| group(Some(bin))).collect(),
            |report| report.traffic.sent = u64::MAX,
            |report| report.lost = u64::MAX,
            |report| report.costs.cpu_ns = u64::MAX,
            |report| report.costs.faults.minor = u64::MAX,
            |report| report.thread.sleeps = u64::MAX,
            |report| {
                report.offered =
                    Some(OfferedReport { sent: 5, lost: 6, ..OfferedReport::default() });
            },
            |report| report.thread.pauses = u64::MAX,
            |report| {
                let cycles = u64::MAX;
                report.costs.processor = Some(ProcessorCosts { cycles, ..Default::default() });
            },
            |report| {
                let (written, read, is_complete) = (1, u64::MAX, true);
                report.working_set = Some(WorkingSetReport { written, read, is_complete });
            },
            |report| report.parts_per_message = Some(-1.0),
        ];
        for (number, lie) in lies.into_iter().enumerate() {
            assert!(!is_possible_with(lie), "lie {number}");
        }
    }

    #[test]
    fn impossible_reports_of_an_endpoint_are_rejected() {
        let settings = (0..=MAX_SETTINGS).map(|n| (format!("{n}").into(), "".into())).collect();
        let opened = Opened { setup_ns: 0, configuration: settings, process: "".into() };
        assert!(!opened.is_possible(SECOND));
        let opened = Opened { setup_ns: 2 * SECOND, configuration: [].into(), process: "".into() };
        assert!(!opened.is_possible(SECOND));
        assert!(!ClockReport { read_ns: -1.0, step_ns: 1 }.is_possible(SECOND));
        let traffic = Traffic { sent: u64::MAX, received: 0 };
        assert!(
            !FollowerReport { traffic, costs: None, thread: ThreadCosts::default() }
                .is_possible(SECOND)
        );
    }
}
