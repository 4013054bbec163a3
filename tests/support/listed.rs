//! The output of `ipcmark list`, for tests of optional transports.

use ipcmark_results::{Case, Status};
use ipcmark_transport::Carrier;
use serde_json::Value;

use super::{Verdict, end, ipcmark, only, run, scene::killed_end_costs_its_row};

/// The rows of a library that may not be installed.
pub struct Library {
    /// The families as `list` names them.
    pub families: &'static [&'static str],
    /// The reason for skipping the test if none can run.
    pub lacking: &'static str,
}

impl Library {
    /// The names of the rows that can run here.
    pub fn rows(&self) -> Vec<String> {
        selected(self.families)
    }

    /// Runs a check on the rows that can run here.
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

/// All entries of the list.
pub fn all() -> Vec<Value> {
    listed("")
}

/// The entries that these words select, of which only the libraries are loaded; all if there are none.
fn listed(words: &str) -> Vec<Value> {
    serde_json::from_str(&run(&format!("list --format json {words}")).exits(0).stdout)
        .expect("a list")
}

/// The names of the transports that can run here.
pub fn available() -> Vec<String> {
    selected(&[])
}

/// Those of them that these words select.
pub fn selected(words: &[&str]) -> Vec<String> {
    let entries = listed(&words.join(" "));
    let able = entries.iter().filter(|entry| entry["available"] == true);
    able.map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
}

/// The reason why a transport cannot run here, if any.
pub fn missing(name: &str) -> Option<String> {
    let entries = listed(name);
    let [entry] = &entries[..] else { panic!("{name} is not listed once") };
    (entry["available"] != true).then(|| format!("{name}: {}", entry["reason"]))
}

/// Its library drops messages after a pause of the machine: docs/transports/zenoh-shm.md.
const CAN_LOSE: &str = "zenoh-shm";

/// In streams of these rows, everything that one endpoint sends is received by the other, unless the row can lose.
#[track_caller]
pub fn streams_lose_nothing(rows: &[String]) {
    streams_with(rows, "");
}

/// The same with additional words, such as one of several waits.
#[track_caller]
pub fn streams_with(rows: &[String], more: &str) {
    let words = "-p throughput,one-way -s 64,64k -d 50ms --trials 1 --touch all --format json";
    let result = run(&format!("run -t {} {words} {more}", rows.join(","))).exits(0).result();
    for case in &result.cases {
        assert_eq!(case.status(), Status::Ok, "{:?}", case.reason());
        let ends: Vec<_> =
            only(case).session.processes.iter().flat_map(|process| &process.ends).collect();
        let (name, sent, received) = (&case.identity.transport, ends[0].sent, ends[1].received);
        let adds_up = if name == CAN_LOSE { sent >= received } else { sent == received };
        assert!(adds_up, "{name}: of {sent} messages {received} were received");
    }
}

/// A message of these rows reaches three followers. There are few messages: if more ends spin than there are processors,
/// each waits for time slices.
#[track_caller]
pub fn several_follow(rows: &[String]) {
    let words = "-p fan-out --subscribers 3 -s 64 -n 5 --trials 1 --format json";
    let result = run(&format!("run -t {} {words}", rows.join(","))).exits(0).result();
    assert!(result.cases.iter().all(|case| case.status() == Status::Ok));
}

/// If one of these processes dies, the other one stops waiting, spinning or sleeping.
#[track_caller]
pub fn killed_ends_cost_their_rows(rows: &[String], waits: &[&str], processes: &[&str]) {
    for row in rows {
        for (wait, process) in
            waits.iter().flat_map(|wait| processes.iter().map(move |p| (wait, p)))
        {
            killed_end_costs_its_row(row, wait, process);
        }
    }
}

/// Small and large messages of these rows use the carrier that `told` gives, whatever the user's variables are. Returns
/// the cases for further checks. `more` contains additional words, such as `--sandbox off`.
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
        // Without a sandbox, other traffic cannot be distinguished.
        assert!(more.contains("--sandbox off") || carrier.found == told, "{name}: {carrier:?}");
    }
    cases
}
