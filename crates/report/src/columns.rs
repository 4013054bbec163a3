//! The columns of a table for people: their labels and cells.

use ipcmark_results::{Figure, Group, GroupKey, Load, Pattern, Row, Touch};

use crate::{
    plain::words,
    units::{Unit, align_points, count, duration, figure, half_width, percent},
};

/// One column beside the name of the transport.
pub struct Column {
    /// The label over it.
    pub label: &'static str,
    /// Its rank: columns with the highest ranks are left out first if the table is too wide.
    pub rank: u8,
    /// Its meaning, in a sentence or two.
    pub meaning: &'static str,
    cell: fn(&Row, Scale) -> String,
}

/// The unit of the times of a group's rows, and the share of a round trip that they show.
#[derive(Clone, Copy)]
pub struct Scale {
    unit: Unit,
    factor: f64,
    what: &'static str,
}

impl Scale {
    /// The scale of a group: one unit for all its times, chosen by their means.
    pub fn of(group: &Group) -> Self {
        let locations = group.rows.iter().filter_map(Row::location);
        Self::of_times(&group.key, locations.map(|figure| figure.value))
    }

    /// The scale for these times of a group. A response includes waiting, so half of it would mean nothing.
    pub fn of_times(key: &GroupKey, round_trips_ns: impl Iterator<Item = f64>) -> Self {
        let (factor, what) = match (key.pattern, key.load) {
            (Pattern::OneWay, load) if load.is_open() => (1.0, "one way from the intended time"),
            (_, load) if load.is_open() => (1.0, "response from the intended time"),
            (Pattern::Latency, _) => (0.5, "½ round trip"),
            (Pattern::OneWay, _) => (1.0, "one way"),
            (pattern, _) if pattern.is_stream() => (1.0, "time a message"),
            _ => (1.0, "round trip"),
        };
        let times: Vec<f64> = round_trips_ns.map(|time| time * factor).collect();
        let least = times.iter().copied().fold(f64::MAX, f64::min);
        let greatest = times.iter().copied().fold(0.0, f64::max);
        Self { unit: Unit::of_range(least, greatest), factor, what }
    }

    /// The kind of the times and their unit: `½ round trip in µs`.
    pub fn caption(self) -> String {
        format!("{} in {}", self.what(), self.unit.sign())
    }

    /// The kind of the times: `½ round trip`.
    pub fn what(self) -> &'static str {
        self.what
    }

    /// The share of a round trip that is shown: a half or the whole.
    pub fn factor(self) -> f64 {
        self.factor
    }

    /// A share or the whole of a round trip, by the scale.
    pub fn trip(self, ns: f64) -> String {
        self.unit.time(ns * self.factor)
    }
}

/// Every column, in its order from left to right.
pub const COLUMNS: &[Column] = &[
    Column {
        label: "rank",
        rank: 2,
        meaning: "The rank in the table. Rows without a significant difference share a rank, marked =.",
        cell: |row, _| rank(row),
    },
    Column {
        label: "msg/s",
        rank: 0,
        meaning: "Messages of a stream a second, as received, while the sender sends as fast as the transport takes \
        them.",
        cell: |row, _| {
            row.messages_per_second().map_or_else(|| "–".into(), |rate| count(rate.round() as u64))
        },
    },
    Column {
        label: "slowest",
        rank: 3,
        meaning: "Of several publishers: the messages that the slowest had delivered when the first finished, as a \
        share of those of the fastest. 100 % if all deliver at one rate.",
        cell: |row, _| row.least_published().map_or_else(|| "–".into(), percent),
    },
    Column {
        label: "all pairs/s",
        rank: 3,
        meaning: "Messages a second of all pairs that ran at once, including this row's: the sum of the arrival \
        rates in the pairs' own blocks.",
        cell: |row, _| {
            let rate = row.all_pairs_per_second();
            rate.map_or_else(|| "–".into(), |rate| count(rate.round() as u64))
        },
    },
    Column {
        label: "MB/s",
        rank: 1,
        meaning: "Payload of a stream, as received, in millions of bytes a second; every byte is written and read. Not \
        with --touch head, where some transports move no bytes but the first.",
        cell: |row, _| {
            let rate = carried_bytes_per_second(row);
            rate.map_or_else(|| "–".into(), |rate| figure(rate / 1e6))
        },
    },
    Column {
        label: "mean",
        rank: 0,
        meaning: "The clock-free mean, of blocks in which the clock is read only at both ends; one way, the mean less \
        one clock reading. With --rate or --interval, the mean of a block's messages, the median over the blocks; of a \
        stream, the time per message. Rows are ranked by it.",
        cell: |row, scale| shown(row.location(), scale),
    },
    Column {
        label: "±",
        rank: 1,
        meaning: "Half of the mean's 95 % confidence interval, in percent of the mean, from the differences between \
        trials.",
        cell: |row, _| uncertainty(row.location()),
    },
    Column {
        label: "p50",
        rank: 4,
        meaning: "The median: half of all round trips, or messages, took at most this long. Each is timed \
        individually, which costs a reading of the clock. At a rate, percentiles are of all messages at any distance, \
        also those that were not sent.",
        cell: |row, scale| percentile(row, 0.5, scale),
    },
    Column {
        label: "p99",
        rank: 3,
        meaning: "99 of 100 round trips, or messages, took at most this long.",
        cell: |row, scale| percentile(row, 0.99, scale),
    },
    Column {
        label: "p99.9",
        rank: 6,
        meaning: "999 of 1,000 round trips, or messages, took at most this long. –: too few samples.",
        cell: |row, scale| percentile(row, 0.999, scale),
    },
    Column {
        label: "max",
        rank: 7,
        meaning: "The longest of all round trips, or messages, of all trials, at any distance. It is a single \
        sample, often a time slice of another program, and not reproducible.",
        cell: |row, scale| match row.case.identity.pattern.is_stream() {
            true => "–".into(),
            false => scale.trip(row.max() as f64),
        },
    },
    Column {
        label: "send",
        rank: 5,
        meaning: "The median of the sender's part of a message one way: writing it and the call to publish. \
            A receiver that is awake can have it before that call returns.",
        cell: |row, scale| row.send_ns().map_or_else(|| "–".into(), |ns| scale.trip(ns)),
    },
    Column {
        label: "first",
        rank: 3,
        meaning: "Of several subscribers: the median time from a publication until the first answer was taken, whoever \
        sent it, at any distance. p50 and p99 are those of the last answer.",
        cell: |row, scale| row.first_answer_ns().map_or_else(|| "–".into(), |ns| scale.trip(ns)),
    },
    Column {
        label: "each",
        rank: 5,
        meaning: "Of several subscribers: the lowest and the highest of their own median answers, at any distance.",
        cell: |row, scale| {
            row.answer_range_ns().map_or_else(
                || "–".into(),
                |[least, most]| format!("{} to {}", scale.trip(least), scale.trip(most)),
            )
        },
    },
    Column {
        label: "CPU/pub",
        rank: 3,
        meaning: "CPU time of the publisher's process for one publication to several subscribers, including taking \
        their answers.",
        cell: |row, scale| {
            row.publisher_cpu_ns().map_or_else(|| "–".into(), |ns| scale.unit.time(ns))
        },
    },
    Column {
        label: "queued",
        rank: 3,
        meaning: "The median number of messages of a stream in transit at once, accurate to a batch of 20 µs.",
        cell: |row, _| {
            row.queue_depth().map_or_else(|| "–".into(), |depth| count(depth.round() as u64))
        },
    },
    Column {
        label: "CPU/msg",
        rank: 1,
        meaning: "CPU time of all processes of the case for one message, including the kernel's work for them. A \
        spinning pair pays two cores all the time.",
        cell: |row, scale| scale.unit.time(row.cpu_per_message()),
    },
    Column {
        label: "cores",
        rank: 1,
        meaning: "Processors that all processes of the case together used on average. At a rate it is the cost to \
        the user: 2.0 is a pair that never sleeps. Of a stream that sleeps, CPU/msg times the messages a \
        second of all blocks together.",
        cell: |row, _| row.cores().map_or_else(|| "–".into(), figure),
    },
    Column {
        label: "sent/s",
        rank: 2,
        meaning: "Messages a second that were sent. If it is less than the rate, the transport cannot sustain it.",
        cell: |row, _| {
            row.sent_per_second().map_or_else(|| "–".into(), |rate| count(rate.round() as u64))
        },
    },
    Column {
        label: "received/s",
        rank: 2,
        meaning: "Messages a second that were answered, or that arrived if nobody answers. Shown where some of those sent \
        were lost.",
        cell: |row, _| {
            row.received_per_second().map_or_else(|| "–".into(), |rate| count(rate.round() as u64))
        },
    },
    Column {
        label: "late",
        rank: 2,
        meaning: "Messages sent after their intended time because the previous one was not answered, or, one way, \
        could not be sent in time; or never sent. None is rescheduled or skipped: its time counts from the intended \
        one.",
        cell: |row, _| row.late_share().map_or_else(|| "–".into(), percent),
    },
    Column {
        label: "× floor",
        rank: 5,
        meaning: "The mean divided by the floor, the round trip of a bare cache line between the same two processes: \
            each block is divided by the probes around it.",
        cell: |row, _| multiple(row.floor_multiple()),
    },
    Column {
        label: "× bare",
        rank: 8,
        meaning: "The mean divided by that of a reference, two bare processes that took turns with the row: one \
        futex wake-up a hop if the ends sleep, writing and reading every byte if all are touched.",
        cell: |row, _| multiple(row.reference_multiple()),
    },
    Column {
        label: "carrier",
        rank: 10,
        meaning: "The carrier of the messages, as observed in the running processes: memory that all of \
            them map, a network interface, or the kernel.",
        cell: |row, _| carrier(row),
    },
    Column {
        label: "switches/msg",
        rank: 11,
        meaning: "Context switches of the processes that serve the ends for one message, voluntary and not; those of a \
        library's daemon are not counted.",
        cell: |row, _| figure(row.switches_per_message()),
    },
    Column {
        label: "calls/msg",
        rank: 5,
        meaning: "System calls of the processes that serve the ends for one message, counted in a traced pass of its own \
        (--count), without those that found nothing. A traced process is slow, and sleeps less often than otherwise.",
        cell: |row, _| counted(row.calls_per_message()),
    },
    Column {
        label: "instr/msg",
        rank: 5,
        meaning: "Instructions of the processes that serve the ends for one message, waiting included, by the \
        processor's counters in a pass of its own (--count).",
        cell: |row, _| counted(row.instructions_per_message()),
    },
    Column {
        label: "cycles/msg",
        rank: 5,
        meaning: "Cycles of the processors for the processes that serve the ends, for one message, waiting included, \
        counted with the instructions.",
        cell: |row, _| counted(row.cycles_per_message()),
    },
    Column {
        label: "threads",
        rank: 11,
        meaning: "Threads of the library besides those that send and receive, in all processes with endpoints. They \
        use processors, and wake up when a message arrives.",
        cell: |row, _| row.further_threads().map_or_else(|| "–".into(), |count| count.to_string()),
    },
    Column {
        label: "start",
        rank: 12,
        meaning: "The time to open all ends and to get the first answer, median over the trials. Up to eight rows open \
        theirs at once.",
        cell: |row, _| row.start_ns().map_or_else(|| "–".into(), duration),
    },
    Column {
        label: "samples",
        rank: 12,
        meaning: "The number of round trips behind the percentiles.",
        cell: |row, _| row.samples().to_string(),
    },
];

impl Column {
    /// True if the column is informative for these groups.
    pub fn is_informative(&self, groups: &[Group]) -> bool {
        let mut rows = groups.iter().flat_map(|group| &group.rows);
        match self.label {
            "rank" => rows.any(|row| row.trials.len() > 1 && row.rank.is_some()),
            "±" => rows.any(|row| row.trials.len() > 1),
            "msg/s" => rows.any(|row| row.messages_per_second().is_some()),
            "MB/s" => rows.any(|row| carried_bytes_per_second(row).is_some()),
            "queued" => rows.any(|row| row.case.identity.pattern == Pattern::Throughput),
            "threads" => rows.any(|row| row.further_threads().is_some_and(|count| count > 0)),
            "calls/msg" => rows.any(|row| row.calls_per_message().is_some()),
            "instr/msg" => rows.any(|row| row.instructions_per_message().is_some()),
            "start" => rows.any(|row| row.start_ns().is_some()),
            "cycles/msg" => rows.any(|row| row.cycles_per_message().is_some()),
            "slowest" => rows.any(|row| row.least_published().is_some()),
            "all pairs/s" => rows.any(|row| row.all_pairs_per_second().is_some()),
            "send" => rows.any(|row| row.send_ns().is_some()),
            "first" => rows.any(|row| row.first_answer_ns().is_some()),
            "each" => rows.any(|row| row.answer_range_ns().is_some()),
            "CPU/pub" => rows.any(|row| row.publisher_cpu_ns().is_some()),
            "p50" | "p99" | "p99.9" | "max" => {
                rows.any(|row| !row.case.identity.pattern.is_stream())
            }
            "× floor" => rows.any(|row| row.floor_multiple().is_some()),
            "cores" => rows.any(|row| {
                let identity = &row.case.identity;
                let is_shown = identity.load != Load::Closed || identity.pattern.is_stream();
                is_shown && row.cores().is_some()
            }),
            "sent/s" | "late" => rows.any(|row| row.late_share().is_some()),
            "received/s" => rows.any(|row| row.received_per_second().is_some()),
            "× bare" => rows.any(|row| row.reference_multiple().is_some()),
            _ => true,
        }
    }

    /// True if the column is shown on the narrowest usual terminal too.
    pub fn is_for_every_width(&self) -> bool {
        self.rank < 6
    }

    /// Its cells in a group, with aligned decimal points.
    pub fn cells(&self, group: &Group, scale: Scale) -> Vec<String> {
        let mut cells: Vec<String> = group.rows.iter().map(|row| (self.cell)(row, scale)).collect();
        align_points(&mut cells);
        cells
    }
}

/// A percentile. A stream's samples are of batches: the times of its single messages are unknown.
fn percentile(row: &Row, q: f64, scale: Scale) -> String {
    match row.case.identity.pattern.is_stream() {
        true => "–".into(),
        false => shown(row.percentile(q), scale),
    }
}

/// A figure for which there may be too few samples.
fn shown(figure: Option<Figure>, scale: Scale) -> String {
    figure.map_or_else(|| "–".into(), |figure| scale.trip(figure.value))
}

fn counted(count: Option<f64>) -> String {
    count.map_or_else(|| "–".into(), figure)
}

/// Half of an interval, in percent.
pub fn uncertainty(figure: Option<Figure>) -> String {
    let width = figure.and_then(|figure| figure.relative_half_width());
    width.map_or_else(|| "–".into(), half_width)
}

/// `2`, or `2=` if other rows share it.
pub fn rank(row: &Row) -> String {
    row.rank.map_or_else(
        || "–".into(),
        |rank| format!("{}{}", rank.number, if rank.shared { "=" } else { "" }),
    )
}

/// The payload that a stream carried in a second; none if not every byte was touched, because nobody may have moved the
/// others.
fn carried_bytes_per_second(row: &Row) -> Option<f64> {
    let identity = &row.case.identity;
    let rate = row.messages_per_second().filter(|_| identity.touch == Touch::All)?;
    Some(rate * identity.payload_bytes as f64)
}

/// The carrier that the first trial found.
fn carrier(row: &Row) -> String {
    let first = row.trials.first().map(|trial| trial.session.carrier.found);
    first.map_or_else(String::new, |found| words(found.as_str()))
}

fn multiple(multiple: Option<f64>) -> String {
    multiple.map_or_else(|| "–".into(), figure)
}
