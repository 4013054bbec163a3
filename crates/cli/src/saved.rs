//! Results that were saved before.

use std::path::Path;

use ipcmark_results::RunResult;

/// Reads a result file; the error says how to write one.
pub(crate) fn read(path: &Path) -> Result<RunResult, String> {
    ipcmark_results::read(path)
        .map_err(|cause| format!("{cause}; a result file is what `ipcmark run -o FILE` writes"))
}
