//! Results: their form, their file, and what is made of their cases.

mod advice;
mod compare;
mod explanation;
mod fairness;
mod file;
mod histogram;
mod hosts;
mod rows;
mod sample;
mod schema;
mod trends;
mod trials;
