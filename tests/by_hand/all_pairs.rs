//! `ipcmark rank --all-pairs`: every pair of a launcher's ranks.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use ipcmark_results::{Case, RunResult, Status};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::two_hosts;
use crate::support::{Running, Verdict, end, ipcmark, run};

ipcmark_harness::tests![
    four_ranks_are_six_pairs,
    an_odd_number_of_ranks_has_all_its_pairs,
    only_transports_that_cross_hosts_are_measured,
    pairs_between_two_networks_are_measured_over_tcp,
    a_rank_that_dies_is_named_and_earlier_results_are_kept,
    a_leader_that_dies_leaves_the_trials_that_it_had,
    the_death_of_rank_0_ends_all_and_leaves_nothing,
    all_ranks_name_a_missing_rank,
    contradictory_flags_are_rejected,
    the_examples_are_commands,
];

const ROWS: &str = "-w block -s 64 -n 50 --trials 1 --timeout 1m --format json";

fn words(number: u32, count: u32, more: &str) -> String {
    format!("rank --all-pairs --rank {number} --ranks {count} {ROWS} {more}")
}

fn rank(number: u32, count: u32, place: &Path, more: &str) -> Command {
    let mut command = ipcmark(&words(number, count, more));
    command.arg("--rendezvous").arg(place.join("meeting"));
    command
}

/// Starts all ranks but the first, then the first, and returns its result.
fn all(count: u32, place: &Path, more: &str, status: i32) -> RunResult {
    let others: Vec<Running> =
        (1..count).map(|number| Running::start(&mut rank(number, count, place, more))).collect();
    let result = end(&mut rank(0, count, place, more)).exits(status).result();
    for other in others {
        other.end().exits(status);
    }
    assert!(!place.join("meeting").exists(), "the meeting is over");
    result
}

/// The ranks of a row.
fn ranks(case: &Case) -> (u32, u32) {
    let between = case.identity.between.as_ref().expect("it is between two ranks");
    (between.leader.rank, between.follower.rank)
}

fn status(result: &RunResult, pair: (u32, u32)) -> Status {
    result.cases.iter().find(|case| ranks(case) == pair).expect("every pair has its row").status()
}

fn four_ranks_are_six_pairs() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("result.json");
    let result = all(4, place.path(), &format!("-t tcp -o {}", file.display()), 0);
    let pairs: Vec<(u32, u32)> = result.cases.iter().map(ranks).collect();
    assert_eq!(pairs, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
    assert!(result.complete && result.planned_cases == 6);
    assert!(result.cases.iter().all(|case| case.status() == Status::Ok));
    assert!(result.distances.is_some(), "both ends of each are on one machine");
    let host = &result.cases[0].identity.between.as_ref().unwrap().leader.host;
    let table = run(&format!("show {}", file.display())).exits(0).stdout;
    for pair in ["/0 – ", "/2 – "] {
        assert!(table.contains(&format!("{host}{pair}{host}/3")), "{table}");
    }
    let csv = run(&format!("show {} --format csv", file.display())).exits(0).stdout;
    assert!(csv.contains(&format!(",2,{host},3,{host},")), "{csv}");
}

fn an_odd_number_of_ranks_has_all_its_pairs() {
    let place = tempfile::tempdir().unwrap();
    let result = all(3, place.path(), "-t tcp,udp", 0);
    assert_eq!(result.cases.len(), 6, "three pairs of two transports");
    assert!(result.cases.iter().all(|case| case.status() == Status::Ok));
}

fn only_transports_that_cross_hosts_are_measured() {
    let place = tempfile::tempdir().unwrap();
    let result = all(2, place.path(), "-t tcp,pi*", 0);
    assert!(result.cases.iter().all(|case| case.identity.transport == "tcp"));
    let note = &result.notes.join("\n");
    assert!(note.contains("Left out") && note.contains("pipe"), "{note}");
}

fn pairs_between_two_networks_are_measured_over_tcp() -> Verdict {
    let cable = match two_hosts::laid() {
        Ok(cable) => cable,
        Err(skipped) => return skipped,
    };
    let place = tempfile::tempdir().unwrap();
    // The second rank is on the first one's host, the third on another.
    let inside = |number: u32, host: usize| {
        let meeting = place.path().join("meeting");
        let address = two_hosts::ADDRESSES[host];
        let more = format!("-t tcp --address {address} --rendezvous {}", meeting.display());
        cable.inside(host, &words(number, 3, &more))
    };
    let others = [Running::start(&mut inside(1, 0)), Running::start(&mut inside(2, 1))];
    let result = end(&mut inside(0, 0)).exits(0).result();
    for other in others {
        other.end().exits(0);
    }
    for case in &result.cases {
        let probes = case.trials().iter().map(|trial| trial.blocks.probe_before_ns.len());
        let is_beside = ranks(case) == (0, 1);
        assert_eq!(probes.sum::<usize>() > 0, is_beside, "{:?}", ranks(case));
    }
    assert_eq!(result.cases.len(), 3);
    Verdict::Holds
}

/// Starts ranks of a long run; returns once the first one's result file has a pair.
fn begun(count: u32, place: &Path, words: &str) -> (Vec<Running>, PathBuf) {
    let file = place.join("result.json");
    let of = |number: u32| {
        let output = format!("{words} -o {}", file.display());
        let more = if number == 0 { &output } else { words };
        Running::start(&mut rank(number, count, place, more))
    };
    let ranks = (0..count).map(of).collect();
    while !fs::read_to_string(&file).is_ok_and(|text| text.contains("\"between\"")) {
        thread::sleep(Duration::from_millis(20));
    }
    (ranks, file)
}

fn killed(running: &Running) {
    kill(Pid::from_raw(running.id()), Signal::SIGKILL).unwrap();
}

fn a_rank_that_dies_is_named_and_earlier_results_are_kept() {
    let place = tempfile::tempdir().unwrap();
    let (mut ranks, file) = begun(3, place.path(), "-t tcp --trials 30 --meet-within 10s");
    // It has been measured with rank 0, not yet with rank 1.
    let dead = ranks.pop().unwrap();
    killed(&dead);
    drop(dead);
    let [leader, other] = <[Running; 2]>::try_from(ranks).ok().unwrap();
    let leader = leader.end().exits(1);
    other.end().exits(1);
    let result = ipcmark_results::read(&file).unwrap();
    assert_eq!(status(&result, (0, 2)), Status::Ok);
    assert_eq!(status(&result, (1, 2)), Status::Failed);
    let reasons: String = result.cases.iter().filter_map(|case| case.reason()).collect();
    assert!(reasons.contains("rank 2"), "{reasons}");
    assert!(!result.complete && result.cases.len() == 3);
    assert!(leader.stderr.contains("rank 2 (") || reasons.contains("rank 2:"), "{}", leader.stderr);
    assert!(!place.path().join("meeting").exists());
}

fn a_leader_that_dies_leaves_the_trials_that_it_had() {
    let place = tempfile::tempdir().unwrap();
    let (mut ranks, file) = begun(3, place.path(), "-t tcp --trials 30 --meet-within 10s");
    // Rank 1 leads the last pair: its result is written to the meeting directory after each trial.
    let partial = place.path().join("meeting/result-1-2");
    while !fs::read_to_string(&partial).is_ok_and(|text| text.contains("\"times_ns\"")) {
        thread::sleep(Duration::from_millis(5));
    }
    killed(&ranks[1]);
    drop(ranks.remove(1));
    for rank in ranks {
        rank.end().exits(1);
    }
    let result = ipcmark_results::read(&file).unwrap();
    assert_eq!((status(&result, (0, 1)), status(&result, (1, 2))), (Status::Ok, Status::Ok));
    assert!(result.notes.iter().any(|note| note.contains("rank 1 (")), "{:?}", result.notes);
    assert!(!result.complete);
}

fn the_death_of_rank_0_ends_all_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (ranks, _) = begun(3, place.path(), "-t tcp --trials 30 --meet-within 10s");
    killed(&ranks[0]);
    for other in ranks.into_iter().skip(1) {
        let other = other.end().exits(1);
        assert!(other.stderr.contains("rank 0 "), "{}", other.stderr);
    }
    assert!(!place.path().join("meeting").exists());
}

fn all_ranks_name_a_missing_rank() {
    let place = tempfile::tempdir().unwrap();
    let words = "-t tcp --meet-within 10s";
    let leader = Running::start(&mut rank(0, 3, place.path(), words));
    let other = Running::start(&mut rank(1, 3, place.path(), words));
    let leader = leader.end().exits(2);
    assert!(leader.stderr.contains("rank 2 of 3 did not come in time"), "{}", leader.stderr);
    other.end().exits(2);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

fn contradictory_flags_are_rejected() {
    let place = tempfile::tempdir().unwrap();
    for (words, wanted) in [
        ("--subscribers 3", "leave --subscribers out"),
        ("--pairs 2", "'ipcmark run'"),
        ("--live", "--live draws one run"),
        ("-t tcp,pipe", "pipe does not cross hosts"),
        ("-t pi*", "none of the chosen transports crosses hosts"),
    ] {
        let refused = end(&mut rank(0, 2, place.path(), words)).exits(2).stderr;
        assert!(refused.contains(wanted), "{words}: {refused}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{words}");
    }
}

/// The flags of an example, as its launcher would pass them.
fn flags_of(example: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster").join(example);
    let text = fs::read_to_string(path).unwrap();
    let shell = |line: &str| Some(line.split_once("ipcmark rank ")?.1.to_owned());
    match text.lines().filter(|line| line.starts_with("srun ")).find_map(shell) {
        Some(flags) => flags,
        None => {
            let flags = text.lines().filter_map(|line| line.trim().strip_prefix("- --"));
            flags.map(|flag| format!("--{flag} ")).collect()
        }
    }
}

fn the_examples_are_commands() {
    for example in ["pairs.sbatch", "kubernetes.yaml"] {
        let place = tempfile::tempdir().unwrap();
        let flags = flags_of(example).replace(['"', '$'], "");
        assert!(flags.contains("--all-pairs"), "{flags}");
        // The later flags win; the result file is this test's own.
        let file = place.path().join("result.json");
        let rank = |number: u32| {
            let more = format!("{flags} --ranks 2 -s 64 -o {}", file.display());
            let mut command = ipcmark(&format!("rank {more} --rank {number} {ROWS}"));
            command.arg("--rendezvous").arg(place.path().join("meeting"));
            command
        };
        let other = Running::start(&mut rank(1));
        end(&mut rank(0)).exits(0);
        other.end().exits(0);
        assert!(ipcmark_results::read(&file).unwrap().complete, "{example}");
    }
}
