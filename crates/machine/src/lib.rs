//! The machine that a run uses: its processors and their topology, the placement of processes, its clocks, the
//! namespaces of a sandbox, ending processes and removing their leftovers, its disturbances of a measurement, and the
//! facts that a result states.
//!
//! It measures no transport and does not depend on the engine.

pub mod cache;
pub mod calls;
pub mod cgroup;
pub mod clock;
pub mod clock_offset;
mod clock_step;
pub mod conditions;
pub mod counters;
pub mod descendants;
pub mod facts;
pub mod files;
pub mod floor;
pub mod hiccups;
pub mod hypervisor;
pub mod idle;
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
pub mod shared_core;
pub mod topology;
pub mod tracepoint;
pub mod wakeups;
