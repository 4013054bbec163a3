//! The columns of a table for people: what each is called and what stands in it.

use crate::{
    rows::{Group, Row},
    units::{Unit, align_points, count, figure},
};

/// One column beside the name of the transport.
pub struct Column {
    /// What stands over it.
    pub label: &'static str,
    /// Where there is no room for all columns, those with the highest number give way.
    pub rank: u8,
    /// What it means, in a sentence or two.
    pub meaning: &'static str,
    cell: fn(&Row, Scale) -> String,
}

/// How a group shows a time of its rows.
#[derive(Clone, Copy)]
pub struct Scale {
    unit: Unit,
    factor: f64,
}

impl Scale {
    /// The scale of a group: one unit for all its times, after their p50.
    pub fn of(group: &Group) -> Self {
        let factor = if group.half { 0.5 } else { 1.0 };
        let times = || group.rows.iter().map(|row| row.p50 * factor);
        let (least, greatest) = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
        Self { unit: Unit::of_range(least, greatest), factor }
    }

    /// What the times of the group are: `½ round trip in µs`.
    pub fn caption(self) -> String {
        format!("{} in {}", self.what(), self.unit.sign())
    }

    /// What the times of the group are, without their unit.
    pub fn what(self) -> &'static str {
        if self.factor < 1.0 { "½ round trip" } else { "round trip" }
    }

    /// What of a round trip is shown: a half or the whole.
    pub fn factor(self) -> f64 {
        self.factor
    }

    /// A part or the whole of a round trip.
    pub fn trip(self, ns: f64) -> String {
        self.unit.time(ns * self.factor)
    }
}

/// Every column, in its order from left to right.
pub const COLUMNS: &[Column] = &[
    Column {
        label: "p50",
        rank: 0,
        meaning: "The median: half of all round trips took at most this long.",
        cell: |row, scale| scale.trip(row.p50),
    },
    Column {
        label: "p99",
        rank: 1,
        meaning: "99 of 100 round trips took at most this long.",
        cell: |row, scale| scale.trip(row.p99),
    },
    Column {
        label: "p99.9",
        rank: 5,
        meaning: "999 of 1,000 round trips took at most this long. With fewer samples than that it \
            is the longest of them.",
        cell: |row, scale| scale.trip(row.p99_9),
    },
    Column {
        label: "max",
        rank: 4,
        meaning: "The longest of all round trips. It is one sample, often a time slice of \
            something else, and not reproducible.",
        cell: |row, scale| scale.trip(row.max),
    },
    Column {
        label: "CPU/msg",
        rank: 2,
        meaning: "CPU time of all processes of the case for one message, the kernel's work for them \
            included. A spinning pair pays two cores all the time.",
        cell: |row, scale| scale.unit.time(row.cpu_per_message),
    },
    Column {
        label: "× floor",
        rank: 3,
        meaning: "p50 against the floor: the round trip of one bare cache line between the same two \
            processes, measured right before the case.",
        cell: |row, _| floor_multiple(row),
    },
    Column {
        label: "p50 range",
        rank: 6,
        meaning: "The least and the greatest p50 among the trials. What lies within it is no \
            difference.",
        cell: p50_range,
    },
    Column {
        label: "carrier",
        rank: 7,
        meaning: "What carried the messages, found from the running processes: memory that all of \
            them map, a network interface, or the kernel.",
        cell: |row, _| row.carrier.clone(),
    },
    Column {
        label: "switches/msg",
        rank: 8,
        meaning: "Context switches of all processes of the case for one message, voluntary and not.",
        cell: |row, _| figure(row.switches_per_message),
    },
    Column {
        label: "bulk mean",
        rank: 9,
        meaning: "Mean of a pass of its own in which the clock is not read with each round trip.",
        cell: |row, scale| scale.trip(row.bulk_mean),
    },
    Column {
        label: "messages/s",
        rank: 10,
        meaning: "Messages a second in the sampled pass, both directions counted.",
        cell: |row, _| count(row.messages_per_second.round() as u64),
    },
];

impl Column {
    /// Whether it says anything about these groups.
    pub fn is_of_use(&self, groups: &[Group]) -> bool {
        let trials = groups.iter().flat_map(|group| &group.rows).any(|row| row.trials > 1);
        trials || self.label != "p50 range"
    }

    /// Whether it belongs to a table on the narrowest of usual terminals.
    pub fn is_for_every_width(&self) -> bool {
        self.rank < 6
    }

    /// Its cells in a group, their points aligned.
    pub fn cells(&self, group: &Group, scale: Scale) -> Vec<String> {
        let mut cells: Vec<String> = group.rows.iter().map(|row| (self.cell)(row, scale)).collect();
        if self.label != "p50 range" {
            align_points(&mut cells);
        }
        cells
    }
}

fn floor_multiple(row: &Row) -> String {
    row.floor_multiple.map_or_else(|| "–".into(), figure)
}

fn p50_range(row: &Row, scale: Scale) -> String {
    let (least, greatest) = row.p50_range;
    if row.trials < 2 {
        "–".into()
    } else {
        format!("{}–{}", scale.trip(least), scale.trip(greatest))
    }
}
