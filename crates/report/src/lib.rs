//! Results for people and programs. One file a format in `formats/`, each ending in its definition.
//! They show the conclusions of `ipcmark-results` and draw none themselves.

mod advice;
mod caveats;
mod columns;
mod comparison;
mod entries;
mod explanation;
mod fairness;
mod findings;
mod footnotes;
mod format;
mod formats;
mod grid;
mod history;
mod hosts;
mod html;
mod junit;
mod levels;
mod matrix;
mod names;
mod obstacles;
mod page;
mod plain;
mod ranking;
mod remarks;
mod series;
mod sweep;
mod units;
mod words;

pub use advice::{AdviceShown, advice_json, advice_table};
pub use comparison::{ComparedSides, comparison_json, comparison_junit, comparison_table};
pub use explanation::{explanation_json, explanation_table};
pub use format::{Format, Terminal};
pub use formats::{FORMATS, format, iceperf_banner, iceperf_payload};
pub use history::{
    PointName, RunShown, TrendShown, runs_csv, runs_json, runs_table, trends_csv, trends_json,
    trends_table,
};
pub use html::{Source, explanation_page, page};
pub use matrix::{
    Matrix, MatrixCell, MatrixCpu, MatrixEnd, MatrixPart, MatrixWords, matrix_json, matrix_svg,
    matrix_table,
};
pub use plain::{ascii, plain};
pub use ranking::{CurrentRanking, RowSamples, current_ranking};
pub use series::row_names;
pub use sweep::{SweepFinding, SweepShown, Swept, sweep_table};
pub use units::{count, duration};
pub use words::unbroken;
