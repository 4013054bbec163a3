//! Explains a message's time: each operation of its mechanism, counted, times what one costs on this machine. The rest
//! is the transport's own. This is a model, shown beside the measurement.

use ipcmark_transport::Wait;

use crate::{
    model::{CallRecord, ProcessRecord, ProcessorRecord, Trial},
    rows::{Figure, Row},
    stats::median,
};

/// A call that occurs less often than this per message belongs to the harness, around its turns, and not to the
/// transport.
const RARE: f64 = 0.1;

/// Parts with a smaller count per message are dropped.
const LEAST: f64 = 0.005;

/// Costs on this machine, each measured alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitCosts {
    /// A system call that does nothing, in nanoseconds.
    pub call_ns: f64,
    /// A copy of the payload, in nanoseconds.
    pub copy_ns: f64,
}

/// The kinds of parts of a message's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A sleeping process is woken: a bare futex hand-over, with its two calls.
    WakeUp,
    /// A cache line travels from one processor to the other, to tell it that there is a message.
    Line,
    /// The payload is written, travels, and is read.
    Payload,
    /// System calls are entered and left.
    Calls,
    /// The kernel copies the payload.
    Copies,
}

/// A part of a message's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimePart {
    /// The kind of the part.
    pub kind: PartKind,
    /// The number of these that a message needs.
    pub count: f64,
    /// The cost of one on this machine, in nanoseconds.
    pub each_ns: f64,
}

impl TimePart {
    /// The share of the message's time, in nanoseconds.
    pub fn time_ns(&self) -> f64 {
        self.count * self.each_ns
    }
}

/// The calls of one end.
#[derive(Clone, Debug, PartialEq)]
pub struct SideCalls {
    /// The kernel's name for its process.
    pub process: String,
    /// Its calls per message that it sends, each with its failed calls and its bytes; the most frequent first.
    pub calls: Vec<CallsPerMessage>,
}

/// A system call, per message.
#[derive(Clone, Debug, PartialEq)]
pub struct CallsPerMessage {
    /// Its name.
    pub name: String,
    /// Calls that did something.
    pub done: f64,
    /// Calls that found nothing, made while waiting.
    pub failed: f64,
    /// Bytes that they carried.
    pub bytes: f64,
}

/// The work of the processors for one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct SideWork {
    /// The kernel's name for its process.
    pub process: String,
    /// Its instructions a message that it sends.
    pub instructions: f64,
    /// Its cycles a message that it sends.
    pub cycles: f64,
    /// True if those within the kernel are among both.
    pub with_kernel: bool,
}

impl SideWork {
    /// Instructions a cycle; none where it used no cycle.
    pub fn instructions_per_cycle(&self) -> Option<f64> {
        (self.cycles > 0.0).then(|| self.instructions / self.cycles)
    }
}

/// The trials of a row whose times are not used.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountedTrials<'a> {
    /// That in which the system calls were counted.
    pub calls: Option<&'a Trial>,
    /// That in which instructions and cycles were.
    pub work: Option<&'a Trial>,
}

/// The explanation of the time of a row's messages.
#[derive(Clone, Debug)]
pub struct Explanation<'a> {
    /// The row.
    pub row: Row<'a>,
    /// One way: half of its round trip.
    pub hop: Figure,
    /// The parts that could be counted and whose cost is known.
    pub parts: Vec<TimePart>,
    /// Sleeps per message beyond that of the receiver whose processor must be woken; the rest includes their cost.
    pub further_sleeps: f64,
    /// The calls of each end; empty if they were not counted.
    pub sides: Vec<SideCalls>,
    /// The work of the processors for each endpoint; empty if it was not counted.
    pub work: Vec<SideWork>,
}

impl Explanation<'_> {
    /// The time that the parts leave over; below 0 if they overlap in time.
    pub fn rest_ns(&self) -> f64 {
        self.hop.value - self.parts.iter().map(TimePart::time_ns).sum::<f64>()
    }
}

/// Explanations, with notes on all of them.
#[derive(Clone, Debug, Default)]
pub struct Explanations<'a> {
    /// One a row.
    pub rows: Vec<Explanation<'a>>,
    /// Rows that could not be measured or counted, with the reasons.
    pub failures: Vec<String>,
    /// Counts that are left out because this machine has none.
    pub remarks: Vec<String>,
}

/// Explains a row of round trips, at the reference distance or, if it has no block there, over
/// all processor positions.
/// `counted` is the same row of runs that counted. None if the row has no time.
pub fn explain<'a>(
    row: Row<'a>,
    counted: CountedTrials<'_>,
    unit_costs: UnitCosts,
) -> Option<Explanation<'a>> {
    let row = if row.location().is_some() { row } else { row.overall() };
    let hop = half(row.location()?);
    let sides = of_sides(counted.calls, side);
    let (wake_up, sleeps) = (wake_up(&row, hop), sleeps(&row));
    // Other wake-ups happen in parallel, or on one processor, where they cost less. So do those of a thread whose
    // processor had not gone idle.
    let wake_ups = sleeps.min(1.0) * (1.0 - row.slept_lightly().unwrap_or(0.0));
    let mut parts = Vec::new();
    parts.extend(wake_up.map(|each_ns| part(PartKind::WakeUp, wake_ups, each_ns)));
    let line_ns = row.floor_multiple().map(|multiple| hop.value / multiple);
    // The bare hand-over includes the line.
    let lines = if wake_up.is_some() { (1.0 - wake_ups).max(0.0) } else { 1.0 };
    parts.extend(line_ns.map(|each_ns| part(PartKind::Line, lines, each_ns)));
    parts.push(part(PartKind::Payload, 1.0, payload_ns(&row, hop, line_ns, unit_costs)));
    if !sides.is_empty() {
        let of_all = |figure: fn(&CallsPerMessage) -> f64| -> f64 {
            // Each side's figures are for a message that it sends, and each sends as many of all messages.
            let sum = sides
                .iter()
                .flat_map(|side| &side.calls)
                .map(figure)
                .fold(0.0, |sum, one| sum + one);
            sum / sides.len() as f64
        };
        // The cost of a hand-over includes two of the calls.
        let in_wake_ups = if wake_up.is_some() { 2.0 * wake_ups } else { 0.0 };
        let calls = (of_all(|calls| calls.done) - in_wake_ups).max(0.0);
        let copies = of_all(|calls| calls.bytes) / row.case.identity.payload_bytes.max(1) as f64;
        parts.push(part(PartKind::Calls, calls, unit_costs.call_ns));
        parts.push(part(PartKind::Copies, copies, unit_costs.copy_ns));
    }
    parts.retain(|part| part.count >= LEAST);
    let work = of_sides(counted.work, work);
    Some(Explanation { row, hop, parts, further_sleeps: sleeps - wake_ups, sides, work })
}

fn part(kind: PartKind, count: f64, each_ns: f64) -> TimePart {
    TimePart { kind, count, each_ns }
}

fn half(figure: Figure) -> Figure {
    let interval = figure.interval.map(|interval| interval.scaled(0.5));
    Figure { value: 0.5 * figure.value, interval }
}

/// The cost of a bare hand-over that sleeps; none for rows that do not sleep or that have no reference.
fn wake_up(row: &Row, hop: Figure) -> Option<f64> {
    let sleeps = row.case.identity.wait == Wait::Block;
    Some(hop.value / row.reference_multiple().filter(|_| sleeps)?)
}

/// The number of sleeps per message, median over the trials.
fn sleeps(row: &Row) -> f64 {
    let of = |trial: &Trial| {
        let processes = trial.session.processes.iter();
        let sleeps = processes.map(|process| process.context_switches.voluntary);
        sleeps.fold(0, u64::saturating_add) as f64 / trial.session.messages.max(1) as f64
    };
    median(&row.trials.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// The payload written, carried over and read, without the line that announces it. With a bare exchange of the payload
/// as reference, its time; else one copy at each end.
fn payload_ns(row: &Row, hop: Figure, line_ns: Option<f64>, unit_costs: UnitCosts) -> f64 {
    let spins = row.case.identity.wait == Wait::Spin;
    let bare_ns = row.reference_multiple().filter(|_| spins).map(|multiple| hop.value / multiple);
    match (bare_ns, line_ns) {
        (Some(bare_ns), Some(line_ns)) => (bare_ns - line_ns).max(0.0),
        _ => 2.0 * unit_costs.copy_ns,
    }
}

/// The given fact of each process of a trial that has it.
fn of_sides<T>(trial: Option<&Trial>, of: impl Fn(&ProcessRecord) -> Option<T>) -> Vec<T> {
    trial.iter().flat_map(|trial| &trial.session.processes).filter_map(of).collect()
}

/// Messages that a process sends, at least one.
fn messages(process: &ProcessRecord) -> f64 {
    process.ends.iter().map(|end| end.sent).sum::<u64>().max(1) as f64
}

fn work(process: &ProcessRecord) -> Option<SideWork> {
    let ProcessorRecord { instructions, cycles, with_kernel } = process.processor?;
    let a_message = |count: u64| count as f64 / messages(process);
    Some(SideWork {
        process: process.name.clone(),
        instructions: a_message(instructions),
        cycles: a_message(cycles),
        with_kernel,
    })
}

fn side(process: &ProcessRecord) -> Option<SideCalls> {
    let each = |call: &CallRecord| {
        let a_message = |count: u64| count as f64 / messages(process);
        CallsPerMessage {
            name: call.name.clone(),
            done: a_message(call.made.saturating_sub(call.failed)),
            failed: a_message(call.failed),
            bytes: a_message(call.bytes),
        }
    };
    let mut calls: Vec<CallsPerMessage> = process.calls.as_ref()?.iter().map(each).collect();
    calls.retain(|call| call.done + call.failed >= RARE);
    calls.sort_by(|a, b| b.done.total_cmp(&a.done).then(b.failed.total_cmp(&a.failed)));
    Some(SideCalls { process: process.name.clone(), calls })
}
