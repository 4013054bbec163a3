//! What iceperf prints while it measures: the banners of what is measured, and its payloads as they are done.
//! On standard error, for the tables come at the end.

use std::collections::BTreeSet;

use ipcmark_report::{iceperf_banner, iceperf_payload};
use ipcmark_results::{RunResult, Status};

/// What has been announced of a run.
#[derive(Default)]
pub(crate) struct Announcer {
    /// The rows.
    known: BTreeSet<(String, u64)>,
    /// The transports whose payloads are being announced: those that take turns.
    transports: BTreeSet<String>,
}

impl Announcer {
    /// The text for what has been recorded since the last time.
    pub(crate) fn recorded(&mut self, result: &RunResult) -> String {
        let measured = result
            .cases
            .iter()
            .filter(|case| matches!(case.status(), Status::Ok | Status::Failed))
            .map(|case| (case.identity.transport.clone(), case.identity.payload_bytes));
        let new: BTreeSet<_> = measured.filter(|row| !self.known.contains(row)).collect();
        self.known.extend(new.iter().cloned());
        let transports: BTreeSet<String> =
            new.iter().map(|(transport, _)| transport.clone()).collect();
        let payloads: BTreeSet<u64> = new.iter().map(|(_, bytes)| *bytes).collect();
        match payloads.is_empty() {
            true => String::new(),
            false => self.head(transports) + &joined(&payloads),
        }
    }

    /// What comes before the payloads: a comma, or the banners of transports that are new.
    fn head(&mut self, transports: BTreeSet<String>) -> String {
        if transports == self.transports {
            return ", ".into();
        }
        let end = self.end();
        let banners: String = transports.iter().map(|name| iceperf_banner(name) + "\n").collect();
        self.transports = transports;
        format!("{end}{banners}Measurement for: ")
    }

    /// The end of the line, where there is one.
    pub(crate) fn end(&self) -> &'static str {
        if self.transports.is_empty() { "" } else { "\n" }
    }
}

fn joined(payloads: &BTreeSet<u64>) -> String {
    let words: Vec<String> = payloads.iter().map(|bytes| iceperf_payload(*bytes)).collect();
    words.join(", ")
}
