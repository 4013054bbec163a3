//! What a message's time is made of: what its mechanism does for it, counted, times what this machine charges for one. What
//! is left is the transport's own. It is a model, and stands beside the measurement.

use ipcmark_transport::Wait;

use crate::{
    model::{CallRecord, ProcessRecord, Trial},
    rows::{Figure, Row},
    stats::median,
};

/// Calls that are made for fewer messages than this are the harness's around its turns, not the transport's.
const RARE: f64 = 0.1;

/// A part of which a message needs less is none.
const LEAST: f64 = 0.005;

/// What this machine charges, measured alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charges {
    /// A system call that does nothing, in nanoseconds.
    pub call_ns: f64,
    /// A copy of the payload, in nanoseconds.
    pub copy_ns: f64,
}

/// What a part of a message's time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A sleeping process is woken: a bare hand-over by futex, with its two calls.
    WakeUp,
    /// A cache line travels from one processor to the other, without which the other knows of nothing.
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
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// How many of it a message needs.
    pub count: f64,
    /// What one costs here, in nanoseconds.
    pub each_ns: f64,
}

impl Part {
    /// What it takes of the message's time.
    pub fn time_ns(&self) -> f64 {
        self.count * self.each_ns
    }
}

/// The calls of one end.
#[derive(Clone, Debug, PartialEq)]
pub struct SideCalls {
    /// The kernel's name for its process.
    pub process: String,
    /// Its calls a message that it sends, each with those that failed and with its bytes; the most frequent first.
    pub calls: Vec<CallsPerMessage>,
}

/// A call a message.
#[derive(Clone, Debug, PartialEq)]
pub struct CallsPerMessage {
    /// Its name.
    pub name: String,
    /// How many did something.
    pub done: f64,
    /// How many found nothing, and were made while waiting.
    pub failed: f64,
    /// Bytes that they carried.
    pub bytes: f64,
}

/// What the time of a row's messages is made of.
#[derive(Clone, Debug)]
pub struct Explanation<'a> {
    /// The row.
    pub row: Row<'a>,
    /// One way: half of its round trip.
    pub hop: Figure,
    /// The parts that could be counted, and whose price is known.
    pub parts: Vec<Part>,
    /// How often threads went to sleep a message beyond the receiver that has to be woken: what that costs is in the rest.
    pub further_sleeps: f64,
    /// The calls of each end; nothing where nobody counted them.
    pub sides: Vec<SideCalls>,
}

impl Explanation<'_> {
    /// What the parts leave of the time; below 0 where they are done side by side.
    pub fn rest_ns(&self) -> f64 {
        self.hop.value - self.parts.iter().map(Part::time_ns).sum::<f64>()
    }
}

/// Explains a row of round trips, at the reference distance or, where it has no block there, wherever its processors stood.
/// `counted` is the same row of a run that counted its calls. None where the row has no time.
pub fn explain<'a>(
    row: Row<'a>,
    counted: Option<&Trial>,
    charges: Charges,
) -> Option<Explanation<'a>> {
    let row = if row.location().is_some() { row } else { row.overall() };
    let hop = half(row.location()?);
    let sides = counted.map_or_else(Vec::new, sides);
    let (wake_up, sleeps) = (wake_up(&row, hop), sleeps(&row));
    // The others go on side by side, or on one processor, where they cost less.
    let wake_ups = sleeps.min(1.0);
    let mut parts = Vec::new();
    parts.extend(wake_up.map(|each_ns| part(PartKind::WakeUp, wake_ups, each_ns)));
    let line_ns = row.floor_multiple().map(|multiple| hop.value / multiple);
    // The bare hand-over has the line in it.
    let lines = if wake_up.is_some() { (1.0 - wake_ups).max(0.0) } else { 1.0 };
    parts.extend(line_ns.map(|each_ns| part(PartKind::Line, lines, each_ns)));
    parts.push(part(PartKind::Payload, 1.0, payload_ns(&row, hop, line_ns, charges)));
    if !sides.is_empty() {
        let of_all = |figure: fn(&CallsPerMessage) -> f64| -> f64 {
            // Each end sends one of the two messages of a round trip.
            sides.iter().flat_map(|side| &side.calls).map(figure).fold(0.0, |sum, one| sum + one)
                / 2.0
        };
        // Two of the calls are in the hand-over's price.
        let in_wake_ups = if wake_up.is_some() { 2.0 * wake_ups } else { 0.0 };
        let calls = (of_all(|calls| calls.done) - in_wake_ups).max(0.0);
        let copies = of_all(|calls| calls.bytes) / row.case.identity.payload_bytes.max(1) as f64;
        parts.push(part(PartKind::Calls, calls, charges.call_ns));
        parts.push(part(PartKind::Copies, copies, charges.copy_ns));
    }
    parts.retain(|part| part.count >= LEAST);
    Some(Explanation { row, hop, parts, further_sleeps: sleeps - wake_ups, sides })
}

fn part(kind: PartKind, count: f64, each_ns: f64) -> Part {
    Part { kind, count, each_ns }
}

fn half(figure: Figure) -> Figure {
    let interval = figure.interval.map(|interval| interval.scaled(0.5));
    Figure { value: 0.5 * figure.value, interval }
}

/// What a bare hand-over takes that sleeps; none for what does not, and where there was none beside the row.
fn wake_up(row: &Row, hop: Figure) -> Option<f64> {
    let sleeps = row.case.identity.wait == Wait::Block;
    Some(hop.value / row.reference_multiple().filter(|_| sleeps)?)
}

/// How often a process went to sleep a message, median over the trials.
fn sleeps(row: &Row) -> f64 {
    let of = |trial: &Trial| {
        let processes = trial.session.processes.iter();
        let sleeps: u64 = processes.map(|process| process.context_switches.voluntary).sum();
        sleeps as f64 / trial.session.messages.max(1) as f64
    };
    median(&row.trials.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// The payload written, carried over and read, without the line that says that it is there. Where a bare buffer took its
/// turns beside the row, as long as there; else as a copy at each end.
fn payload_ns(row: &Row, hop: Figure, line_ns: Option<f64>, charges: Charges) -> f64 {
    let spins = row.case.identity.wait == Wait::Spin;
    let bare_ns = row.reference_multiple().filter(|_| spins).map(|multiple| hop.value / multiple);
    match (bare_ns, line_ns) {
        (Some(bare_ns), Some(line_ns)) => (bare_ns - line_ns).max(0.0),
        _ => 2.0 * charges.copy_ns,
    }
}

fn sides(trial: &Trial) -> Vec<SideCalls> {
    trial.session.processes.iter().filter_map(side).collect()
}

fn side(process: &ProcessRecord) -> Option<SideCalls> {
    let messages: u64 = process.ends.iter().map(|end| end.sent).sum();
    let each = |call: &CallRecord| {
        let a_message = |count: u64| count as f64 / messages.max(1) as f64;
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
