//! The C contract of `include/ipcmark/transport.h` in Rust: its structs, its texts and errors, and [`mod@export`], which
//! implements it for transports written in Rust.
//!
//! A module in Rust depends on this crate and on `ipcmark-transport` only; `ipcmark-abi` is the other side, which loads
//! modules.

mod bits;
pub mod c;
pub mod export;
pub mod failure;
pub mod text;

pub use bits::{pattern_bit, wait_bit, wait_of};
