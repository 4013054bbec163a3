//! `ipcmark report`: makes one page for the browser from result files.

use std::{
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use ipcmark_report::{Source, Terminal};
use ipcmark_results::RunResult;

use crate::{
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    measurement::exports::check_paths,
    output, picture,
    saved::read,
};

/// The files of a report.
#[derive(Args)]
struct ReportArguments {
    /// Result files; each is compared with the first
    #[arg(value_name = "RESULT.json", required = true)]
    results: Vec<PathBuf>,

    /// The file of the page [default: standard output]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,

    /// Write a card of the first result instead, 1200 × 630, to share: the fastest rows, spinning and sleeping
    #[arg(long, value_name = "FILE.svg", conflicts_with = "output")]
    svg: Option<PathBuf>,

    /// The same as pixels, drawn by rsvg-convert, resvg, inkscape or chromium, whichever is there
    #[arg(long, value_name = "FILE.png", conflicts_with = "output")]
    png: Option<PathBuf>,
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: ReportArguments = invocation.arguments()?;
    refuse_to_replace_a_result(&arguments)?;
    if !cards(&arguments).is_empty() {
        check_paths(&cards(&arguments))?;
        return Ok(card(&arguments).map_or_else(output::failed, |()| ExitCode::SUCCESS));
    }
    if arguments.output.is_none() && io::stdout().is_terminal() {
        return Err(String::from(
            "cannot show the report on a terminal: it is a page for a browser; name a file with \
             --output report.html",
        )
        .into());
    }
    Ok(match page(&arguments.results) {
        Ok(page) => write(&page, arguments.output.as_deref()),
        Err(cause) => output::failed(cause),
    })
}

/// The requested files for cards.
fn cards(arguments: &ReportArguments) -> Vec<&PathBuf> {
    arguments.svg.iter().chain(&arguments.png).collect()
}

fn card(arguments: &ReportArguments) -> Result<(), String> {
    let svg = ipcmark_report::format("svg").expect("it is in the list");
    let result = read(&arguments.results[0])?;
    let terminal = Terminal { width: output::DEFAULT_COLUMNS, color: false, ascii: false };
    let card = svg.render(&result, terminal)?;
    if let Some(path) = &arguments.svg {
        ipcmark_results::write_text(path, &card).map_err(|e| e.to_string())?;
    }
    if let Some(path) = &arguments.png {
        let picture = picture::png(&card)?;
        ipcmark_results::write_bytes(path, &picture).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn write(page: &str, path: Option<&Path>) -> ExitCode {
    let Some(path) = path else { return output::printed(page) };
    ipcmark_results::write_text(path, page).map_or_else(output::failed, |()| ExitCode::SUCCESS)
}

fn page(paths: &[PathBuf]) -> Result<String, String> {
    let results: Vec<RunResult> = paths.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let names = names(paths);
    let sources: Vec<Source> =
        names.into_iter().zip(&results).map(|(name, result)| Source { name, result }).collect();
    ipcmark_report::page(&sources)
}

/// The files by their last path component, or by their whole paths if those are not distinct.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let last = |path: &PathBuf| path.file_name().map(Path::new).unwrap_or(path).to_path_buf();
    let short: Vec<PathBuf> = paths.iter().map(last).collect();
    let is_distinct = |name| short.iter().filter(|other| *other == name).count() == 1;
    let names = if short.iter().all(is_distinct) { &short } else { paths };
    names.iter().map(|name| name.display().to_string()).collect()
}

/// Refuses to overwrite a result file with the page.
fn refuse_to_replace_a_result(arguments: &ReportArguments) -> Result<(), String> {
    let written = arguments.output.iter().chain(cards(arguments));
    written.into_iter().try_for_each(|output| refuse_to_replace(&arguments.results, output))
}

fn refuse_to_replace(results: &[PathBuf], output: &Path) -> Result<(), String> {
    let Ok(target) = fs::canonicalize(output) else { return Ok(()) };
    let is_target = |path: &&PathBuf| fs::canonicalize(path).is_ok_and(|path| path == target);
    match results.iter().find(is_target) {
        Some(path) if !ipcmark_results::is_stream(path) => Err(format!(
            "cannot write the report to {}: it would replace the result file that it is made \
             from; give --output another name, such as report.html",
            output.display()
        )),
        _ => Ok(()),
    }
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "report",
    summary: "Make a page for the browser of one result, or of several side by side",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark report r.json", "writes r.html"),
            (
                "ipcmark report monday.json tuesday.json -o both.html",
                "side by side, the first as the base",
            ),
            ("ipcmark report r.json --png card.png", "a card to share"),
        ],
        exit: "0 the page is written; 1 a result could not be read, or the page not written; 2 the command line is wrong",
        see_also: &["show", "compare", "run"],
    },
    flags: ReportArguments::augment_args,
    run,
};
