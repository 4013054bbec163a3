//! A page with a stacked bar for each row: the composition of its messages' time. It has no script. Each bar has its
//! own scale, because a row that sleeps would make one that spins invisible.

use ipcmark_results::{Explanation, Explanations, SideCalls, SideWork, TimePart};
use minijinja::{Value, context};
use serde::Serialize;

use super::policy;
use crate::{
    explanation::{LEGEND, calls, time, word, words, work},
    names,
    plain::plain,
    units::duration,
};

const TEMPLATE: &str = include_str!("../../assets/explanation.html");

const STYLE: &str =
    concat!(include_str!("../../assets/page.css"), include_str!("../../assets/explanation.css"));

/// The width of a bar, in units of the drawing.
const WIDTH: f64 = 1000.0;

/// A row on the page.
#[derive(Serialize)]
struct Bar {
    name: String,
    hop: String,
    /// The computed cost of the mechanism, as a share of the time.
    share: String,
    /// The end of the measured time: parts that overlap in time can extend beyond it.
    end: f64,
    segments: Vec<BarSegment>,
    sides: Vec<(String, String)>,
}

/// A part of a bar.
#[derive(Serialize)]
struct BarSegment {
    class: &'static str,
    words: &'static str,
    count: Option<String>,
    each: Option<String>,
    time: String,
    x: f64,
    width: f64,
}

/// Explanations as a page for the browser.
pub fn explanation_page(all: &Explanations) -> Result<String, String> {
    let bars: Vec<Bar> = all.rows.iter().map(bar).collect();
    let plain = |texts: &[String]| texts.iter().map(|text| plain(text)).collect::<Vec<_>>();
    let content = context! {
        policy => policy::of(STYLE, &[]),
        style => Value::from_safe_string(STYLE.into()),
        bars => super::all(bars),
        legend => LEGEND,
        remarks => plain(&all.remarks),
        failures => plain(&all.failures),
        version => env!("CARGO_PKG_VERSION"),
    };
    super::rendered(TEMPLATE, content)
}

fn bar(explanation: &Explanation) -> Bar {
    let parts_ns = explanation.parts.iter().map(TimePart::time_ns).sum::<f64>();
    let scale = WIDTH / explanation.hop.value.max(parts_ns).max(f64::MIN_POSITIVE);
    let mut x = 0.0;
    let mut segments: Vec<BarSegment> =
        explanation.parts.iter().map(|part| segment(part, &mut x, scale)).collect();
    let rest_ns = explanation.rest_ns();
    segments.push(BarSegment {
        class: "rest",
        words: "the rest",
        count: None,
        each: None,
        time: time(rest_ns),
        x,
        width: rounded(rest_ns.max(0.0) * scale),
    });
    let (hop, rest_share) = (explanation.hop, rest_ns / explanation.hop.value);
    let side = |side: &SideCalls| (plain(&side.process), calls(side));
    let worked = |side: &SideWork| (plain(&side.process), work(side));
    let sides = explanation.sides.iter().map(side);
    Bar {
        name: plain(&names::alone(&explanation.row.case.identity)),
        hop: duration(hop.value),
        share: format!("{:.0} %", 100.0 * (1.0 - rest_share)),
        end: rounded(hop.value * scale),
        segments,
        sides: sides.chain(explanation.work.iter().map(worked)).collect(),
    }
}

fn segment(part: &TimePart, x: &mut f64, scale: f64) -> BarSegment {
    let (at, width) = (*x, rounded(part.time_ns() * scale));
    *x = rounded(at + width);
    BarSegment {
        class: word(part.kind),
        words: words(part.kind),
        count: Some(format!("{:.2}", part.count)),
        each: Some(duration(part.each_ns)),
        time: time(part.time_ns()),
        x: at,
        width,
    }
}

fn rounded(units: f64) -> f64 {
    (units * 100.0).round() / 100.0
}
