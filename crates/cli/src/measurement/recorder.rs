//! What happens while a run measures: progress is shown, and the result file written after every case.

use std::path::PathBuf;

use ipcmark_engine::{Observer, Plan, PlannedCase, PlannedSession, expected_length};
use ipcmark_results::RunResult;
use ipcmark_transport::Error;

use super::progress::Progress;

/// Shows progress and writes the result file after every case.
pub(super) struct Recorder {
    output: Option<PathBuf>,
    progress: Progress,
}

impl Recorder {
    /// A recorder of a plan whose result goes to `output`.
    pub(super) fn new(output: Option<PathBuf>, plan: &Plan) -> Self {
        // A stream would get one whole result after the other: it gets the last one only.
        let output = output.filter(|path| !ipcmark_results::is_stream(path));
        let expected = expected_length(plan.budget) * plan.measurable() as u32;
        Self { output, progress: Progress::new(plan.len() as u64, expected) }
    }

    /// Removes the line of progress.
    pub(super) fn clear(&self) {
        self.progress.clear();
    }

    /// An error is left to the end of the run, when the whole result is written and its errors are said.
    fn write(&mut self, result: &RunResult) {
        if let Some(path) = &self.output {
            let _ = ipcmark_results::write_atomically(path, result);
        }
    }
}

impl Observer for Recorder {
    fn begun(&mut self, result: &RunResult) {
        self.write(result);
    }

    fn starting(&mut self, name: &str, session: &PlannedSession, case: &PlannedCase) {
        let (wait, payload, touch) = (session.wait, case.payload, case.touch.as_str());
        self.progress.starting(&format!("{name} {wait} {payload} B touch {touch}"));
    }

    fn finished(&mut self, result: &RunResult) -> Result<(), Error> {
        self.progress.finished();
        self.write(result);
        Ok(())
    }
}
