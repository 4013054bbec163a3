//! A test and its outcome.

use libtest_mimic::Failed;

/// A test; it fails by panicking or by its verdict.
pub struct Test {
    pub(crate) name: String,
    pub(crate) body: Box<dyn FnOnce() -> Verdict + Send>,
}

impl Test {
    /// A test with this name.
    pub fn new<V: Into<Verdict>>(
        name: impl Into<String>,
        body: impl FnOnce() -> V + Send + 'static,
    ) -> Self {
        Self { name: name.into(), body: Box::new(|| body().into()) }
    }

    /// The same test, as a member of a group.
    #[must_use]
    pub fn of(self, group: &str) -> Self {
        Self { name: format!("{group}::{}", self.name), ..self }
    }
}

/// The outcome of a test that did not panic.
pub enum Verdict {
    /// It passes.
    Holds,
    /// It cannot be decided on this machine, with the reason.
    Skipped(String),
    /// It fails, with the reason.
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
