//! The trends of rows over the runs of a history.

use ipcmark_results::{Figure, Point, stats::ChangePoint};
use serde_json::{Value, json};

use super::{SCHEMA, TrendShown, minute, runs::lines, word};
use crate::{
    format::Terminal,
    grid::{cut, drawn, widest},
    page::{BOLD, Page},
    plain::plain,
    units::{Unit, align_points, duration, figure},
};

/// The trends for a terminal.
pub fn trends_table(trends: &[TrendShown], terminal: Terminal) -> String {
    let mut page = Page::of(terminal);
    for (at, trend) in trends.iter().enumerate() {
        if at > 0 {
            page.line("", "");
        }
        table(&mut page, trend);
    }
    page.text
}

fn table(page: &mut Page, shown: &TrendShown) {
    let trend = &shown.trend;
    let times = || trend.points.iter().filter_map(|point| Some(point.figure?.value));
    let unit = Unit::of_range(times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
    page.title(&plain(&shown.row), &format!("in {}", unit.sign()));
    page.wrapped("", "  ", &plain(&shown.machine));
    if let Some(floor_ns) = trend.floor_ns {
        let at = format!("runs are compared at {} a bare round trip", duration(floor_ns));
        page.wrapped("", "  ", &at);
    }
    let labels = ["date (UTC)", "runs", "time", "95 % interval", "change"];
    let rows: Vec<Vec<String>> = cells(page, shown, unit);
    let mut widths: Vec<usize> =
        (0..labels.len()).map(|at| widest(labels[at], rows.iter().map(|row| &row[at]))).collect();
    let total: usize = widths.iter().map(|width| width + 2).sum();
    widths[0] -= total.saturating_sub(page.width).min(widths[0].saturating_sub(16));
    let first = widths[0];
    let rows = rows.into_iter().map(|mut row| {
        row[0] = cut(&row[0], first);
        row
    });
    for line in drawn(&labels, rows, &widths, 2) {
        page.line("", &line);
    }
    if trend.points.iter().any(|point| point.is_apart) {
        page.wrapped("", "  ", "*: measured at another distance; not compared.");
    }
    for sentence in shown.sentences() {
        page.wrapped(BOLD, "  ", &format!("{}.", plain(&sentence)));
    }
}

fn cells(page: &Page, shown: &TrendShown, unit: Unit) -> Vec<Vec<String>> {
    let points = &shown.trend.points;
    let mut times: Vec<String> = points.iter().map(|point| time(point, unit)).collect();
    align_points(&mut times);
    let cells = |(at, point): (usize, &Point)| {
        let name = &shown.names[at];
        let interval = point.figure.and_then(|figure| figure.interval);
        let interval = interval.map_or("–".into(), |bounds| {
            format!("{} to {}", unit.time(bounds.low).trim(), unit.time(bounds.high).trim())
        });
        let cells = [
            plain(&format!("{}  {}", minute(&name.started_at), name.label)).trim_end().into(),
            point.runs.len().to_string(),
            times[at].clone(),
            interval,
            change_at(shown, at).map_or(String::new(), in_short),
        ];
        cells.map(|cell: String| page.shown(&cell).into_owned()).to_vec()
    };
    points.iter().enumerate().map(cells).collect()
}

fn time(point: &Point, unit: Unit) -> String {
    let mark = if point.is_apart { "*" } else { "" };
    point.figure.map_or("–".into(), |figure| unit.time(figure.value) + mark)
}

fn change_at(shown: &TrendShown, at: usize) -> Option<&ChangePoint> {
    shown.trend.changes.iter().find(|change| change.at == at)
}

/// `slower × 1.12`
fn in_short(change: &ChangePoint) -> String {
    let ratio = change.comparison.ratio.map(|ratio| format!(" × {}", figure(ratio.estimate)));
    format!("{}{}", word(change), ratio.unwrap_or_default())
}

/// The trends for programs.
pub fn trends_json(trends: &[TrendShown]) -> String {
    let trend = |shown: &TrendShown| {
        let points = shown.trend.points.iter().zip(&shown.names);
        json!({
            "row": shown.row,
            "machine": shown.machine,
            "floor_round_trip_ns": shown.trend.floor_ns,
            "points": points.map(|(point, name)| json!({
                "started_at": name.started_at,
                "label": name.label,
                "runs": point.runs.len(),
                "time_ns": point.figure.map(|figure| figure.value),
                "interval": interval(point.figure),
                "compared": point.figure.is_some() && !point.is_apart,
            })).collect::<Vec<_>>(),
            "changes": shown.trend.changes.iter().map(|at| change(shown, at)).collect::<Vec<_>>(),
            "runs_missing": shown.trend.missing,
            "sentences": shown.sentences(),
        })
    };
    let document =
        json!({ "schema": SCHEMA, "trends": trends.iter().map(trend).collect::<Vec<_>>() });
    format!("{document:#}\n")
}

fn interval(figure: Option<Figure>) -> Value {
    let bounds = figure.and_then(|figure| figure.interval);
    json!(bounds.map(|bounds| json!({ "low": bounds.low, "high": bounds.high })))
}

fn change(shown: &TrendShown, change: &ChangePoint) -> Value {
    let ratio = change.comparison.ratio;
    json!({
        "from": shown.names[change.at].label,
        "started_at": shown.names[change.at].started_at,
        "verdict": word(change),
        "ratio": ratio.map(|ratio| ratio.estimate),
        "ratio_interval": ratio.map(|ratio| json!({ "low": ratio.low, "high": ratio.high })),
        "p": change.comparison.p,
        "base_runs": change.base_runs,
        "new_runs": change.new_runs,
    })
}

/// The points for a spreadsheet.
pub fn trends_csv(trends: &[TrendShown]) -> String {
    let head = [
        "row",
        "machine",
        "started_at",
        "label",
        "runs",
        "time_ns",
        "low_ns",
        "high_ns",
        "compared",
        "change",
        "ratio",
    ];
    let points = trends.iter().flat_map(|shown| (0..shown.names.len()).map(move |at| (shown, at)));
    lines(&head, points.map(|(shown, at)| line(shown, at)))
}

fn line(shown: &TrendShown, at: usize) -> Vec<String> {
    let (point, name) = (&shown.trend.points[at], &shown.names[at]);
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let interval = point.figure.and_then(|figure| figure.interval);
    let change = change_at(shown, at);
    vec![
        shown.row.clone(),
        shown.machine.clone(),
        name.started_at.clone(),
        name.label.clone(),
        point.runs.len().to_string(),
        number(point.figure.map(|figure| figure.value)),
        number(interval.map(|bounds| bounds.low)),
        number(interval.map(|bounds| bounds.high)),
        (point.figure.is_some() && !point.is_apart).to_string(),
        change.map_or(String::new(), |change| word(change).into()),
        number(change.and_then(|change| Some(change.comparison.ratio?.estimate))),
    ]
}
