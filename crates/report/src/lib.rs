//! Results for people and programs: one file a format.

mod caveats;
mod columns;
mod csv;
mod grid;
mod html;
mod json;
mod markdown;
mod plain;
mod remarks;
mod rows;
mod styles;
mod table;
mod units;

use std::{fmt, str::FromStr};

use ipcmark_results::RunResult;

pub use html::{Source, page};

/// The form in which a result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table for a terminal.
    Table,
    /// The same tables in GitHub's Markdown.
    Markdown,
    /// One line a case, with all figures.
    Csv,
    /// The result file itself.
    Json,
    /// iceperf's banners and Markdown table.
    Iceperf,
    /// IPC-Bench's RESULTS block.
    IpcBench,
    /// The comma-separated table of Fast DDS's LatencyTest.
    FastDds,
    /// The table of IPC Performance Benchmarks.
    IpcPerformance,
}

/// How a table for a terminal looks; the other formats take no notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal. No line is longer, unless they are fewer than 40.
    pub width: usize,
    /// Whether escape sequences may be written: bold, dim, red.
    pub color: bool,
}

impl Format {
    /// Every format, in the order in which people are shown them.
    pub const ALL: &[Format] = &[
        Format::Table,
        Format::Markdown,
        Format::Csv,
        Format::Json,
        Format::Iceperf,
        Format::IpcBench,
        Format::FastDds,
        Format::IpcPerformance,
    ];

    /// The word for it on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Markdown => "markdown",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Iceperf => "iceperf",
            Format::IpcBench => "ipc-bench",
            Format::FastDds => "fastdds",
            Format::IpcPerformance => "ipc-performance",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = ();
    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.iter().copied().find(|format| format.as_str() == word).ok_or(())
    }
}

/// The result in a format; every format ends in a line feed.
pub fn render(result: &RunResult, format: Format, style: Style) -> String {
    match format {
        Format::Table => table::render(result, style),
        Format::Markdown => markdown::render(result),
        Format::Csv => csv::render(result),
        Format::Json => json::render(result),
        Format::Iceperf => styles::iceperf(result),
        Format::IpcBench => styles::ipc_bench(result),
        Format::FastDds => styles::fastdds(result),
        Format::IpcPerformance => styles::ipc_performance(result),
    }
}
