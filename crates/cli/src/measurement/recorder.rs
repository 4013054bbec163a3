//! The actions during a run: progress is shown, and the result file is written after every trial.

use std::path::PathBuf;

use ipcmark_engine::{Observer, Plan, Registry};
use ipcmark_results::RunResult;
use ipcmark_transport::Error;

use super::{announcer::Announcer, request::RunRequest};
use crate::{interrupts::Interrupts, live::Live, output, progress::ProgressLine};

/// Measures a request with both ends in this command, and informs the recorder.
pub(crate) fn recorded(
    request: &RunRequest,
    registry: &Registry,
    interrupts: &Interrupts,
    mut recorder: ResultRecorder,
) -> Result<RunResult, Error> {
    let plan = Plan::new(registry, &request.plan);
    let (options, readable) = (&request.options, &interrupts.readable);
    let found = ipcmark_engine::run(registry, &plan, options, readable, &mut recorder);
    recorder.clear();
    found
}

/// Shows progress and writes the result file after every trial.
pub(crate) struct ResultRecorder {
    output: Option<PathBuf>,
    progress: ProgressLine,
    live: Option<Live>,
    announcer: Option<Announcer>,
    /// The index of this run, from 0, and the number of runs that the user sees as one.
    part: (usize, usize),
}

impl ResultRecorder {
    /// A recorder for a run whose result goes to `output`.
    pub(crate) fn new(output: Option<PathBuf>) -> Self {
        // A stream would get every intermediate result in sequence: it gets only the last one.
        let output = output.filter(|path| !ipcmark_results::is_stream(path));
        Self { output, progress: ProgressLine::new(), live: None, announcer: None, part: (0, 1) }
    }

    /// The same, with iceperf's announcements instead of a line of progress.
    pub(crate) fn announcing(self) -> Self {
        Self { announcer: Some(Announcer::default()), ..self }
    }

    /// The same, with a drawing of the run so far instead of a line of progress, if `wanted`.
    pub(crate) fn drawing(self, wanted: bool) -> Result<Self, Error> {
        Ok(if wanted { Self { live: Some(Live::begin()?), announcer: None, ..self } } else { self })
    }

    /// Begins run `number`, from 0, of the `of` runs that the user sees as one.
    pub(crate) fn begin_part(&mut self, number: usize, of: usize) {
        self.part = (number, of);
    }

    /// Removes the line of progress, or restores the terminal.
    pub(crate) fn clear(&self) {
        if let Some(live) = &self.live {
            live.end();
        }
        self.progress.clear();
        if let Some(announcer) = &self.announcer {
            output::announce(announcer.end());
        }
    }

    /// Errors are ignored here: they are reported at the end of the run, when the whole result is
    /// written.
    fn write(&mut self, result: &RunResult) {
        if let Some(path) = &self.output {
            let _ = ipcmark_results::write_atomically(path, result);
        }
    }
}

impl Observer for ResultRecorder {
    fn begun(&mut self, result: &RunResult) {
        self.write(result);
    }

    fn progress(&mut self, what: &str, done: f64) {
        let (number, of) = self.part;
        let done = (number as f64 + done) / of as f64;
        match &mut self.live {
            Some(live) => live.progress(what, done),
            None if self.announcer.is_none() => self.progress.show(what, done),
            None => {}
        }
    }

    fn recorded(&mut self, result: &RunResult) -> Result<(), Error> {
        self.write(result);
        if let Some(live) = &mut self.live {
            live.recorded(result);
        }
        if let Some(announcer) = &mut self.announcer {
            output::announce(&announcer.recorded(result));
        }
        Ok(())
    }
}
