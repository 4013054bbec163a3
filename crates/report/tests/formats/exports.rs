//! The formats that other tools read: how they look, and that their figures are the table's.

mod documented;
mod figures;
mod looks;
mod syntax;
