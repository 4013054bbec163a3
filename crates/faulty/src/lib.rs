//! A correct transport with one added fault, for tests that must find it.

mod act;
mod fault;
mod plain;
mod transport;

pub use act::queue;
pub use fault::{Act, Fault, Ill, Moment, Side, Which};
pub use transport::{Faulty, FaultyEnd};
