//! The input of a page.

use ipcmark_results::RunResult;

/// A result and its name on the page.
pub struct Source<'a> {
    /// The name of its file.
    pub name: String,
    /// The result.
    pub result: &'a RunResult,
}
