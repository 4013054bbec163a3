//! The faults, and what the engine must report for each.

use std::time::Duration;

use Act::*;
use FaultySide::*;
use Moment::*;

use ipcmark_faulty::{Act, AffectedMessages, Fault, FaultySide, MessageFault, Moment};
use ipcmark_transport::Pattern;

/// During verification: 32 messages one by one, then 64 in a row.
const VERIFYING: u32 = 10;
/// During the 64 messages in a row.
const IN_A_BURST: u32 = 50;
/// The first of the follower's messages in a row.
const FIRST_OF_A_BURST: u32 = 34;
/// After verification and warm-up.
const MEASURING: u32 = 600;
/// The flag of a message that announces a probe.
const PROBE: u32 = 1 << 4;
/// The flag of the last message before a sleep: of the warm-up, then of each turn.
const SLEEP: u32 = 1 << 5;

/// The flag of a message of a stream.
const STREAM: u32 = 1 << 8;
/// The flag of an answered message whose one-way time is measured.
const MARKED: u32 = 1 << 9;

const IN_THE_FIRST_TURN: Moment = After(SLEEP, 1);
const IN_A_LATER_TURN: Moment = After(SLEEP, 3);
/// While other rows have their turn.
const BETWEEN_TURNS: Moment = Asleep(SLEEP, 2);
/// The same in a row that has only one turn.
const AFTER_ITS_TURN: Moment = BETWEEN_TURNS;

/// One fault and its outcome.
pub struct Scenario {
    /// The name of the test and of the transport.
    pub name: &'static str,
    /// The fault.
    pub fault: Fault,
    /// The expected outcome.
    pub expected: Expected,
}

/// The expected outcome of a fault.
pub enum Expected {
    /// The case fails, and its reason contains each of these.
    Failed(&'static [&'static str]),
    /// The case is measured, and nothing was lost.
    Measured,
    /// The case is measured, and at least this many of its round trips were lost.
    Lossy(u64),
    /// The stream is measured; some messages were lost, without waiting for them.
    LossyStream,
}

/// The pattern of a row: its name starts with the pattern unless that is ping-pong.
pub fn pattern(name: &str) -> Pattern {
    let patterns = [("stream-", Pattern::Throughput), ("one-way-", Pattern::OneWay)];
    let found = patterns.into_iter().find(|(prefix, _)| name.starts_with(prefix));
    found.map_or(Pattern::Latency, |(_, pattern)| pattern)
}

/// The round trips of a row.
const ROUND_TRIPS: u64 = 1000;

/// The timeout for a process that hangs. All other work must be done by then on a busy machine.
const SHORT: Duration = Duration::from_secs(20);

/// The timeout if nothing hangs.
pub const LONG: Duration = Duration::from_secs(300);

impl Scenario {
    /// The time that its case may take beyond its expected length.
    pub fn timeout(&self) -> Duration {
        let told = |words: &&str| words.contains("no end within");
        match self.expected {
            Expected::Failed(words) if words.iter().any(told) => SHORT,
            _ => LONG,
        }
    }

    /// The round trips of each row. A single one takes one turn; five times as many take several turns, however
    /// fast they are.
    fn round_trips(&self) -> u64 {
        match (self.name, self.fault) {
            (ONE_TURN, _) => 1,
            (_, Fault::Process(_, After(..) | Asleep(..), _)) => 5 * ROUND_TRIPS,
            _ => ROUND_TRIPS,
        }
    }
}

/// The round trips of each row in a run of these scenarios. The measurement is well under way at [`MEASURING`].
pub fn round_trips(names: &[&str]) -> u64 {
    let played = SCENARIOS.iter().filter(|scenario| names.contains(&scenario.name));
    played.map(Scenario::round_trips).max().unwrap_or(ROUND_TRIPS)
}

/// The name of the healthy transport.
pub const HEALTHY: &str = "healthy";

/// The transport whose follower stops answering in the middle of the measurement.
pub const HANGING: &str = "hangs-measuring";

/// Transports that fail at different moments of one round: in their first turn, later, and while others have
/// theirs.
pub const AT_DIFFERENT_MOMENTS: [&str; 3] = [FIRST_TURN, LATER_TURN, NO_TURN];
const FIRST_TURN: &str = "killed-in-the-first-turn";
const LATER_TURN: &str = "fails-in-a-later-turn";
const NO_TURN: &str = "killed-between-turns";

/// The transport that fails after all its turns.
const ONE_TURN: &str = "killed-after-its-turn";

const fn failed(name: &'static str, fault: Fault, reason: &'static [&'static str]) -> Scenario {
    Scenario { name, fault, expected: Expected::Failed(reason) }
}

const fn message(
    name: &'static str,
    side: FaultySide,
    ill: MessageFault,
    which: AffectedMessages,
    reason: &'static [&'static str],
) -> Scenario {
    failed(name, Fault::Message(side, ill, which), reason)
}

const fn process(
    name: &'static str,
    side: FaultySide,
    moment: Moment,
    act: Act,
    reason: &'static [&'static str],
) -> Scenario {
    failed(name, Fault::Process(side, moment, act), reason)
}

const fn unreliable(
    name: &'static str,
    ill: MessageFault,
    which: AffectedMessages,
    expected: Expected,
) -> Scenario {
    Scenario { name, fault: Fault::Unreliable(Follower, ill, which), expected }
}

const SEGV: Act = Signal(libc::SIGSEGV);
/// A real-time signal, which has no name.
const REAL_TIME: Act = Signal(43);
const KILL: Act = Signal(libc::SIGKILL);
const STOP: Act = Signal(libc::SIGSTOP);

/// Every scenario.
#[rustfmt::skip]
pub const SCENARIOS: &[Scenario] = &[
    // It waits longest, so it begins first.
    Scenario {
        name: "loses-announced-probes",
        fault: Fault::Unreliable(Leader, MessageFault::Lost, AffectedMessages::Flagged(PROBE)),
        expected: Expected::Lossy(2),
    },
    message("corrupts", Follower, MessageFault::Corrupted, AffectedMessages::At(VERIFYING),
        &["byte 63 is not what was sent: the transport corrupts", "said the leader", "verifying"]),
    message("corrupts-late", Leader, MessageFault::Corrupted, AffectedMessages::From(MEASURING),
        &["a byte is not what was sent: the transport corrupts", "said the follower", "measuring"]),
    message("loses", Leader, MessageFault::Lost, AffectedMessages::At(VERIFYING),
        &["no end within 20 s", "while verifying", "a message was lost", "or its processes did not get the"]),
    message("loses-in-a-burst", Leader, MessageFault::Lost, AffectedMessages::At(IN_A_BURST),
        &["cannot receive message 50: message 51 came instead", "loses or reorders", "verifying"]),
    message("doubles", Leader, MessageFault::Doubled, AffectedMessages::At(VERIFYING),
        &["message 10 came again: the transport duplicates", "said the follower", "verifying"]),
    message("reorders", Follower, MessageFault::Overtaken, AffectedMessages::At(IN_A_BURST),
        &["came instead: the transport loses or reorders", "said the leader", "verifying"]),
    message("cuts", Follower, MessageFault::Cut, AffectedMessages::From(1),
        &["a message of 64 bytes: 63 bytes arrived: the transport truncates", "verifying"]),
    failed("one-queue", Fault::OneQueue, &["took its own message back", "share one queue"]),

    process("leader-fails-to-open", Leader, Open, Fail,
        &["cannot wind the clockwork: the key is missing, said the leader while opening"]),
    process("follower-fails-to-open", Follower, Open, Fail,
        &["cannot wind the clockwork: the key is missing, said the follower while opening"]),
    process("fails-measuring", Follower, Take(MEASURING), Fail,
        &["cannot wind the clockwork: the key is missing, said the follower while measuring"]),
    // Four fifths of the timeout, which is 300 s here.
    failed("never-connects", Fault::NeverConnects,
        &["cannot find the other end: it did not come within 240 s, said the ", "while opening"]),
    process("panics-opening", Follower, Open, Panic,
        &["the follower exited with status 101 while opening", "the clockwork burst"]),
    process("panics-measuring", Leader, Take(MEASURING), Panic,
        &["the leader exited with status 101 while measuring", "the clockwork burst"]),
    process("exits", Follower, Take(MEASURING), Exit,
        &["the follower exited with status 3 while measuring"]),

    process("segfaults-opening", Leader, Open, SEGV,
        &["the leader was killed by signal 11 (SIGSEGV) while opening"]),
    process("segfaults-verifying", Follower, Take(VERIFYING), SEGV,
        &["the follower was killed by signal 11 (SIGSEGV) while verifying"]),
    process("segfaults-measuring", Leader, Take(MEASURING), SEGV,
        &["the leader was killed by signal 11 (SIGSEGV) while measuring"]),
    process("segfaults-closing", Follower, Drop, SEGV,
        &["the follower was killed by signal 11 (SIGSEGV) while closing"]),
    process("killed-opening", Follower, Open, KILL,
        &["the follower was killed by signal 9 (SIGKILL) while opening"]),
    process("killed-verifying", Leader, Take(VERIFYING), KILL,
        &["the leader was killed by signal 9 (SIGKILL) while verifying"]),
    process("killed-measuring", Follower, Take(MEASURING), KILL,
        &["the follower was killed by signal 9 (SIGKILL) while measuring"]),

    // Once nothing reported the end by a signal without a name, and the row took all of the timeout.
    process("killed-by-a-real-time-signal", Follower, Take(MEASURING), REAL_TIME,
        &["the follower was killed by signal 43 while measuring"]),

    process("hangs-opening", Leader, Open, Hang,
        &["no end within 20 s beyond the expected time while opening: ", "a process hangs"]),
    process(HANGING, Follower, Take(MEASURING), Hang,
        &["no end within 20 s beyond the expected time while measuring: ", "a process hangs"]),
    process("leader-hangs-closing", Leader, Drop, Hang,
        &["no end within 20 s beyond the expected time while closing: ", "a process hangs"]),
    process("follower-hangs-closing", Follower, Drop, Hang,
        &["no end within 20 s beyond the expected time while closing: ", "a process hangs"]),
    process("stops-opening", Follower, Open, STOP,
        &["no end within 20 s", "while opening: the follower is stopped"]),
    process("stops-measuring", Leader, Take(MEASURING), STOP,
        &["no end within 20 s", "while measuring: the leader is stopped"]),

    process(FIRST_TURN, Follower, IN_THE_FIRST_TURN, KILL,
        &["the follower was killed by signal 9 (SIGKILL) while measuring"]),
    process("fails-in-the-first-turn", Leader, IN_THE_FIRST_TURN, Fail,
        &["cannot wind the clockwork: the key is missing, said the leader while measuring"]),
    process("hangs-in-the-first-turn", Leader, IN_THE_FIRST_TURN, Hang,
        &["no end within 20 s beyond the expected time while measuring: ", "a process hangs"]),
    process("killed-in-a-later-turn", Leader, IN_A_LATER_TURN, KILL,
        &["the leader was killed by signal 9 (SIGKILL) while measuring"]),
    process(LATER_TURN, Follower, IN_A_LATER_TURN, Fail,
        &["cannot wind the clockwork: the key is missing, said the follower while measuring"]),
    process("hangs-in-a-later-turn", Follower, IN_A_LATER_TURN, Hang,
        &["no end within 20 s beyond the expected time while measuring: ", "a process hangs"]),
    process(NO_TURN, Leader, BETWEEN_TURNS, KILL,
        &["the leader was killed by signal 9 (SIGKILL) while measuring"]),
    process("follower-killed-between-turns", Follower, BETWEEN_TURNS, KILL,
        &["the follower was killed by signal 9 (SIGKILL) while measuring"]),
    process(ONE_TURN, Follower, AFTER_ITS_TURN, KILL,
        &["the follower was killed by signal 9 (SIGKILL) while "]),
    process("exits-between-turns", Follower, BETWEEN_TURNS, Exit,
        &["the follower exited with status 3 while measuring"]),
    process("stops-between-turns", Leader, BETWEEN_TURNS, STOP,
        &["no end within 20 s", "while measuring: the leader is stopped"]),
    process("follower-stops-between-turns", Follower, BETWEEN_TURNS, STOP,
        &["no end within 20 s", "while measuring: the follower is stopped"]),

    process("chatters", Follower, Open, Chatter,
        &["the follower exited with status 4 while opening; its standard error ends with: ",
          "line 99999 to standard output | line 99999 to standard error | the last line"]),
    process("chatters-and-hangs", Leader, Take(MEASURING), ChatterAndHang,
        &["no end within 20 s", "while measuring"]),
    Scenario {
        name: "chatters-on",
        fault: Fault::Process(Follower, Open, ChatterOn),
        expected: Expected::Measured,
    },
    Scenario {
        name: "starts-a-process",
        fault: Fault::Process(Follower, Open, Start),
        expected: Expected::Measured,
    },
    process("litters", Leader, Open, Litter,
        &["the leader was killed by signal 9 (SIGKILL) while opening"]),

    message("stream-loses", Leader, MessageFault::Lost, AffectedMessages::Flagged(STREAM),
        &["came instead: the transport loses or reorders", "said the follower", "warming up"]),
    message("stream-doubles", Leader, MessageFault::Doubled, AffectedMessages::Flagged(STREAM),
        &["came again: the transport duplicates", "said the follower", "warming up"]),
    message("stream-reorders", Leader, MessageFault::Overtaken, AffectedMessages::Flagged(STREAM),
        &["came instead: the transport loses or reorders", "said the follower", "warming up"]),
    message("stream-corrupts", Leader, MessageFault::Corrupted, AffectedMessages::Flagged(STREAM),
        &["a byte is not what was sent: the transport corrupts", "said the follower", "warming up"]),
    message("one-way-doubles", Leader, MessageFault::Doubled, AffectedMessages::Flagged(MARKED),
        &["came again: the transport duplicates", "said the follower", "measuring"]),
    message("one-way-corrupts", Leader, MessageFault::Corrupted, AffectedMessages::Flagged(MARKED),
        &["a byte is not what was sent: the transport corrupts", "said the follower", "measuring"]),
    Scenario {
        name: "stream-lossy",
        fault: Fault::Unreliable(Leader, MessageFault::Lost, AffectedMessages::Every(100)),
        expected: Expected::LossyStream,
    },

    unreliable("lossy", MessageFault::Lost, AffectedMessages::Every(100), Expected::Lossy(10)),
    unreliable("loses-all", MessageFault::Lost, AffectedMessages::From(1),
        Expected::Failed(&["20 round trips in a row were lost", "verifying"])),
    unreliable("late-answer", MessageFault::Late, AffectedMessages::At(VERIFYING), Expected::Lossy(0)),
    unreliable("late-burst", MessageFault::Late, AffectedMessages::At(FIRST_OF_A_BURST), Expected::Lossy(0)),
];
