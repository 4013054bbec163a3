//! Why a check did not pass.

use std::fmt;

use ipcmark_transport::Error;

/// What was expected and what was seen instead, in one sentence.
#[derive(Clone, Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure told in `sentence`.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// What was expected, and what was seen instead.
    pub fn expected(expected: impl fmt::Display, seen: impl fmt::Display) -> Self {
        Self(format!("expected {expected}; saw {seen}"))
    }

    /// Puts what was being done before it.
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
