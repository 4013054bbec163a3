//! `--live`: the run so far, on the whole terminal. It is drawn between what is measured, never during it, so that it
//! takes no time of any row, wherever the system runs it.

mod screen;
mod view;

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use ipcmark_report::{Standing, standing};
use ipcmark_results::{Identity, RunResult, place};
use ipcmark_transport::Error;

use self::{screen::Screen, view::View};
use crate::output;

/// The shortest time between two pictures: four a second.
const LEAST: Duration = Duration::from_millis(250);

/// What drawing takes of the run at most: a part in so many.
const SHARE: u32 = 20;

/// The live view of a run.
pub(crate) struct Live {
    screen: Screen,
    began: Instant,
    /// How many trials each row had when it was looked at last.
    trials: BTreeMap<String, usize>,
    view: View,
    drawn: Pause,
    placed: Pause,
}

/// Something that is done seldom enough.
struct Pause {
    last: Option<Instant>,
    cost: Duration,
}

impl Pause {
    fn new() -> Self {
        Self { last: None, cost: Duration::ZERO }
    }

    fn is_over(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= LEAST.max(self.cost * SHARE))
    }

    /// Notes that it has been done since `begun`.
    fn done(&mut self, begun: Instant) {
        (self.last, self.cost) = (Some(Instant::now()), begun.elapsed());
    }
}

/// Refuses a terminal that cannot show the view, in a sentence.
pub(crate) fn check() -> Result<(), String> {
    if !io::stderr().is_terminal() {
        return Err("cannot show --live: standard error is no terminal; leave --live out, or run it in a terminal".into());
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
    /// Takes the terminal.
    pub(crate) fn begin() -> Result<Self, Error> {
        let screen = Screen::take().map_err(|e| Error::scarce("draw", "the live view", e))?;
        let mut view = View::default();
        view.is_ascii = output::terminal().ascii;
        let (drawn, placed) = (Pause::new(), Pause::new());
        Ok(Self { screen, began: Instant::now(), trials: BTreeMap::new(), view, drawn, placed })
    }

    /// This is being measured next, and the run is so far, from 0 to 1.
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

    /// The result so far.
    pub(crate) fn recorded(&mut self, result: &RunResult) {
        self.view.count(result);
        if !self.placed.is_over() {
            return;
        }
        let begun = Instant::now();
        if let Some(identity) = self.newest(result) {
            self.view.standing = self.standing(result, &identity).or(self.view.standing.take());
            self.view.now = last_probe(result, &identity);
        }
        self.placed.done(begun);
    }

    /// The row of which trials came since the last time; of several the one with the most trials, then the first.
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

    /// What the result says of the row's group, placed as it is at the end.
    fn standing(&self, result: &RunResult, identity: &Identity) -> Option<Standing> {
        let mut placed = result.clone();
        place(&mut placed, &BTreeMap::new()).ok()?;
        standing(&placed, identity, self.screen.columns())
    }

    /// Gives the terminal back.
    pub(crate) fn end(&self) {
        self.screen.give_back();
    }
}

/// What the last probe of a row found: the distance right now.
fn last_probe(result: &RunResult, identity: &Identity) -> Option<f64> {
    let trial = result.case(identity)?.trials().last()?;
    trial.blocks.probe_after_ns.last().copied()
}
