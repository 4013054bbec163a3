//! Every format, one file each, as used by `--format` and `--export`.

mod bmf;
mod csv;
mod fastdds;
mod github_action_benchmark;
mod google_benchmark;
mod hgrm;
mod hlog;
mod html;
mod iceperf;
mod ipc_bench;
mod ipc_bench_table;
mod ipc_performance;
mod json;
mod junit;
mod markdown;
mod openmetrics;
mod svg;
mod table;

pub use iceperf::{iceperf_banner, iceperf_payload};

use crate::format::Format;

/// Every format, in the order in which they are listed.
pub const FORMATS: &[&Format] = &[
    &table::FORMAT,
    &markdown::FORMAT,
    &csv::FORMAT,
    &json::FORMAT,
    &html::FORMAT,
    &svg::FORMAT,
    &hgrm::FORMAT,
    &hlog::FORMAT,
    &google_benchmark::FORMAT,
    &bmf::FORMAT,
    &github_action_benchmark::FORMAT,
    &openmetrics::FORMAT,
    &junit::FORMAT,
    &iceperf::FORMAT,
    &ipc_bench::FORMAT,
    &ipc_bench_table::FORMAT,
    &fastdds::FORMAT,
    &ipc_performance::FORMAT,
];

/// The format with this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
