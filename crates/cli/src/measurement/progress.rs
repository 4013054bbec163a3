//! The live line: what is being measured, how far it is, how long it still takes. On standard
//! error, and only on a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The live line of a run.
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    expected: Duration,
    done: u64,
}

impl Progress {
    /// A line for `cases` cases that are expected to take `expected` together.
    pub(crate) fn new(cases: u64, expected: Duration) -> Self {
        let bar = ProgressBar::new(cases);
        let style = ProgressStyle::with_template("[{pos}/{len}] {bar:24} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar, began: Instant::now(), expected, done: 0 }
    }

    /// A case begins.
    pub(crate) fn starting(&mut self, case: &str) {
        self.bar.set_message(format!("{case}, {} left", words(self.left())));
    }

    /// A case has ended.
    pub(crate) fn finished(&mut self) {
        self.done += 1;
        self.bar.set_position(self.done);
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// From what the cases took until now; at the beginning from what they are expected to take.
    fn left(&self) -> Duration {
        let total = self.bar.length().unwrap_or(0);
        let left = total.saturating_sub(self.done) as u32;
        match self.done {
            0..3 => self.expected * left / (total as u32).max(1),
            done => self.began.elapsed() * left / done as u32,
        }
    }
}

fn words(left: Duration) -> String {
    match left.as_secs() + 1 {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
