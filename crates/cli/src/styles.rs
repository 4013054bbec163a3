//! Command lines of other benchmarks, translated onto that of `ipcmark run`: one file a tool.

mod iceperf;
mod ipc_bench;
mod latency_test;

use crate::arguments::RunArguments;

pub(crate) use self::{
    iceperf::IceperfLeader,
    ipc_bench::IpcBench,
    latency_test::{LatencyTest, Part},
};

/// What a command line of another benchmark means to `ipcmark run`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Translation {
    /// Its flags.
    words: Vec<String>,
    /// Its settings, apart from the flags because a path among them may hold a comma.
    settings: Vec<String>,
    /// What to tell the user beforehand.
    pub note: Option<String>,
}

impl Translation {
    /// The flags that every tool has, with what was written behind `--`, which comes last and so
    /// overrides.
    fn new(flags: &[(&str, &str)], rest: &[String]) -> Self {
        let flags = flags.iter().map(|(flag, value)| format!("--{flag}={value}"));
        let words = flags.chain(rest.iter().cloned()).collect();
        Self { words, settings: Vec::new(), note: None }
    }

    /// The arguments of `ipcmark run`; ends the process where what was written behind `--` is wrong.
    pub(crate) fn arguments(self) -> RunArguments {
        let mut arguments = crate::arguments::parse_run(&self.words).unwrap_or_else(|e| e.exit());
        arguments.set.splice(0..0, self.settings);
        arguments
    }
}
