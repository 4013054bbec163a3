//! The result in further formats, each written into a file of its own.

use std::{
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use ipcmark_report::{Format, Terminal};
use ipcmark_results::{RunResult, check_writable, is_stream, write_text};

use crate::{
    arguments::{export::Export, run::RunArguments},
    output,
};

/// Checks, before anything is measured, that the result of one row or `several` can be shown and written as requested.
pub(crate) fn check(arguments: &RunArguments, several: bool) -> Result<(), String> {
    check_shown(arguments.format)?;
    check_rows(arguments, several)?;
    let exports = arguments.export.iter().map(|export| &export.path);
    check_paths(&arguments.output.iter().chain(exports).collect::<Vec<_>>())
}

fn check_rows(arguments: &RunArguments, several: bool) -> Result<(), String> {
    let exported = arguments.export.iter().map(|export| export.format);
    let mut formats = std::iter::once(arguments.format).chain(exported);
    match formats.find(|format| format.one_row && several) {
        None => Ok(()),
        Some(format) => Err(format!(
            "cannot write {format}: it holds one row, and several would be measured; choose one with -t, -s, -w and \
             -p, or save the result with -o RESULT.json and use `ipcmark show RESULT.json --row NAME --format {format}`"
        )),
    }
}

/// Checks that a format can be shown on standard output.
pub(crate) fn check_shown(shown: &Format) -> Result<(), String> {
    if !shown.for_terminals && io::stdout().is_terminal() {
        return Err(format!(
            "cannot show the format {shown} on a terminal: send standard output to a file, or use \
             --export {shown}=FILE"
        ));
    }
    Ok(())
}

/// Checks that each of these files can be written, and that no two are the same.
pub(crate) fn check_paths(paths: &[&PathBuf]) -> Result<(), String> {
    for (at, path) in paths.iter().enumerate() {
        check_writable(path).map_err(|e| e.to_string())?;
        if paths[..at].iter().any(|other| is_same(path, other)) {
            return Err(format!(
                "cannot write two forms of the result to {}: give each --export, and --output, a \
                 file of its own",
                path.display()
            ));
        }
    }
    Ok(())
}

/// True if writing the second path would replace the first.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    !is_stream(one) && place(one) == place(other)
}

/// The path with all links resolved; for a file that does not exist yet, by its directory.
fn place(path: &Path) -> PathBuf {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let beside = || {
        let directory = fs::canonicalize(directory.unwrap_or(Path::new("."))).ok()?;
        Some(directory.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(beside).unwrap_or_else(|| path.into())
}

/// Writes the result itself, if a file is given; if that fails, prints the error and returns false.
pub(crate) fn save(path: Option<&PathBuf>, result: &RunResult) -> bool {
    let written = path.map_or(Ok(()), |path| ipcmark_results::write_atomically(path, result));
    written.map_err(output::say).is_ok()
}

/// Writes every export; if one fails, prints the error and returns false.
pub(crate) fn write(exports: &[Export], result: &RunResult) -> bool {
    let failures: Vec<String> =
        exports.iter().filter_map(|export| write_one(export, result).err()).collect();
    failures.iter().for_each(output::say);
    failures.is_empty()
}

fn write_one(export: &Export, result: &RunResult) -> Result<(), String> {
    let file = Terminal { width: output::DEFAULT_COLUMNS, color: false, ascii: false };
    let text = export.format.render(result, file)?;
    write_text(&export.path, &text).map_err(|e| e.to_string())
}
