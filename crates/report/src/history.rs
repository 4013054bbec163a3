//! The history: its runs, and the trend of a row over them.

mod runs;
mod trends;

use ipcmark_results::{
    Trend,
    stats::{ChangePoint, Verdict},
};

pub use runs::{runs_csv, runs_json, runs_table};
pub use trends::{trends_csv, trends_json, trends_table};

use crate::units::figure;

/// The schema of both documents.
const SCHEMA: &str = "ipcmark-history/1";

/// A run of the history.
pub struct RunShown {
    /// Its number.
    pub run: i64,
    /// Its id.
    pub id: String,
    /// Its start in UTC, RFC 3339.
    pub started_at: String,
    /// The name of its machine.
    pub machine: String,
    /// The commit that was measured.
    pub commit: Option<String>,
    /// The label that the user gave it.
    pub label: Option<String>,
    /// The measured software with its versions: `ipcmark 0.1.0`, `zeromq 4.3.4`.
    pub versions: Vec<String>,
    /// Number of its cases.
    pub rows: u64,
    /// False if it was interrupted.
    pub complete: bool,
}

/// The trend of a row on one machine.
pub struct TrendShown {
    /// The name of the row.
    pub row: String,
    /// The machine, as text.
    pub machine: String,
    /// The points and changes.
    pub trend: Trend,
    /// The names of the points: a date, and the key by which runs are grouped.
    pub names: Vec<PointName>,
}

/// The name of a point.
#[derive(Clone)]
pub struct PointName {
    /// The start of its first run in UTC, RFC 3339.
    pub started_at: String,
    /// The commit, version or machine; the commit or label of a single run.
    pub label: String,
}

/// A time in readable form: `2026-11-22 19:31`.
fn minute(started_at: &str) -> String {
    let text = started_at.chars().take("2026-11-22T19:31".len()).collect::<String>();
    text.replace('T', " ")
}

impl TrendShown {
    /// The findings of the trend, a sentence each.
    fn sentences(&self) -> Vec<String> {
        let trend = &self.trend;
        if trend.missing > 0 {
            let runs = if trend.missing == 1 { "run is" } else { "runs are" };
            return vec![format!(
                "cannot tell: {} more {runs} needed, because a change needs 3 runs before it and 3 after it",
                trend.missing
            )];
        }
        if trend.changes.is_empty() {
            return vec!["no change was found".into()];
        }
        trend.changes.iter().map(|change| self.sentence(change)).collect()
    }

    fn sentence(&self, change: &ChangePoint) -> String {
        let name = &self.names[change.at];
        let from = match name.label.is_empty() {
            true => minute(&name.started_at),
            false => format!("{} ({})", name.label, minute(&name.started_at)),
        };
        let ratio = change.comparison.ratio.map_or_else(String::new, |ratio| {
            format!(
                ": {} times as long (95 %: {} to {})",
                figure(ratio.estimate),
                figure(ratio.low),
                figure(ratio.high)
            )
        });
        let (base, new) = (change.base_runs, change.new_runs);
        format!("{} from {from} on{ratio}; {base} runs before, {new} after", word(change))
    }
}

/// `slower` or `faster`.
fn word(change: &ChangePoint) -> &'static str {
    if change.comparison.verdict == Verdict::Slower { "slower" } else { "faster" }
}
