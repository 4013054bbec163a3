//! A comparison shown on standard output.

use std::process::ExitCode;

use ipcmark_report::{ComparedSides, comparison_json, comparison_junit, comparison_table};
use ipcmark_results::{Presence, Status, stats::Verdict};

use super::arguments::FormatWord;
use crate::output;

/// Shows a comparison and returns the exit status, which is a failure if a row is slower or failed on the new side, or if
/// there is no row.
pub(crate) fn show(sides: &ComparedSides, format: FormatWord) -> ExitCode {
    let text = match format {
        FormatWord::Table => {
            output::shown(&comparison_table(sides, output::terminal())).into_owned()
        }
        FormatWord::Json => comparison_json(sides),
        FormatWord::Junit => comparison_junit(sides),
    };
    let mut verdicts = sides.change.pairs().map(|pair| pair.comparison.verdict).peekable();
    if verdicts.peek().is_none() {
        output::say("cannot compare: no row was measured on both sides");
        let _ = output::print(&text);
        return ExitCode::FAILURE;
    }
    let slower = verdicts.any(|verdict| verdict == Verdict::Slower);
    let shown = output::print(&text);
    let failed = sides.change.unpaired.iter().any(|alone| has_failed(&alone.new));
    ExitCode::from(u8::from(slower || failed || !shown))
}

/// True if a side tried the row, and it failed.
pub(super) fn has_failed(presence: &Presence) -> bool {
    matches!(presence, Presence::Unmeasured(case) if case.status() == Status::Failed)
}
