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
        let what = if self.factor < 1.0 { "½ round trip" } else { "round trip" };
        format!("{what} in {}", self.unit.sign())
    }

    /// A part or the whole of a round trip.
    fn trip(self, ns: f64) -> String {
        self.unit.time(ns * self.factor)
    }
}

/// Every column, in its order from left to right.
pub const COLUMNS: &[Column] = &[
    Column { label: "p50", rank: 0, cell: |row, scale| scale.trip(row.p50) },
    Column { label: "p99", rank: 1, cell: |row, scale| scale.trip(row.p99) },
    Column { label: "p99.9", rank: 5, cell: |row, scale| scale.trip(row.p99_9) },
    Column { label: "max", rank: 4, cell: |row, scale| scale.trip(row.max) },
    Column { label: "CPU/msg", rank: 2, cell: |row, scale| scale.unit.time(row.cpu_per_message) },
    Column { label: "× floor", rank: 3, cell: |row, _| floor_multiple(row) },
    Column { label: "p50 range", rank: 6, cell: p50_range },
    Column { label: "switches/msg", rank: 7, cell: |row, _| figure(row.switches_per_message) },
    Column { label: "bulk mean", rank: 8, cell: |row, scale| scale.trip(row.bulk_mean) },
    Column {
        label: "messages/s",
        rank: 9,
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
