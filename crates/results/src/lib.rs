//! The result schema, its statistics and its file.

mod model;

pub use model::*;
