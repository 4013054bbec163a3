//! Results kept in a SQLite file: runs with their labels, and every case of them by name.
//!
//! [`History`] is an open file; [`RunLabels`] are the user's labels of a run; [`Stored`] is a run's entry in the file.
//! Each case has a table row of its own, so that the trend of one row over a thousand runs reads one case of each.

mod content;
mod fault;
mod file;
mod read;
mod tables;
mod write;

pub use file::{History, default_path};
pub use read::{CaseRow, Stored};
pub use write::{Added, RunLabels};
