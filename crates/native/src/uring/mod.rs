//! The common parts of the transports over io_uring: rings, pending requests, and the check that the system lets a
//! process use them.
//!
//! - [`setup`]: a ring with the flags that this kernel knows;
//! - [`requests`]: a ring for one request to send and one to receive, as the link of an end;
//! - [`handover`]: the transfer of one end's ring to the other;
//! - [`support`]: the reason why io_uring is unavailable, and the remedy.

pub mod handover;
pub mod requests;
pub mod setup;
pub mod support;

use ipcmark_transport::OptionSpec;

/// The name of a ring in errors.
pub const OBJECT: &str = "the io_uring";

/// The submitter of requests: a kernel thread or the end.
pub const SQPOLL: OptionSpec = OptionSpec::new(
    "sqpoll",
    "on|off",
    "off",
    "whether a thread of the kernel looks for requests (IORING_SETUP_SQPOLL) instead of a call for each",
);
