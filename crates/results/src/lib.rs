//! The result schema and its file, with [the statistics](stats) of a result.
//!
//! [`RunResult`] holds the measurements of a run; [`schema`] describes it for other programs;
//! [`Times`] hold every sample in a histogram, with its statistics; [`write_atomically`] and
//! [`read`] move a result to and from its file. [`groups`] divides the rows into rankings;
//! [`compare_runs`] and [`compare_pairs`] find the changes between two sides.

mod advice;
mod best;
mod caveats;
mod check;
mod common_distance;
mod compare;
mod counting;
mod curve;
mod destination;
mod differences;
mod explanation;
mod fairness;
mod figure;
mod file;
mod groups;
mod host_map;
mod join;
mod matching;
mod model;
mod obstacles;
mod output;
mod p99_limit;
mod placing;
mod replacement;
mod row_costs;
mod rows;
mod schema;
mod trend;
mod wakefulness;

pub use advice::{Advice, AdviceQuestion, Candidate, Shortfall, advise, daemons};
pub use best::{Best, best};
pub use caveats::{Caveat, Disturbance, caveats, caveats_of};
pub use compare::{
    Change, PairedGroup, Presence, RowPair, UnpairedRow, compare_pairs, compare_runs,
};
pub use counting::shared_core_share_of_run;
pub use curve::{GRID, curve};
pub use differences::Difference;
pub use explanation::{
    CallsPerMessage, CountedTrials, Explanation, Explanations, PartKind, SideCalls, SideWork,
    TimePart, UnitCosts, explain,
};
pub use fairness::{Inequality, inequalities};
pub use file::{MAX_FILE_BYTES, check_writable, parse, read, to_json, write_atomically};
pub use groups::{Group, GroupKey, groups, groups_at};
pub use host_map::{HostMap, HostPair, Outlier, host_maps};
pub use ipcmark_statistics as stats;
pub use ipcmark_statistics::histogram::{decode, encode, new_histogram};
pub use ipcmark_transport::{Carrier, Pattern, Role, Span, Wait};
pub use model::*;
pub use obstacles::{Obstacle, circumstances};
pub use output::{check_file, is_stream, write_bytes, write_text};
pub use p99_limit::{JudgedRate, LimitVerdict};
pub use placing::{PlacedSamples, place};
pub use replacement::remove_stale;
pub use rows::{Figure, NotHeld, Row, RowRank, thin, wider_than};
pub use schema::schema;
pub use trend::{Point, Trend, TrendRun, trend};
pub use wakefulness::{AwakeShare, awake_share, woken_share};
