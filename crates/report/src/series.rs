//! Rows under names that stay the same from run to run, for tools that track a figure over time.

use std::collections::BTreeSet;

use ipcmark_results::{
    Arrivals, Case, Figure, Identity, Load, Pattern, Row, RunResult, Span, Touch, stats::Interval,
};

use crate::{plain::plain, units::duration};

/// A case of a result, measured or not, under its name.
pub struct Series<'a> {
    /// The name, unique in the result: `latency/pipe/64/spin/round_trip`.
    pub name: String,
    /// The case.
    pub case: &'a Case,
    /// Its row; none if it was not measured.
    pub row: Option<Row<'a>>,
    /// The event that its times describe.
    pub event: Event,
}

/// The event that a time describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// From the publication to the last answer: whole, not half of it.
    RoundTrip,
    /// From the sender's clock to the receiver's.
    OneWay,
    /// From the intended time of a message of an open loop.
    Response,
    /// A message of a stream, as received.
    Message,
}

/// Every event.
pub const EVENTS: [Event; 4] = [Event::RoundTrip, Event::OneWay, Event::Response, Event::Message];

impl Event {
    fn of(identity: &Identity) -> Self {
        match (identity.pattern, identity.load) {
            (Pattern::Throughput | Pattern::FanIn, _) => Event::Message,
            (_, load) if load.is_open() => Event::Response,
            (Pattern::OneWay, _) => Event::OneWay,
            (Pattern::Latency | Pattern::FanOut, _) => Event::RoundTrip,
        }
    }

    /// The meaning of its time, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Event::RoundTrip => "A whole round trip, to the last answer.",
            Event::OneWay => "From the sender's clock to the receiver's.",
            Event::Response => "From the intended time of a message of an open loop.",
            Event::Message => "The time that a message of a stream takes, as received.",
        }
    }

    /// The word for it in names.
    pub fn as_str(self) -> &'static str {
        match self {
            Event::RoundTrip => "round_trip",
            Event::OneWay => "one_way",
            Event::Response => "response",
            Event::Message => "message",
        }
    }
}

/// Every case of a result under its name, in the order of the file.
pub fn series<'a>(result: &'a RunResult) -> Vec<Series<'a>> {
    let distance = result.reference_distance();
    let mut names = BTreeSet::new();
    let mut of_case = |case: &'a Case| {
        let name = unique(name_of(&case.identity), &mut names);
        Series {
            name,
            case,
            row: Row::of_run(result, case, distance),
            event: Event::of(&case.identity),
        }
    };
    result.cases.iter().map(&mut of_case).collect()
}

/// The name of each case of a result, in the order of the file, as used in the formats for other tools.
pub fn row_names(result: &RunResult) -> Vec<String> {
    series(result).into_iter().map(|series| series.name).collect()
}

impl Series<'_> {
    /// The time by which its row is ranked in the table, in ns, with its interval; none if it has no time there.
    pub fn location(&self) -> Option<Figure> {
        let figure = self.row?.location().filter(|figure| figure.value.is_finite())?;
        Some(Figure { interval: figure.interval.filter(is_finite), ..figure })
    }

    /// True if its events were timed one by one; a stream is timed by batch.
    pub fn has_percentiles(&self) -> bool {
        self.event != Event::Message
    }

    /// Its figure as text: `round trip 1.96 µs (95 %: 1.90 µs to 2.02 µs)`; empty if there is none.
    pub fn words(&self) -> String {
        let Some(location) = self.location() else { return String::new() };
        let words =
            format!("{} {}", self.event.as_str().replace('_', " "), duration(location.value));
        match location.interval {
            None => words,
            Some(bounds) => {
                format!("{words} (95 %: {} to {})", duration(bounds.low), duration(bounds.high))
            }
        }
    }

    /// Messages a second of a stream, with their interval.
    pub fn messages_per_second(&self) -> Option<Figure> {
        let value = self.row?.messages_per_second().filter(|rate| rate.is_finite())?;
        let inverse = |time: Interval| Interval {
            low: 1e9 / time.high,
            estimate: 1e9 / time.estimate,
            high: 1e9 / time.low,
        };
        let interval = self.location()?.interval.map(inverse).filter(is_finite);
        Some(Figure { value, interval })
    }
}

/// Unrelated trials can have an interval without finite bounds.
fn is_finite(interval: &Interval) -> bool {
    interval.low.is_finite() && interval.high.is_finite()
}

/// The pattern, the transport, the payload in bytes and the wait; unusual properties; the event.
pub fn name_of(identity: &Identity) -> String {
    let Identity { pattern, payload_bytes, wait, .. } = identity;
    let event = Event::of(identity).as_str();
    let parts = [
        format!("{pattern}/{}/{payload_bytes}/{wait}", identity.transport),
        unusual(identity),
        format!("/{event}"),
    ];
    word(&parts.concat())
}

/// The unusual properties: those in which a case differs from most cases.
fn unusual(identity: &Identity) -> String {
    let mut parts = Vec::new();
    if identity.touch != Touch::All {
        parts.push(format!("touch:{}", identity.touch));
    }
    parts.extend(load(identity.load));
    if identity.span != Span::Process {
        parts.push(format!("span:{}", identity.span));
    }
    if identity.subscribers != 1 {
        parts.push(format!("subscribers:{}", identity.subscribers));
    }
    if identity.silent_subscribers != 0 {
        parts.push(format!("silent:{}", identity.silent_subscribers));
    }
    if identity.pairs != 1 {
        parts.push(format!("pairs:{}", identity.pairs));
    }
    if let Some(between) = &identity.between {
        parts.push(format!("between:{}:{}", between.leader, between.follower));
    }
    parts.extend(identity.options.iter().map(|(option, value)| format!("{option}:{value}")));
    parts.iter().map(|part| format!("/{part}")).collect()
}

fn load(load: Load) -> Option<String> {
    match load {
        Load::Closed => None,
        Load::Interval { pause_ns } => Some(format!("pause_ns:{pause_ns}")),
        Load::Rate { per_second, arrivals: Arrivals::Fixed } => Some(format!("rate:{per_second}")),
        Load::Rate { per_second, .. } => Some(format!("rate:{per_second}/poisson")),
        Load::Trace { digest, .. } => Some(format!("trace:{digest:08x}")),
    }
}

/// Text as one word without a comma, which is not allowed in a tag of a histogram log either.
fn word(text: &str) -> String {
    plain(text).replace([' ', ','], "_")
}

/// The name, with a number appended if another case already has it.
fn unique(name: String, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}#{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.unwrap_or(name);
    taken.insert(free.clone());
    free
}
