//! `ipcmark report`: result files made into one page for the browser.

use std::{
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
};

use ipcmark_report::Source;
use ipcmark_results::RunResult;

use crate::{arguments::ReportArguments, output};

/// Reads the files and writes the page. An error is one of the command line.
pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, String> {
    refuse_to_replace_a_result(arguments)?;
    if arguments.output.is_none() && io::stdout().is_terminal() {
        return Err("the report is a page for a browser, not for a terminal: name a file with \
                    --output report.html"
            .into());
    }
    let page = match page(&arguments.results) {
        Ok(page) => page,
        Err(cause) => return Ok(failed(cause)),
    };
    let Some(path) = &arguments.output else {
        return Ok(if output::print(&page) { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    match ipcmark_results::write_text(path, &page) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => Ok(failed(error)),
    }
}

fn failed(cause: impl std::fmt::Display) -> ExitCode {
    output::complain(cause);
    ExitCode::FAILURE
}

fn page(paths: &[PathBuf]) -> Result<String, String> {
    let results: Vec<RunResult> = paths.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let names = names(paths);
    let sources: Vec<Source> =
        names.into_iter().zip(&results).map(|(name, result)| Source { name, result }).collect();
    ipcmark_report::page(&sources)
}

fn read(path: &Path) -> Result<RunResult, String> {
    ipcmark_results::read(path)
        .map_err(|cause| format!("{cause}; a result file is what `ipcmark run -o FILE` writes"))
}

/// The files by their last names, or by their whole paths where those are not distinct.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let last = |path: &PathBuf| path.file_name().map(Path::new).unwrap_or(path).to_path_buf();
    let short: Vec<PathBuf> = paths.iter().map(last).collect();
    let is_distinct = |name| short.iter().filter(|other| *other == name).count() == 1;
    let names = if short.iter().all(is_distinct) { &short } else { paths };
    names.iter().map(|name| name.display().to_string()).collect()
}

/// The page never takes the place of what it is made from.
fn refuse_to_replace_a_result(arguments: &ReportArguments) -> Result<(), String> {
    let Some(output) = &arguments.output else { return Ok(()) };
    let Ok(target) = fs::canonicalize(output) else { return Ok(()) };
    let is_target = |path: &&PathBuf| fs::canonicalize(path).is_ok_and(|path| path == target);
    match arguments.results.iter().find(is_target) {
        Some(path) if !ipcmark_results::is_stream(path) => Err(format!(
            "cannot write the report to {}: it would replace the result file that it is made \
             from; give --output another name, such as report.html",
            output.display()
        )),
        _ => Ok(()),
    }
}
