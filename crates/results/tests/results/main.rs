//! Results: their schema, their file, and the evaluation of their cases.

mod advice;
mod compare;
mod counted;
mod explanation;
mod fairness;
mod file;
mod histogram;
mod hosts;
mod p99_limit;
mod rates;
mod rows;
mod sample;
mod schema;
mod shared_cores;
mod trends;
mod trials;
mod wakefulness;
