//! The result as in its file.

use ipcmark_results::to_json;

use crate::format::Format;

/// The result as in its file.
pub(super) const FORMAT: Format = Format {
    name: "json",
    summary: "the result file itself, every sample included",
    for_terminals: true,
    for_programs: true,
    one_row: false,
    text: |result, _| Ok(to_json(result)),
};
