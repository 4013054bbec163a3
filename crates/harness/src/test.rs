//! A test and its outcome.

use libtest_mimic::Failed;

/// A test: it fails by panicking.
pub struct Test {
    pub(crate) name: String,
    pub(crate) body: Box<dyn FnOnce() -> Verdict + Send>,
}

impl Test {
    /// The test of this name.
    pub fn new<V: Into<Verdict>>(
        name: impl Into<String>,
        body: impl FnOnce() -> V + Send + 'static,
    ) -> Self {
        Self { name: name.into(), body: Box::new(|| body().into()) }
    }

    /// The same test, as one of a group.
    #[must_use]
    pub fn of(self, group: &str) -> Self {
        Self { name: format!("{group}::{}", self.name), ..self }
    }
}

/// The outcome of a test that did not panic.
pub enum Verdict {
    /// It holds.
    Holds,
    /// It cannot be found out on this machine, and why.
    Skipped(String),
    /// It does not hold, and why.
    Fails(String),
}

impl From<()> for Verdict {
    fn from((): ()) -> Self {
        Verdict::Holds
    }
}

impl From<Result<(), Failed>> for Verdict {
    fn from(result: Result<(), Failed>) -> Self {
        match result {
            Ok(()) => Verdict::Holds,
            Err(failed) => Verdict::Fails(failed.message().unwrap_or("no reason").into()),
        }
    }
}
