//! The result as its file holds it.

use ipcmark_results::{RunResult, to_json};

/// The result as its file holds it.
pub fn render(result: &RunResult) -> String {
    to_json(result)
}
