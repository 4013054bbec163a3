//! The actions during a run: progress is shown, and the result so far is written to its file.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use ipcmark_engine::{Observer, Plan, Registry, RunOptions};
use ipcmark_results::{Identity, RunResult};
use ipcmark_transport::Error;

use super::{announcer::Announcer, request::RunRequest};
use crate::{interrupts::Interrupts, live::Live, output, progress::ProgressLine};

/// Measures a request with both ends in this command, and informs the recorder.
pub(crate) fn recorded(
    request: &RunRequest,
    registry: &Registry,
    interrupts: &Interrupts,
    recorder: ResultRecorder<'_>,
) -> Result<RunResult, Error> {
    let plan = Plan::new(registry, &request.plan);
    planned(&plan, &request.options, registry, interrupts, recorder)
}

/// The same for a plan.
pub(super) fn planned(
    plan: &Plan,
    options: &RunOptions,
    registry: &Registry,
    interrupts: &Interrupts,
    mut recorder: ResultRecorder<'_>,
) -> Result<RunResult, Error> {
    let readable = &interrupts.readable;
    let found = ipcmark_engine::run(registry, plan, options, readable, &mut recorder);
    recorder.clear();
    found
}

/// The minimum ratio of the time between two writings of the file to the duration of the first of them. The file
/// grows with the run, and nothing is measured while it is written.
const APART: u32 = 50;

/// The end of the last writing of the file, and its duration; none before the first.
#[derive(Default)]
struct LastWriting(Option<(Instant, Duration)>);

impl LastWriting {
    fn is_long_ago(&self) -> bool {
        self.0.is_none_or(|(ended, took)| ended.elapsed() >= took * APART)
    }

    fn begun_at(&mut self, begun: Instant) {
        self.0 = Some((Instant::now(), begun.elapsed()));
    }
}

/// Names the rows of a result that get further trials.
type Finalists<'f> = Box<dyn Fn(&RunResult) -> Vec<Identity> + 'f>;

/// Shows progress and writes the result so far to its file.
pub(crate) struct ResultRecorder<'f> {
    output: Option<PathBuf>,
    last_writing: LastWriting,
    progress: ProgressLine,
    live: Option<Live>,
    announcer: Option<Announcer>,
    /// The index of this run, from 0, and the number of runs that the user sees as one.
    part: (usize, usize),
    finalists: Finalists<'f>,
}

impl<'f> ResultRecorder<'f> {
    /// A recorder for a run whose result goes to `output`.
    pub(crate) fn new(output: Option<PathBuf>) -> Self {
        // A stream would get every intermediate result in sequence: it gets only the last one.
        let output = output.filter(|path| !ipcmark_results::is_stream(path));
        let (last_writing, progress) = (LastWriting::default(), ProgressLine::new());
        let finalists = Box::new(|_: &RunResult| Vec::new());
        Self {
            output,
            last_writing,
            progress,
            live: None,
            announcer: None,
            part: (0, 1),
            finalists,
        }
    }

    /// The same for a run with a final of these rows.
    pub(crate) fn with_final(
        self,
        finalists: impl Fn(&RunResult) -> Vec<Identity> + 'f,
    ) -> ResultRecorder<'f> {
        Self { finalists: Box::new(finalists), ..self }
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

    /// Writes the result so far, unless the last writing took too long for that to be worth it already. At the end
    /// of the run the whole result is written, and only then errors are reported.
    fn write(&mut self, result: &RunResult) {
        let Some(path) = &self.output else { return };
        if self.last_writing.is_long_ago() {
            let begun = Instant::now();
            let _ = ipcmark_results::write_atomically(path, result);
            self.last_writing.begun_at(begun);
        }
    }
}

impl Observer for ResultRecorder<'_> {
    fn begun(&mut self, result: &RunResult) {
        self.write(result);
        // The first rows come next.
        self.last_writing = LastWriting::default();
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

    fn finalists(&mut self, result: &RunResult) -> Vec<Identity> {
        (self.finalists)(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_takes_long_to_write_is_written_seldom() {
        let mut last = LastWriting::default();
        assert!(last.is_long_ago(), "there was none");
        last.0 = Some((Instant::now(), Duration::from_secs(3600)));
        assert!(!last.is_long_ago());
        last.0 = Some((Instant::now(), Duration::ZERO));
        assert!(last.is_long_ago(), "it took no time");
    }
}
