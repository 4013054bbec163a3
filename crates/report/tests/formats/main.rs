//! Every format, from results of all kinds.

mod arbitrary;
mod comparison;
mod explanation;
mod exports;
mod files;
mod hosts;
mod page;
mod sample;
mod styles;
mod sweep;
mod table;

use ipcmark_report::{Terminal, format};
use ipcmark_results::RunResult;

/// The result in the format of this name, as wide as a usual terminal.
fn shown(result: &RunResult, name: &str) -> String {
    shown_on(result, name, Terminal { width: 80, color: false, ascii: false })
}

fn shown_on(result: &RunResult, name: &str, terminal: Terminal) -> String {
    let format = format(name).unwrap_or_else(|| panic!("there is no format {name}"));
    format.render(result, terminal).unwrap_or_else(|cause| panic!("{name}: {cause}"))
}
