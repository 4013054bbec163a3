//! Flags that several commands share, and the values that flags take. A flag of only one command is
//! defined in that command's file.

pub(crate) mod by_hand;
pub(crate) mod export;
pub(crate) mod of_run;
pub(crate) mod plan_file;
pub(crate) mod run;
pub(crate) mod sizes;
mod text_file;
pub(crate) mod trace_file;
pub(crate) mod values;
