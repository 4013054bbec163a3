//! Tests with real DDS: several subscribers in every mode and with short histories, best effort, domains shared with
//! others, and wrong settings reported before anything starts.

use std::{collections::BTreeSet, fs};

use crate::support::{Running, Verdict, end, ipcmark, listed, only, run};
use ipcmark_results::Status;

ipcmark_harness::tests![
    three_subscribers_in_every_mode,
    the_result_says_what_the_ends_have,
    short_histories_do_not_stop_several_subscribers,
    best_effort_carries_the_largest_message,
    two_runs_in_one_domain_do_not_meet,
    an_unusable_setting_is_refused_before_anything_starts,
];

/// The DDS rows that can run here.
fn rows() -> Vec<String> {
    listed::selected(&["fastdds*", "cyclonedds*"])
}

fn none() -> Verdict {
    Verdict::Skipped("neither Fast DDS nor Cyclone DDS is there".into())
}

fn three_subscribers_in_every_mode() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    let words = "-s 64,64k -n 50 -w block --subscribers 3 --format json";
    let result = run(&format!("run -t {} {words}", rows.join(","))).exits(0).result();
    for case in &result.cases {
        let name = format!("{} {}", case.identity.transport, case.identity.payload_bytes);
        let trial = only(case);
        let answers: Vec<u64> = trial.answers.iter().map(|one| one.answer_ns.count).collect();
        assert_eq!(answers, [50, 50, 50], "{name}");
        let carrier = &trial.session.carrier;
        assert!(!carrier.fell_back(), "{name}: {carrier:?}");
        let sent = trial.session.processes.iter().flat_map(|process| &process.ends);
        // The clock-free blocks send messages in addition to the 50 samples.
        let sent: Vec<u64> = sent.map(|end| end.sent).collect();
        assert!(sent.len() == 4 && sent[0] > 50, "{name}: {sent:?}");
        assert!(sent.iter().all(|count| *count == sent[0]), "{name}: {sent:?}");
    }
    Verdict::Holds
}

/// Regression: heartbeats of several followers come less often than the result said, and buffers of sockets had the size
/// that was asked for.
fn the_result_says_what_the_ends_have() -> Verdict {
    if listed::selected(&["fastdds-udp"]).is_empty() {
        return Verdict::Skipped("Fast DDS is not there".into());
    }
    let limit = fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap_or_default();
    let is_less = limit.trim().parse::<u64>().is_ok_and(|limit| limit < 64 << 20);
    let words = "-p fan-out --subscribers 3 -w block -s 64 -n 20 --trials 1 --format json";
    let options = "--set fastdds-udp.socket-buffer=64M";
    let result = run(&format!("run -t fastdds-udp {words} {options}")).exits(0).result();
    let configuration = &only(&result.cases[0]).session.configuration;
    assert_eq!(configuration["heartbeat"], "30 ms, answered at once");
    let buffers = &configuration["socket buffers"];
    assert_eq!(buffers.ends_with("65536 KiB asked for"), is_less, "{buffers}");
    Verdict::Holds
}

/// Regression: the bursts of several followers overfilled the leader's reader. With data sharing, Fast DDS then read
/// the message for which there was no room again and again.
fn short_histories_do_not_stop_several_subscribers() -> Verdict {
    let rows = listed::selected(&["fastdds*"]);
    if rows.is_empty() {
        return Verdict::Skipped("Fast DDS is not there".into());
    }
    let mut command = ipcmark("run -s 64 -n 20 -w block --subscribers 3 --trials 1 --format json");
    for row in &rows {
        command.args(["-t", row]);
        // The row within one process has no such option.
        if row != "fastdds-intra" {
            command.args(["--set", &format!("{row}.history=2")]);
        }
    }
    let result = end(&mut command).exits(0).result();
    assert!(result.cases.iter().all(|case| case.status() == Status::Ok), "{rows:?}");
    Verdict::Holds
}

fn best_effort_carries_the_largest_message() -> Verdict {
    let rows: Vec<String> = rows();
    if rows.is_empty() {
        return none();
    }
    // On a busy machine more is lost, and a row that loses everything has failed: each row must succeed once.
    let mut missing: BTreeSet<(String, u64)> =
        rows.iter().flat_map(|row| [64, 4 << 20].map(|bytes| (row.clone(), bytes))).collect();
    for _ in 0..TRIES {
        let mut command = ipcmark("run -s 64,4M -n 10 -w block --timeout 30s --format json");
        // Rows that have succeeded are not run again.
        for row in missing.iter().map(|(row, _)| row).collect::<BTreeSet<_>>() {
            command.args(["-t", row, "--set", &format!("{row}.reliability=best-effort")]);
        }
        let result = end(&mut command).result();
        for case in result.cases.iter().filter(|case| case.status() == Status::Ok) {
            let (identity, losses) = (&case.identity, &only(case).session.losses);
            assert_eq!(identity.options["reliability"], "best-effort", "{}", identity.transport);
            assert!(losses.sent >= 10, "{}: {losses:?}", identity.transport);
            if 2 * losses.lost < losses.sent {
                missing.remove(&(identity.transport.clone(), identity.payload_bytes));
            }
        }
        if missing.is_empty() {
            return Verdict::Holds;
        }
    }
    panic!("in each of {TRIES} runs half of the messages was lost of {missing:?}");
}

/// The number of attempts with best effort.
const TRIES: u32 = 5;

/// Without sandboxes, at the same time, in the domain that most programs use.
fn two_runs_in_one_domain_do_not_meet() -> Verdict {
    let rows = rows();
    // iceoryx allows one daemon per machine, whose socket is not in a sandbox here.
    let rows: Vec<&String> = rows.iter().filter(|row| !row.ends_with("-iceoryx")).collect();
    if rows.is_empty() {
        return none();
    }
    let runs = [0, 1].map(|_| {
        let mut command = ipcmark("run -s 64 -n 200 -w block --sandbox off --format json");
        for row in &rows {
            command.args(["-t", row, "--set", &format!("{row}.domain=0")]);
        }
        Running::start(&mut command)
    });
    for ended in runs.map(Running::end) {
        for case in ended.exits(0).result().cases {
            assert_eq!(
                case.status(),
                Status::Ok,
                "{}: {:?}",
                case.identity.transport,
                case.reason()
            );
        }
    }
    Verdict::Holds
}

fn an_unusable_setting_is_refused_before_anything_starts() -> Verdict {
    let rows = rows();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("broken.xml"), "<dds><nothing></dds>").unwrap();
    fs::create_dir(path("empty")).unwrap();
    fs::write(path("letters"), "16;32;x").unwrap();
    fs::write(path("zero"), "16;0;64").unwrap();
    fs::write(path("none"), "").unwrap();
    let mut refused = vec![
        (format!("-s @{}", path("letters")), "'x'"),
        (format!("-s @{}", path("zero")), "16"),
        (format!("-s @{}", path("none")), "there is no payload"),
        (format!("-s @{}", path("missing")), "No such file"),
    ];
    if rows.iter().any(|row| row == "fastdds") {
        refused.extend([
            (format!("--set fastdds.profile={}", path("missing.xml")), "missing.xml"),
            (format!("--set fastdds.profile={}", path("broken.xml")), "broken.xml"),
            ("--set fastdds.reliability=perhaps".into(), "reliable|best-effort"),
            ("--set fastdds.domain=233".into(), "0 to 232"),
        ]);
    }
    if rows.iter().any(|row| row == "fastdds-secure") {
        let empty = format!("--set fastdds-secure.certificates={}", path("empty"));
        refused.push((empty, "ca.pem"));
        let missing = format!("--set fastdds-secure.certificates={}", path("nowhere"));
        refused.push((missing, "nowhere"));
        // Under the family's name, which is also the name of a row without that option.
        refused.push((format!("--set fastdds.certificates={}", path("nowhere")), "nowhere"));
    }
    for (words, reason) in refused {
        let ended = run(&format!("run -t pipe -n 10 {words}")).exits(2);
        assert!(ended.stderr.contains(reason), "{words}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{words}: nothing was measured");
    }
    Verdict::Holds
}
