//! The composition of the time of a row's messages, for people and for programs.

use ipcmark_results::{
    CallsPerMessage, Explanation, Explanations, PartKind, SideCalls, SideWork, TimePart,
};
use serde_json::{Value, json};

use crate::{
    format::Terminal,
    names,
    page::{BOLD, DIM, Page, RED},
    plain::plain,
    units::{count, duration, size},
};

/// The schema of the document.
const SCHEMA: &str = "ipcmark-explanation/1";

/// The width of the text of a part.
const WORDS: usize = 34;

/// Columns of the longest bar, if the terminal is wide enough.
const LONGEST_BAR: usize = 40;

/// The text below the parts.
pub const LEGEND: &str = "each: the cost of one on this machine, measured on its own during the run or just before \
it. The parts are a model: the operations of the mechanism, counted, at that cost. The rest is the library's own \
work, the kernel's work behind its calls, and effects of caches and processors. Calls that found nothing are made \
while waiting: tracing takes time, so their number differs without it.";

/// Explanations for a terminal.
pub fn explanation_table(all: &Explanations, terminal: Terminal) -> String {
    let mut page = Page::of(terminal);
    for explanation in &all.rows {
        one(&mut page, explanation);
        page.line("", "");
    }
    page.wrapped(DIM, "", LEGEND);
    for remark in &all.remarks {
        page.wrapped(DIM, "", &plain(remark));
    }
    for failure in &all.failures {
        page.wrapped(RED, "! ", &plain(failure));
    }
    page.text
}

fn one(page: &mut Page, explanation: &Explanation) {
    let identity = &explanation.row.case.identity;
    page.wrapped(BOLD, "", &names::alone(identity));
    let width = explanation.hop.relative_half_width();
    let width = width.map_or_else(String::new, |width| format!(" ± {:.1} %", 100.0 * width));
    let hop = duration(explanation.hop.value);
    page.wrapped("", "  ", &format!("a hop, half of a round trip, takes {hop}{width}:"));
    page.line("", "");
    page.line(DIM, &format!("  {:<WORDS$} {:>7} {:>9} {:>9}", "", "count", "each", "time"));
    let (longest, room) = (longest(explanation), page.width.saturating_sub(WORDS + 32));
    let bar = |time_ns: f64| bar(time_ns / longest, room.min(LONGEST_BAR), page.ascii);
    let mut lines: Vec<String> = explanation.parts.iter().map(|part| line(part, &bar)).collect();
    let rest_ns = explanation.rest_ns();
    lines.push(format!(
        "  {:<WORDS$} {:>17} {:>9}  {}",
        "the rest",
        "",
        time(rest_ns),
        bar(rest_ns)
    ));
    for line in lines {
        page.line("", line.trim_end());
    }
    if rest_ns < 0.0 {
        let why = "The rest is below 0: parts overlap, such as a call that is entered before the message arrives.";
        page.wrapped("", "  ", why);
    }
    if explanation.further_sleeps >= 0.1 {
        let more = format!(
            "Threads went to sleep {:.1} times more a message. The cost of waking them depends on their processors: \
            it is in the rest.",
            explanation.further_sleeps
        );
        page.wrapped("", "  ", &more);
    }
    page.line("", "");
    for side in &explanation.sides {
        page.wrapped("", &format!("  {:<16}", plain(&side.process)), &calls(side));
    }
    for side in &explanation.work {
        page.wrapped("", &format!("  {:<16}", plain(&side.process)), &work(side));
    }
}

/// The longest of the times that have a bar.
fn longest(explanation: &Explanation) -> f64 {
    let parts = explanation.parts.iter().map(TimePart::time_ns);
    parts.chain([explanation.rest_ns()]).fold(f64::MIN_POSITIVE, f64::max)
}

fn line(part: &TimePart, bar: &dyn Fn(f64) -> String) -> String {
    let (words, each) = (words(part.kind), duration(part.each_ns));
    let (count, time_ns) = (format!("{:.2}", part.count), part.time_ns());
    format!("  {words:<WORDS$} {count:>7} {each:>9} {:>9}  {}", time(time_ns), bar(time_ns))
}

pub fn time(ns: f64) -> String {
    if ns < 0.0 { format!("-{}", duration(-ns)) } else { duration(ns) }
}

/// A bar of this share of the longest one; empty for a negative share.
fn bar(share: f64, longest: usize, ascii: bool) -> String {
    let block = if ascii { "#" } else { "█" };
    block.repeat((share.clamp(0.0, 1.0) * longest as f64).round() as usize)
}

/// A part as text.
pub fn words(kind: PartKind) -> &'static str {
    match kind {
        PartKind::WakeUp => "wake a sleeping process",
        PartKind::Line => "pass a cache line on",
        PartKind::Payload => "write, carry and read the payload",
        PartKind::Calls => "enter and leave the kernel",
        PartKind::Copies => "copy the payload in the kernel",
    }
}

/// The calls of an end as text.
pub fn calls(side: &SideCalls) -> String {
    if side.calls.is_empty() {
        return "no system calls".into();
    }
    let call = |call: &CallsPerMessage| {
        let bytes = if call.bytes >= 1.0 {
            format!(" of {}", size((call.bytes / call.done.max(0.01)).round() as u64))
        } else {
            String::new()
        };
        let failed = match call.failed {
            failed if failed < 0.1 => String::new(),
            failed if call.done < 0.1 => {
                return format!("{} {failed:.1} that found nothing", call.name);
            }
            failed => format!(" and {failed:.1} that found nothing"),
        };
        format!("{} {:.2}{bytes}{failed}", plain(&call.name), call.done)
    };
    let all: Vec<String> = side.calls.iter().map(call).collect();
    format!("a message: {}", all.join(", "))
}

/// The work of the processors for one endpoint, in words.
pub fn work(side: &SideWork) -> String {
    let [instructions, cycles] =
        [side.instructions, side.cycles].map(|number| count(number.round() as u64));
    let each = side.instructions_per_cycle();
    let each = each.map_or_else(String::new, |each| format!(", {each:.2} instructions a cycle"));
    let whose = if side.with_kernel { "the kernel's among them" } else { "without the kernel's" };
    format!("a message: {instructions} instructions in {cycles} cycles{each}; {whose}")
}

/// Explanations for programs, with a line feed at the end.
pub fn explanation_json(all: &Explanations) -> String {
    let rows: Vec<Value> = all.rows.iter().map(row).collect();
    let document = json!({
        "schema": SCHEMA,
        "rows": rows,
        "notes": all.failures,
        "remarks": all.remarks,
    });
    format!("{document:#}\n")
}

fn row(explanation: &Explanation) -> Value {
    let identity = &explanation.row.case.identity;
    let interval = explanation.hop.interval.map(|bounds| json!([bounds.low, bounds.high]));
    let part = |part: &TimePart| {
        let TimePart { kind, count, each_ns } = *part;
        json!({ "part": word(kind), "count": count, "each_ns": each_ns, "time_ns": part.time_ns() })
    };
    let call = |call: &CallsPerMessage| json!({ "name": call.name, "done": call.done, "failed": call.failed, "bytes": call.bytes });
    let side = |side: &SideCalls| {
        let calls: Vec<Value> = side.calls.iter().map(call).collect();
        json!({ "process": side.process, "calls_per_message": calls })
    };
    let work = |side: &SideWork| {
        json!({
            "process": side.process,
            "instructions_per_message": side.instructions,
            "cycles_per_message": side.cycles,
            "instructions_per_cycle": side.instructions_per_cycle(),
            "with_kernel": side.with_kernel,
        })
    };
    json!({
        "transport": identity.transport,
        "options": identity.options,
        "payload_bytes": identity.payload_bytes,
        "wait": identity.wait,
        "hop_ns": { "value": explanation.hop.value, "interval": interval },
        "parts": explanation.parts.iter().map(part).collect::<Vec<_>>(),
        "rest_ns": explanation.rest_ns(),
        "further_sleeps": explanation.further_sleeps,
        "ends": explanation.sides.iter().map(side).collect::<Vec<_>>(),
        "processor": explanation.work.iter().map(work).collect::<Vec<_>>(),
    })
}

/// A part as one word.
pub fn word(kind: PartKind) -> &'static str {
    match kind {
        PartKind::WakeUp => "wake_up",
        PartKind::Line => "line",
        PartKind::Payload => "payload",
        PartKind::Calls => "calls",
        PartKind::Copies => "copies",
    }
}
