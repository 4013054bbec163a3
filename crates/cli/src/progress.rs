//! The line of progress: the current measurement, the progress of the run, and the remaining time. It goes to
//! standard error, and only to a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// The steps of the bar.
const STEPS: u64 = 1000;

/// The line of progress of one run.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    began: Instant,
}

impl ProgressLine {
    /// The line of a run that begins now.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new(STEPS);
        let style = ProgressStyle::with_template("[{percent:>3} %] {bar:16} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar, began: Instant::now() }
    }

    /// Shows the current measurement and the progress of the run from 0 to 1.
    pub(crate) fn show(&mut self, what: &str, done: f64) {
        self.bar.set_position((done * STEPS as f64) as u64);
        let message = match left(self.began.elapsed(), done) {
            // The end of a line that is too long is cut off.
            Some(left) => format!("{} left, {what}", words(left)),
            None => what.to_owned(),
        };
        self.bar.set_message(output::shown(&message).into_owned());
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The estimated remaining time of a run, from the elapsed time; None while too little is done for
/// an estimate.
pub(crate) fn left(elapsed: Duration, done: f64) -> Option<Duration> {
    (done > 0.02).then(|| elapsed.mul_f64((1.0 - done).max(0.0) / done))
}

/// The remaining time in words.
pub(crate) fn words(left: Duration) -> String {
    match left.as_secs() + 1 {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
