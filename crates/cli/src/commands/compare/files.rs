//! Comparison of result files.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use ipcmark_report::ComparedSides;
use ipcmark_results::{RunResult, compare_runs};

use super::{arguments::CompareArguments, shown::show};
use crate::saved::read;

pub(super) fn compare(arguments: &CompareArguments) -> Result<ExitCode, String> {
    let (base, new) = (SideFiles::read(&arguments.base)?, SideFiles::read(&arguments.new)?);
    let change = compare_runs(&base.results(), &new.results());
    let notes = [base.incomplete(), new.incomplete()].concat();
    let sides = ComparedSides { change: &change, base: base.names(), new: new.names(), notes };
    Ok(show(&sides, arguments.format))
}

/// The result files of a side.
struct SideFiles(Vec<(PathBuf, RunResult)>);

impl SideFiles {
    /// Reads the files in a comma-separated list.
    fn read(list: &Path) -> Result<Self, String> {
        let paths = list.as_os_str().as_bytes().split(|byte| *byte == b',').map(OsStr::from_bytes);
        let read = |path: &OsStr| Ok((PathBuf::from(path), read(Path::new(path))?));
        paths.map(read).collect::<Result<_, _>>().map(Self)
    }

    fn results(&self) -> Vec<&RunResult> {
        self.0.iter().map(|(_, result)| result).collect()
    }

    fn names(&self) -> String {
        let names: Vec<String> =
            self.0.iter().map(|(path, _)| path.display().to_string()).collect();
        names.join(", ")
    }

    fn incomplete(&self) -> Vec<String> {
        let incomplete = self.0.iter().filter(|(_, result)| !result.complete);
        let note = |(path, _): &(PathBuf, RunResult)| {
            format!("{} is incomplete: its run was interrupted.", path.display())
        };
        incomplete.map(note).collect()
    }
}
