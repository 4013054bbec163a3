//! The styles of other benchmarks: how they look, and that their figures are the result's.

mod looks;
mod parsed;

/// The styles of other benchmarks.
const STYLES: [&str; 5] = ["iceperf", "ipc-bench", "ipc-bench-table", "fastdds", "ipc-performance"];
