//! The histogram that holds samples, and the statistics of a result: pure functions, one file a method. A crate of its
//! own, because it is optimised in development builds, where thousands of runs are simulated.
//!
//! [`Distances`] places a trial's blocks and [`adjusted_location`] locates them; [`trial_interval`] and
//! [`merged_percentile`] make intervals of trials, [`rank`] a ranking of rows, and [`Comparison`] compares pairs of
//! blocks.

mod adjustment;
mod change_points;
mod comparison;
mod density;
mod distances;
pub mod histogram;
mod hodges_lehmann;
mod location;
mod moderated;
mod power;
mod ranking;
mod row_spread;
mod signed_rank;
mod steadiness;
mod student;
mod tail;

pub use adjustment::{ProbedBlock, adjusted_location, elasticity};
pub use change_points::{ChangePoint, change_points, runs_missing};
pub use comparison::{Comparison, LEAST_RUNS, Verdict};
pub use distances::{Distance, Distances, Shares, nearest};
pub use hodges_lehmann::{hodges_lehmann, hodges_lehmann_interval};
pub use location::{histogram_percentile, log_location, logarithms, median, percentile};
pub use power::{DETECTABLE, MARGIN, deviation, pairs_for_equality, pairs_needed};
pub use ranking::{Ranked, RankedRow, rank};
pub use row_spread::LogTimes;
pub use signed_rank::sign_flip_p;
pub use steadiness::{Steadiness, steadiness};
pub use student::{CONFIDENCE, Interval, mean, mean_interval, trial_interval};
pub use tail::{carries, merged_percentile, rank_interval, samples_needed};
