//! The definition of a target.

/// A fuzz target, as its file defines it.
pub struct Target {
    /// Its name, and the name of its folder in `corpus/`.
    pub name: &'static str,
    /// Takes arbitrary bytes.
    pub run: fn(&[u8]),
}
