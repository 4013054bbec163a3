//! What `ipcmark list` says, for tests of what may not be there.

use ipcmark_results::{Case, Status};
use ipcmark_transport::Carrier;
use serde_json::Value;

use super::{Verdict, end, ipcmark, only, run, scene::killed_end_costs_its_row};

/// The rows of a library that may not be there.
pub struct Library {
    /// As `list` names them.
    pub families: &'static [&'static str],
    /// Why nothing was tested where none can run.
    pub lacking: &'static str,
}

impl Library {
    /// The names of those that can run here.
    pub fn rows(&self) -> Vec<String> {
        of_families(self.families)
    }

    /// Whether a check holds for those that can run here.
    #[track_caller]
    pub fn holds(&self, check: impl FnOnce(&[String])) -> Verdict {
        let rows = self.rows();
        if rows.is_empty() {
            return Verdict::Skipped(self.lacking.into());
        }
        check(&rows);
        Verdict::Holds
    }
}

/// Its entries.
pub fn all() -> Vec<Value> {
    serde_json::from_str(&run("list --format json").exits(0).stdout).expect("a list")
}

/// The names of what can run here.
pub fn available() -> Vec<String> {
    those(|_| true)
}

/// Those of these families.
pub fn of_families(families: &[&str]) -> Vec<String> {
    those(|entry| families.contains(&entry["family"].as_str().unwrap_or_default()))
}

fn those(are_wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let entries = all().into_iter().filter(|entry| entry["available"] == true && are_wanted(entry));
    entries.map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
}

/// Why a transport cannot run here, if it cannot.
pub fn missing(name: &str) -> Option<String> {
    let entries = all();
    let entry = entries.iter().find(|entry| entry["name"] == name).expect("it is listed");
    (entry["available"] != true).then(|| format!("{name}: {}", entry["reason"]))
}

/// Whatever one end of these rows sends, the other one has received.
#[track_caller]
pub fn streams_lose_nothing(rows: &[String]) {
    streams_with(rows, "");
}

/// The same with words of the caller's own, such as one wait of several.
#[track_caller]
pub fn streams_with(rows: &[String], more: &str) {
    let words = "-p throughput,one-way -s 64,64k -d 50ms --trials 1 --touch all --format json";
    let result = run(&format!("run -t {} {words} {more}", rows.join(","))).exits(0).result();
    for case in &result.cases {
        assert_eq!(case.status(), Status::Ok, "{:?}", case.reason());
        let ends: Vec<_> =
            only(case).session.processes.iter().flat_map(|process| &process.ends).collect();
        assert_eq!(ends[0].sent, ends[1].received, "{}", case.identity.transport);
    }
}

/// A message of these rows reaches three followers.
#[track_caller]
pub fn several_follow(rows: &[String]) {
    let words = "-p fan-out --subscribers 3 -s 64 -n 20 --trials 1 --format json";
    let result = run(&format!("run -t {} {words}", rows.join(","))).exits(0).result();
    assert!(result.cases.iter().all(|case| case.status() == Status::Ok));
}

/// Whichever of these processes dies, spinning or sleeping, the wait of the other one ends.
#[track_caller]
pub fn ends_may_die(rows: &[String], waits: &[&str], processes: &[&str]) {
    for row in rows {
        for (wait, process) in
            waits.iter().flat_map(|wait| processes.iter().map(move |p| (wait, p)))
        {
            killed_end_costs_its_row(row, wait, process);
        }
    }
}

/// Small messages and large ones of these rows go where `told` says, whatever these variables of the user's say. The
/// cases, for whoever wants to know more of them. `more` has words of the caller's own, such as `--sandbox off`.
#[track_caller]
pub fn take_their_carriers(
    rows: &[String],
    more: &str,
    variables: &[(&str, &str)],
    told: impl Fn(&str) -> Carrier,
) -> Vec<Case> {
    let words = format!("-s 16,256k -n 20 --trials 1 --touch all {more}");
    let mut command = ipcmark(&format!("run -t {} {words} --format json", rows.join(",")));
    let cases = end(command.envs(variables.iter().copied())).exits(0).result().cases;
    assert!(cases.len() >= 2 * rows.len());
    for case in &cases {
        let name = format!("{} {}", case.identity.transport, case.identity.payload_bytes);
        let (carrier, told) = (&only(case).session.carrier, told(&case.identity.transport));
        assert_eq!(carrier.declared, Some(told), "{name}");
        // Traffic of others is not told apart without a sandbox.
        assert!(more.contains("--sandbox off") || carrier.found == told, "{name}: {carrier:?}");
    }
    cases
}
