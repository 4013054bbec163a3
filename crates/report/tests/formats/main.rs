//! Every format, from results of all kinds.

mod arbitrary;
mod files;
mod page;
mod sample;
mod styles;
mod table;
