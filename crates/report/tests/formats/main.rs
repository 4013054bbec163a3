//! Every format, from results of all kinds.

mod arbitrary;
mod files;
mod sample;
mod table;
