//! The machine under a run: its processors and how they lie to one another, where processes are placed,
//! its clocks, the namespaces of a sandbox, and the facts that a result states.
//!
//! It measures nothing that a transport does and knows no engine.

pub mod clock;
pub mod facts;
pub mod namespaces;
pub mod pin;
pub mod placement;
pub mod process;
pub mod topology;
