//! The result schema, its statistics and its file.
//!
//! [`RunResult`] is what a run measured; [`schema`] describes it for other programs; a histogram
//! holds every sample of a case, and [`statistics`] are read from it; [`write_atomically`] and
//! [`read`] move a result to and from its file.

mod check;
mod file;
mod histogram;
mod model;
mod schema;
pub mod stats;

pub use file::{
    MAX_FILE_BYTES, check_writable, is_stream, read, to_json, write_atomically, write_text,
};
pub use histogram::{answer_times, decode, encode, new_histogram, statistics};
pub use model::*;
pub use schema::schema;
