//! The page for the browser, for one result.

use crate::{
    format::Format,
    html::{Source, page},
};

/// The page for the browser.
pub(super) const FORMAT: Format = Format {
    name: "html",
    summary: "a self-contained page for the browser, as `ipcmark report` makes it",
    for_terminals: false,
    for_programs: true,
    one_row: false,
    text: |result, _| page(&[Source { name: format!("run {}", result.run.id), result }]),
};
