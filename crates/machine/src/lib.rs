//! The machine under a run: its processors and how they lie to one another, where processes are placed,
//! its clocks, the namespaces of a sandbox, the end of processes and the removal of what they leave, what it takes from
//! a measurement, and the facts that a result states.
//!
//! It measures nothing that a transport does and knows no engine.

pub mod cache;
pub mod calls;
pub mod cgroup;
pub mod clock;
mod clock_step;
pub mod conditions;
pub mod descendants;
pub mod facts;
pub mod files;
pub mod hiccups;
pub mod hypervisor;
pub mod inherited;
pub mod leftovers;
pub mod limits;
pub mod loopback;
pub mod mark;
pub mod namespaces;
pub mod nearness;
pub mod open_files;
pub mod pair;
pub mod pin;
pub mod placement;
pub mod process;
mod processor_name;
pub mod remarks;
pub mod removal;
pub mod topology;
