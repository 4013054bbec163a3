//! The styles of other benchmarks: their text, and that their figures equal the result's.

mod looks;
mod parsed;

/// The styles of other benchmarks.
const STYLES: [&str; 5] = ["iceperf", "ipc-bench", "ipc-bench-table", "fastdds", "ipc-performance"];
