//! The history that results are added to.

use std::path::{Path, PathBuf};

use ipcmark_history::{Added, History, RunLabels, default_path};
use ipcmark_report::row_names;
use ipcmark_results::RunResult;

/// The named file, or the default one.
pub(crate) fn path(named: Option<&Path>) -> Result<PathBuf, String> {
    named.map(PathBuf::from).or_else(default_path).ok_or_else(|| {
        "cannot find the history: neither XDG_DATA_HOME nor HOME is set; name a file with --file"
            .into()
    })
}

/// Opens the default history for writing. The error is a sentence.
pub(crate) fn open() -> Result<History, String> {
    History::write(&path(None)?)
}

/// Adds a result. The error is a sentence.
pub(crate) fn add(
    history: &mut History,
    result: &RunResult,
    labels: &RunLabels,
) -> Result<Added, String> {
    history.add(result, &row_names(result), &machine(result), labels)
}

/// The machine in words, unless the user has named it.
fn machine(result: &RunResult) -> String {
    let place = &result.environment;
    let unit = if place.cpus_usable == 1 { "processor" } else { "processors" };
    let hypervisor = match place.hypervisor.as_str() {
        "none" => "bare metal",
        hypervisor => hypervisor,
    };
    format!("{}, {} {unit}, {hypervisor}", place.cpu_model, place.cpus_usable)
}
