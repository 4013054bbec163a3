//! The styles of other benchmarks: how they look, and that their figures are the result's.

mod looks;
mod parsed;

use ipcmark_report::{Format, Style, render};
use ipcmark_results::RunResult;

/// The styles of other benchmarks.
const STYLES: [Format; 4] =
    [Format::Iceperf, Format::IpcBench, Format::FastDds, Format::IpcPerformance];

fn styled(result: &RunResult, format: Format) -> String {
    render(result, format, Style { width: 80, color: true })
}
