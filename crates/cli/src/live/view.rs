//! The picture: the current case, the standing of its group, and its histogram.

use std::time::Duration;

use ipcmark_report::{CurrentRanking, RowSamples, duration};
use ipcmark_results::{RunResult, Status};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Style, Stylize},
    symbols::bar,
    text::Line,
    widgets::{Paragraph, Row, Sparkline, Table},
};

use crate::{
    output::shown,
    progress::{left, words},
};

/// Bars for a locale without UTF-8.
const ASCII_BARS: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "#",
    five_eighths: "=",
    half: "=",
    three_eighths: "-",
    one_quarter: "-",
    one_eighth: ".",
    empty: " ",
};

/// The lines of the histogram.
const BARS: u16 = 6;

/// The content of the live view.
#[derive(Default)]
pub(super) struct View {
    /// True if only ASCII may be shown.
    pub is_ascii: bool,
    /// The current measurement.
    pub what: String,
    /// The progress of the run, from 0 to 1.
    pub done: f64,
    pub elapsed: Duration,
    /// The last probe of the distance.
    pub now: Option<f64>,
    /// The group of the row measured last.
    pub current_ranking: Option<CurrentRanking>,
    measured: usize,
    failed: usize,
    planned: u64,
    trials: usize,
}

impl View {
    /// Counts the rows of a result.
    pub(super) fn count(&mut self, result: &RunResult) {
        let of = |status| result.cases.iter().filter(|case| case.status() == status).count();
        (self.measured, self.failed) = (of(Status::Ok), of(Status::Failed));
        self.planned = result.planned_cases;
        self.trials = result.cases.iter().map(|case| case.trials().len()).max().unwrap_or(0);
    }

    /// Draws everything.
    pub(super) fn draw(&self, frame: &mut Frame) {
        let bars = if self.samples().is_some() { BARS + 2 } else { 0 };
        let parts = [Constraint::Length(4), Constraint::Min(1), Constraint::Length(bars)];
        let [head, ranking, histogram] = Layout::vertical(parts).areas(frame.area());
        frame.render_widget(Paragraph::new(self.head()), head);
        if let Some(current_ranking) = &self.current_ranking {
            self.ranking(frame, current_ranking, ranking);
        }
        if let Some(samples) = self.samples() {
            self.histogram(frame, samples, histogram);
        }
    }

    fn samples(&self) -> Option<&RowSamples> {
        self.current_ranking.as_ref()?.samples.as_ref()
    }

    fn text(&self, text: &str) -> String {
        shown(text).into_owned()
    }

    fn head(&self) -> Vec<Line<'static>> {
        let left = left(self.elapsed, self.done);
        let left = left.map_or(String::new(), |left| format!(" · {} left", words(left)));
        let failed =
            if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        let trials = if self.trials == 1 { "trial" } else { "trials" };
        let run = format!(
            "ipcmark · {} of {} rows{failed} · {} {trials} · {:.0} %{left}",
            self.measured,
            self.planned,
            self.trials,
            100.0 * self.done
        );
        let probed =
            self.current_ranking.as_ref().map_or("", |current_ranking| &current_ranking.distances);
        let now = self.now.map_or("not probed".into(), |ns| format!("{} now; ", duration(ns)));
        let lines = [run, format!("measures  {}", self.what), format!("distance  {now}{probed}")];
        let [run, what, distance] = lines.map(|line| Line::from(self.text(&line)));
        vec![run.bold(), what, distance]
    }

    fn ranking(&self, frame: &mut Frame, current_ranking: &CurrentRanking, area: Rect) {
        let [title, table] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let line = self.text(&format!("{}   {}", current_ranking.title, current_ranking.caption));
        frame.render_widget(Line::from(line).bold(), title);
        let room = usize::from(table.height);
        let hidden = current_ranking.rows.len().saturating_sub(room);
        let seen = if hidden > 0 { room.saturating_sub(1) } else { room };
        let cells = |row: &[String; 4]| {
            let [rank, name, time, interval] = row.each_ref().map(|cell| self.text(cell));
            Row::new([
                Line::from(rank).right_aligned(),
                Line::from(name),
                Line::from(time).right_aligned(),
                Line::from(interval).right_aligned(),
            ])
        };
        let more = Row::new(["".into(), self.text(&format!("… and {hidden} more"))]);
        let rows =
            current_ranking.rows.iter().take(seen).map(cells).chain((hidden > 0).then_some(more));
        let name = Constraint::Max(name_width(current_ranking));
        let widths = [Constraint::Length(4), name, Constraint::Length(9), Constraint::Length(10)];
        frame.render_widget(Table::new(rows, widths).column_spacing(1), table);
    }

    fn histogram(&self, frame: &mut Frame, samples: &RowSamples, area: Rect) {
        let parts = [Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
        let [title, bars, ends] = Layout::vertical(parts).areas(area);
        frame.render_widget(Line::from(self.text(&samples.title)).bold(), title);
        let set = if self.is_ascii { ASCII_BARS } else { bar::NINE_LEVELS };
        let line = Sparkline::default().data(&samples.bars).bar_set(set).style(Style::new());
        frame.render_widget(line, bars);
        let [low, high] = samples.ends.each_ref().map(|end| self.text(end));
        frame.render_widget(Line::from(low), ends);
        frame.render_widget(Line::from(high).right_aligned(), ends);
    }
}

/// The width of the longest name.
fn name_width(current_ranking: &CurrentRanking) -> u16 {
    let widths = current_ranking.rows.iter().map(|[_, name, ..]| name.chars().count());
    widths.max().unwrap_or(0).clamp(10, 60) as u16
}
