//! The formats that other tools read: their text, and that their figures equal the table's.

mod documented;
mod figures;
mod looks;
mod syntax;
