//! A correct transport with one added fault, for tests that must find it.

mod act;
mod fault;
mod plain;
mod transport;

pub use act::queue;
pub use fault::{Act, AffectedMessages, Fault, FaultySide, MessageFault, Moment};
pub use transport::{Faulty, FaultyEndpoint};
