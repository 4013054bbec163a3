//! The reason why a check failed.

use std::fmt;

use ipcmark_transport::Error;

/// The expected and the observed behaviour, in one sentence.
#[derive(Clone, Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure described by `sentence`.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// The expected and the observed behaviour.
    pub fn expected(expected: impl fmt::Display, seen: impl fmt::Display) -> Self {
        Self(format!("expected {expected}; saw {seen}"))
    }

    /// Prepends the action during which it failed.
    #[must_use]
    pub fn during(self, what: impl fmt::Display) -> Self {
        Self(format!("{what}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}
