//! `--live`: the run so far, on the whole terminal. It is drawn between measurements, never during one, so that it
//! takes no time from any row, on any processor.

mod screen;
mod view;

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use ipcmark_report::{CurrentRanking, current_ranking};
use ipcmark_results::{Identity, RunResult, place};
use ipcmark_transport::Error;

use self::{screen::Screen, view::View};
use crate::output;

/// The shortest time between two pictures: four a second.
const LEAST: Duration = Duration::from_millis(250);

/// Drawing takes at most one part in this many of the run's time.
const SHARE: u32 = 20;

/// The live view of a run.
pub(crate) struct Live {
    screen: Screen,
    began: Instant,
    /// The number of trials that each row had at the last check.
    trials: BTreeMap<String, usize>,
    view: View,
    drawn: RateLimit,
    placed: RateLimit,
}

/// A rate limit for something expensive.
struct RateLimit {
    last: Option<Instant>,
    cost: Duration,
}

impl RateLimit {
    fn new() -> Self {
        Self { last: None, cost: Duration::ZERO }
    }

    fn is_over(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= LEAST.max(self.cost * SHARE))
    }

    /// Notes that it was done now, and began at `begun`.
    fn done(&mut self, begun: Instant) {
        (self.last, self.cost) = (Some(Instant::now()), begun.elapsed());
    }
}

/// Refuses a terminal that cannot show the view, in a sentence.
pub(crate) fn check() -> Result<(), String> {
    if !io::stderr().is_terminal() {
        return Err("cannot show --live: standard error is not a terminal; leave --live out, or run it in a \
        terminal".into());
    }
    if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
        return Err(
            "cannot show --live: TERM names no terminal that can move its cursor; leave --live out"
                .into(),
        );
    }
    Ok(())
}

impl Live {
    /// Takes over the terminal.
    pub(crate) fn begin() -> Result<Self, Error> {
        let screen = Screen::take().map_err(|e| Error::scarce("draw", "the live view", e))?;
        let mut view = View::default();
        view.is_ascii = output::terminal().ascii;
        let (drawn, placed) = (RateLimit::new(), RateLimit::new());
        Ok(Self { screen, began: Instant::now(), trials: BTreeMap::new(), view, drawn, placed })
    }

    /// Shows what is measured next, and the progress of the run from 0 to 1.
    pub(crate) fn progress(&mut self, what: &str, done: f64) {
        self.view.what = what.into();
        self.view.done = done;
        self.view.elapsed = self.began.elapsed();
        if self.drawn.is_over() {
            let begun = Instant::now();
            self.screen.draw(&self.view);
            self.drawn.done(begun);
        }
    }

    /// Shows the result so far.
    pub(crate) fn recorded(&mut self, result: &RunResult) {
        self.view.count(result);
        if !self.placed.is_over() {
            return;
        }
        let begun = Instant::now();
        if let Some(identity) = self.newest(result) {
            self.view.current_ranking =
                self.current_ranking(result, &identity).or(self.view.current_ranking.take());
            self.view.now = last_probe(result, &identity);
        }
        self.placed.done(begun);
    }

    /// The first row with new trials since the last call.
    fn newest(&mut self, result: &RunResult) -> Option<Identity> {
        let mut newest = None;
        for case in &result.cases {
            let identity = &case.identity;
            let trials = case.trials().len();
            let known = self.trials.insert(format!("{identity:?}"), trials).unwrap_or(0);
            if trials > known && newest.is_none() {
                newest = Some(identity.clone());
            }
        }
        newest
    }

    /// The standing of the row's group in the result, placed at its distances as at the end.
    fn current_ranking(&self, result: &RunResult, identity: &Identity) -> Option<CurrentRanking> {
        let mut placed = result.clone();
        place(&mut placed, &BTreeMap::new()).ok()?;
        current_ranking(&placed, identity, self.screen.columns())
    }

    /// Restores the terminal.
    pub(crate) fn end(&self) {
        self.screen.give_back();
    }
}

/// The last probe of a row: the current distance.
fn last_probe(result: &RunResult, identity: &Identity) -> Option<f64> {
    let trial = result.case(identity)?.trials().last()?;
    trial.blocks.probe_after_ns.last().copied()
}
