//! The translations of LatencyTest's command lines.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    line: LatencyTest,
}

fn parsed(line: &str) -> Result<LatencyTest, clap::Error> {
    let words = std::iter::once("x").chain(line.split_whitespace());
    CommandLine::try_parse_from(words).map(|line| line.line)
}

fn translated(line: &str) -> Result<Translation, String> {
    parsed(line).map_err(|e| e.to_string())?.translated()
}

/// The row and its settings.
fn row(line: &str) -> (String, String) {
    let translation = translated(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    let row = translation.words[0].trim_start_matches("--transports=").to_owned();
    let settings = translation.settings.join(" ").replace(&format!("{row}."), "");
    (row, settings)
}

#[test]
fn defaults_are_latency_test_s() {
    let translation = translated("both").unwrap();
    assert_eq!(
        translation.words.join(" "),
        "--transports=fastdds-intra --waits=block --touch=head --round-trips=10000 \
         --sizes=fastdds --subscribers=1 --format=fastdds --trials=1"
    );
    assert_eq!(translation.settings, ["fastdds-intra.reliability=best-effort"]);
    assert_eq!(parsed("both").unwrap().note(), None);
}

#[test]
fn options_choose_the_row() {
    for (options, expected) in [
        ("", "fastdds-intra reliability=best-effort"),
        ("-r reliable", "fastdds-intra reliability=reliable"),
        ("--domain 7", "fastdds-intra reliability=best-effort domain=7"),
        ("--xml p,q.xml", "fastdds-intra reliability=best-effort profile=p,q.xml"),
        ("--shared_memory=off", "fastdds-udp reliability=best-effort"),
        ("--shared_memory", "fastdds-shm reliability=best-effort"),
        ("--data-sharing", "fastdds-datasharing reliability=best-effort"),
        (
            "--data_sharing=on --shared_memory=off",
            "fastdds-datasharing reliability=best-effort shared-memory=off",
        ),
        ("--data_sharing=off", "fastdds reliability=best-effort data-sharing=off"),
        ("--data_sharing=off --shared_memory=off", "fastdds-udp reliability=best-effort"),
        ("--data_loans", "fastdds-loan reliability=best-effort"),
        ("-l --data_sharing=on", "fastdds-loan reliability=best-effort"),
        (
            "--data_load --data_sharing=off",
            "fastdds reliability=best-effort loans=on data-sharing=off",
        ),
        ("--security=true", "fastdds-secure reliability=best-effort"),
        (
            "--security true --certs=/c --reliability=reliable",
            "fastdds-secure reliability=reliable certificates=/c",
        ),
    ] {
        let (row, settings) = row(&format!("both {options}"));
        assert_eq!(format!("{row} {settings}"), expected, "{options}");
    }
}

#[test]
fn its_example_of_udp_runs_but_for_the_two_terminals() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("demands.csv");
    std::fs::write(&file, "2097152\n").unwrap();
    let line = "both --reliability=besteffort --domain 0 --shared_memory=off --file";
    let line = parsed(&format!("{line}={}", file.display())).unwrap();
    let translation = line.translated().unwrap();
    assert_eq!(translation.words[0], "--transports=fastdds-udp");
    assert!(translation.words.contains(&"--sizes=2097152".to_owned()));
    assert!(line.note().unwrap().contains("need two processes"));
}

#[test]
fn every_setting_is_one_that_the_row_has() {
    let registry = crate::registry::look(&[], &[]).unwrap().registry;
    for line in [
        "both --domain 0 --xml Cargo.toml",
        "both --domain 0 --shared_memory=off",
        "both --domain 0 --shared_memory=on",
        "both --domain 0 --data_sharing=off",
        "both --domain 0 --data_sharing=on --shared_memory=off",
        "both --domain 0 --data_loans --shared_memory=off",
        "both --domain 0 --data_loans --data_sharing=off --shared_memory=off",
        "both --domain 0 --security=true --certs=src",
    ] {
        let settings = translated(line).unwrap().settings;
        let checked = crate::transport_options::read(&settings, &registry);
        assert!(checked.is_ok(), "{line}: {checked:?}");
    }
}

#[test]
fn mistakes_are_rejected_with_the_reason() {
    for (line, reason) in [
        ("", "ROLE"),
        ("all", "[possible values: both, publisher, subscriber]"),
        ("both --reliability=some", "reliable, besteffort"),
        ("both --samples=0", "0 is not in"),
        ("both --domain 233", "233 is not in"),
        ("both --echo=false", "an option of a subscriber"),
        ("publisher --echo=false", "an option of a subscriber"),
        ("both --security=true --data_sharing=on", "cannot be combined with"),
        ("both --security=true -l", "cannot be combined with"),
        ("both --file=/nowhere", "cannot read the payloads in /nowhere"),
        ("both --certs=/c", "only with --security=true"),
        ("both --samples", "a value is required"),
    ] {
        let error = translated(line).unwrap_err();
        assert!(error.contains(reason), "{line}: {error}");
    }
}

#[test]
fn the_ends_by_hand_are_a_leader_and_a_follower() {
    let publisher = parsed("publisher --socket /s --samples 5").unwrap();
    assert_eq!(publisher.role, NodeRole::Publisher);
    let translation = publisher.translated().unwrap();
    assert!(translation.words.join(" ").starts_with("--transports=fastdds --waits=block"));
    assert!(publisher.note().is_none());
    assert_eq!(publisher.place.socket.as_deref(), Some("/s".as_ref()));
    let subscriber = parsed("subscriber --domain 0 --connect h:1 --secret /f").unwrap();
    assert_eq!(subscriber.role, NodeRole::Subscriber);
    let follower = subscriber.follower();
    assert_eq!(follower.connect.as_deref(), Some("h:1"));
    assert_eq!(follower.secret.as_deref(), Some("/f".as_ref()));
    assert!(parsed("subscriber --connect h:1").is_err(), "without a secret");
    assert!(!follower.silent);
    assert!(parsed("subscriber --echo=false").unwrap().follower().silent);
}
