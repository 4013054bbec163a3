//! The input of a page.

use ipcmark_results::RunResult;

/// A result and the name that the page has for it.
pub struct Source<'a> {
    /// The name of its file.
    pub name: String,
    /// The result.
    pub result: &'a RunResult,
}
