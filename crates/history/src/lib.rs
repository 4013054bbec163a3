//! Results kept in a SQLite file: runs with their labels, and every case of them by name.
//!
//! [`History`] is an open file; [`Labels`] are what a user says of a run; [`Stored`] is what the file says of one. Each
//! case lies in a row of its own, so that the trend of one row over a thousand runs reads one case of each.

mod content;
mod fault;
mod file;
mod read;
mod tables;
mod write;

pub use file::{History, default_path};
pub use read::{CaseRow, Stored};
pub use write::{Added, Labels};
