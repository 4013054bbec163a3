//! Results for pages, and the pages.

use std::{fs, path::PathBuf, sync::LazyLock};

use ipcmark_results::{Case, Identity, Measurement, Outcome, RunResult, Status, Trial};
use tempfile::TempDir;

use crate::support::{
    Verdict,
    browser::{Page, WIDE},
    end, ipcmark, run,
};

/// One small real run, for all tests: with enough round trips for curves up to p99, even on a busy machine.
pub static MEASURED: LazyLock<RunResult> = LazyLock::new(|| {
    let words = "run -t null,pipe,shm-ring,uds-stream -s 64,4k -n 500 --format json";
    run(words).exits(0).result()
});

/// Results as files, and the page made from them.
pub struct Report {
    _place: TempDir,
    page: PathBuf,
}

impl Report {
    #[track_caller]
    /// A page of these results.
    pub fn of(results: &[&RunResult]) -> Self {
        let names: Vec<String> = (1..=results.len()).map(|at| format!("{at}.json")).collect();
        Self::named(results, &names)
    }

    #[track_caller]
    /// The same, with names for their files.
    pub fn named(results: &[&RunResult], names: &[String]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let page = place.path().join("report.html");
        let mut command = ipcmark("report --output");
        command.arg(&page);
        for (result, name) in results.iter().zip(names) {
            let path = place.path().join(name);
            fs::write(&path, ipcmark_results::to_json(result)).unwrap();
            command.arg(path);
        }
        let ended = end(&mut command).exits(0);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
        Self { _place: place, page }
    }

    /// The page in the browser.
    pub fn open(&self) -> Result<Page, Verdict> {
        Page::open(&self.page, WIDE).map_err(Verdict::Skipped)
    }

    /// The page's own text.
    pub fn text(&self) -> String {
        fs::read_to_string(&self.page).unwrap()
    }
}

/// Opens a report in the browser, or leaves the test if there is none.
macro_rules! open {
    ($report:expr) => {
        match $report.open() {
            Ok(page) => page,
            Err(verdict) => return verdict,
        }
    };
}
pub(crate) use open;

/// True if a case was measured.
pub fn measured(case: &&Case) -> bool {
    case.status() == Status::Ok
}

/// The first trial of a measured case, mutable.
#[track_caller]
pub fn trial(case: &mut Case) -> &mut Trial {
    &mut trials(case)[0]
}

/// All trials of a measured case, mutable.
#[track_caller]
pub fn trials(case: &mut Case) -> &mut [Trial] {
    match &mut case.outcome {
        Outcome::Ok { measurement: Measurement::RoundTrips(measured) } => &mut measured.trials,
        other => panic!("it was not measured: {other:?}"),
    }
}

/// A result with cases of every status: the measured ones, and copies that were not measured.
pub fn mixed() -> RunResult {
    let mut result = MEASURED.clone();
    let first = result.cases[0].clone();
    let copy = |transport: &str, family: &str, outcome| {
        let (transport, family) = (transport.into(), family.into());
        Case { identity: Identity { transport, family, ..first.identity.clone() }, outcome }
    };
    let reason = "the leader was killed by signal 9".into();
    result.cases.push(copy("broken", "os", Outcome::Failed { reason }));
    let reason = "libzmq is not installed".into();
    result.cases.push(copy("absent", "zeromq", Outcome::Unavailable { reason }));
    result.planned_cases = result.cases.len() as u64;
    result
}
