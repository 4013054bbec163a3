//! What the transports over io_uring have in common: rings, requests on their way through one, and whether the system
//! lets a process have them.
//!
//! - [`setup`]: a ring with the flags that this kernel knows;
//! - [`requests`]: a ring for one request to send and one to receive, as the link of an end;
//! - [`handover`]: how an end gets the ring of the other one;
//! - [`support`]: why there is no io_uring here, and what helps.

pub mod handover;
pub mod requests;
pub mod setup;
pub mod support;

use ipcmark_transport::OptionSpec;

/// What errors call a ring.
pub const OBJECT: &str = "the io_uring";

/// Who submits.
pub const SQPOLL: OptionSpec = OptionSpec::new(
    "sqpoll",
    "on|off",
    "off",
    "whether a thread of the kernel looks for requests (IORING_SETUP_SQPOLL) instead of a call for each",
);
