//! The figures of a section as lines of text.

use ipcmark_results::stats::{CONFIDENCE, Interval, hodges_lehmann_interval};

use crate::{blocks::Ratios, measured::median};

/// The limit of a ratio.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
    Between(f64, f64),
    None,
}

impl Limit {
    /// The limit, and whether the ratio with this interval keeps it.
    fn words(self, interval: &Interval) -> String {
        let (low, high) = match self {
            Self::AtMost(high) => (f64::MIN, high),
            Self::AtLeast(low) => (low, f64::MAX),
            Self::Between(low, high) => (low, high),
            Self::None => return String::new(),
        };
        let verdict = if interval.low >= low && interval.high <= high {
            "kept"
        } else if interval.high < low || interval.low > high {
            "missed"
        } else {
            "cannot tell"
        };
        match self {
            Self::AtMost(high) => format!("   at most {high}: {verdict}"),
            Self::AtLeast(low) => format!("   at least {low}: {verdict}"),
            _ => format!("   {low} to {high}: {verdict}"),
        }
    }
}

/// Shows the ratios of blocks at one distance.
pub(crate) fn show_blocks(name: &str, limit: Limit, Ratios { floor_ns, ratios }: Ratios) {
    let at = floor_ns.map_or_else(|| "overall".to_owned(), |ns| format!("at {ns:.0} ns"));
    show_ratios(&format!("{name}, {at}"), limit, ratios);
}

/// Shows ratios: the Hodges–Lehmann estimate of their logarithms with its interval, as in `ipcmark compare`. An interval
/// that contains the limit leaves open whether it is kept.
pub(crate) fn show_ratios(name: &str, limit: Limit, ratios: Vec<f64>) {
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let Some(Interval { low, estimate, high }) = hodges_lehmann_interval(&logarithms, CONFIDENCE)
    else {
        return show(name, ratios);
    };
    let interval = Interval { low: low.exp(), estimate: estimate.exp(), high: high.exp() };
    let Interval { low, estimate, high } = interval;
    let name = format!("{name}, {} rounds", ratios.len());
    println!("  {name:48} {estimate:7.3}   ({low:.3} to {high:.3}){}", limit.words(&interval));
}

/// Shows figures that are no ratios: their median, the lowest and the highest.
pub(crate) fn show(name: &str, mut values: Vec<f64>) {
    if values.is_empty() {
        return println!("  {name:48} no figure");
    }
    values.sort_by(f64::total_cmp);
    let (low, high) = (values[0], values[values.len() - 1]);
    println!("  {name:48} {:7.3}   (lowest {low:.3}, highest {high:.3})", median(&values));
}
