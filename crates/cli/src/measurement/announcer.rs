//! iceperf's output while it measures: a banner for each transport, and the payloads that are done. It goes
//! to standard error, because the tables come at the end.

use std::collections::BTreeSet;

use ipcmark_report::{iceperf_banner, iceperf_payload};
use ipcmark_results::{RunResult, Status};

/// The rows of a run that have been announced.
#[derive(Default)]
pub(crate) struct Announcer {
    /// The announced rows.
    known: BTreeSet<(String, u64)>,
    /// The transports whose payloads are being announced; they are measured in turns.
    transports: BTreeSet<String>,
}

impl Announcer {
    /// The text for the rows recorded since the last call.
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

    /// The text before the payloads: a comma, or the banners of new transports.
    fn head(&mut self, transports: BTreeSet<String>) -> String {
        if transports == self.transports {
            return ", ".into();
        }
        let end = self.end();
        let banners: String = transports.iter().map(|name| iceperf_banner(name) + "\n").collect();
        self.transports = transports;
        format!("{end}{banners}Measurement for: ")
    }

    /// The end of the line, if one was begun.
    pub(crate) fn end(&self) -> &'static str {
        if self.transports.is_empty() { "" } else { "\n" }
    }
}

fn joined(payloads: &BTreeSet<u64>) -> String {
    let words: Vec<String> = payloads.iter().map(|bytes| iceperf_payload(*bytes)).collect();
    words.join(", ")
}
