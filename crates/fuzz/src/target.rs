//! The definition of a target.

/// A fuzz target, as its file defines it.
pub struct Target {
    /// The word for it, and the name of its folder in `corpus/`.
    pub name: &'static str,
    /// Takes any bytes.
    pub run: fn(&[u8]),
}
