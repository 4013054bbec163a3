//! `--pairs`: rows in which several pairs run concurrently, and one is measured.

use ipcmark_results::{Case, Losses, PairRecord, ProcessRecord, Role, RunResult, Status, groups};
use libc::SIGKILL;
use serde_json::Value;
use tempfile::tempdir;

use crate::support::{
    Verdict, assert_valid, end, ipcmark, only,
    processes::{await_end_of, await_named, await_that},
    read, refused, run,
    scene::{FOLLOWER, LEADER, Scene},
    traces,
};

ipcmark_harness::tests![
    every_process_of_every_pair_is_accounted_for,
    a_load_that_pauses_runs_in_every_pair,
    streams_report_the_messages_of_all_pairs,
    the_death_of_any_process_of_another_pair_costs_the_row,
    nothing_is_left_without_a_sandbox,
    pairs_are_placed_and_shared_processors_named,
    a_row_of_pairs_is_shown_again_and_is_another_row,
    plans_with_pairs_are_compared_in_turns,
    impossible_pairs_are_rejected_with_the_reason,
    a_library_with_one_instance_has_pairs_in_sandboxes_only,
    a_library_that_removes_what_others_make_has_pairs_in_sandboxes_only,
];

/// All other pairs of a row exist, each with its leader and its follower, and every message is accounted for.
fn is_whole(case: &Case, pairs: u32) {
    let (trial, name) = (only(case), &case.identity.transport);
    assert_eq!(case.identity.pairs, pairs, "{name}");
    assert_eq!(trial.session.other_pairs.len() as u32, pairs - 1, "{name}");
    assert_eq!(roles(&trial.session.processes), [Role::Leader, Role::Follower(0)], "{name}");
    for (number, pair) in (2..).zip(&trial.session.other_pairs) {
        let PairRecord { turns_ns, messages, losses, processes, .. } = pair;
        assert_eq!(pair.number, number, "{name}");
        assert_eq!(roles(processes), [Role::Leader, Role::Follower(0)], "{name}");
        let Losses { sent, received, lost, .. } = *losses;
        assert!(sent > 0 && received + lost == sent, "{name}: {losses:?}");
        // It may lose messages: on a busy machine an answer can come after its leader's patience.
        assert!(lost == 0 || name == "zenoh-shm", "{name}: {losses:?}");
        assert!(*messages > 0 && *turns_ns > 0, "{name}");
        let [leader, follower] = [0, 1].map(|at| &processes[at].ends[0]);
        if lost == 0 {
            let answered = (follower.received, follower.sent);
            assert_eq!((leader.sent, leader.received), answered, "{name}");
        }
        // A daemon may have been idle.
        assert!(processes[..2].iter().all(|process| process.cpu_ns > 0), "{name}");
    }
}

fn roles(processes: &[ProcessRecord]) -> Vec<Role> {
    processes.iter().flat_map(|process| &process.ends).map(|end| end.role).collect()
}

fn every_process_of_every_pair_is_accounted_for() {
    let words = "run -t pipe,shm-futex,uds-dgram,tcp -w block -s 64,64k -p latency,one-way --pairs 3 -n 20 \
                 --trials 1 --timeout 1m --format json";
    let ended = run(words).exits(0);
    assert_valid(&serde_json::from_str(&ended.stdout).unwrap());
    let result = ended.result();
    assert_eq!(result.cases.len(), 16);
    result.cases.iter().for_each(|case| is_whole(case, 3));
    let spinning =
        "run -t shm-ring,pipe -w spin -s 64 --pairs 2 -n 20 --trials 1 --timeout 1m --format json";
    let result = run(spinning).exits(0).result();
    result.cases.iter().for_each(|case| is_whole(case, 2));
}

fn a_load_that_pauses_runs_in_every_pair() {
    for load in ["--rate 1k/s", "--rate 1k/s --arrivals poisson", "--interval 1ms"] {
        let words = format!("run -t pipe -w block -s 64 --pairs 3 -n 20 --trials 1 {load}");
        let result = run(&format!("{words} --timeout 1m --format json")).exits(0).result();
        is_whole(&result.cases[0], 3);
    }
}

fn streams_report_the_messages_of_all_pairs() {
    let words =
        "run -t pipe,uds-stream -w block -s 64 -p throughput -d 50ms --trials 1 --timeout 1m";
    let result = run(&format!("{words} --pairs 3 --format json")).exits(0).result();
    for case in &result.cases {
        let trial = only(case);
        let all = trial.stream.as_ref().unwrap().all_pairs_per_second.expect("it was not alone");
        let own = 1e9 / trial.clock_free_mean_ns;
        assert!(all > own, "{}: {own} of {all}", case.identity.transport);
        let [first, second] = &trial.session.other_pairs[..] else { panic!("{trial:?}") };
        assert!([first, second].iter().all(|pair| pair.messages == pair.losses.received));
    }
    let table = run(&format!("{words} --pairs 2")).exits(0).stdout;
    assert!(table.contains("one of 2 pairs") && table.contains("all pairs/s"), "{table}");
    let alone = run(&format!("{words} --format json")).exits(0);
    assert!(!alone.stdout.contains("pairs"), "what is alone names no pairs");
}

fn the_death_of_any_process_of_another_pair_costs_the_row() {
    for (name, number) in [(FOLLOWER, 1), (LEADER, 2), (FOLLOWER, 2), (LEADER, 0)] {
        let words = "run -t pipe -w block -s 64,4k --pairs 3 -d 1s --trials 1 --timeout 1m";
        let scene = Scene::start(words);
        scene.await_case();
        // The sessions of a row are started in turn, the measured pair first.
        let of_name = || await_named(scene.running.id(), name);
        let all_named = || of_name().into_iter().nth(number);
        let victim = await_that("the row has so many pairs", all_named);
        let processes = scene.processes();
        victim.send(SIGKILL);
        let (ended, result) = scene.end();
        await_end_of(&processes);
        ended.exits(1);
        let of = |status| result.cases.iter().filter(move |case| case.status() == status);
        assert_eq!((of(Status::Failed).count(), of(Status::Ok).count()), (1, 1), "{name} {number}");
        // The other payload of the row has new pairs.
        of(Status::Ok).for_each(|case| is_whole(case, 3));
        let reason = of(Status::Failed).next().unwrap().reason().unwrap();
        assert!(reason.contains("was killed by signal 9 (SIGKILL)"), "{name}: {reason}");
        let pair = format!("pair {} beside it: ", number + 1);
        assert_eq!(reason.starts_with(&pair), number > 0, "{name} {number}: {reason}");
    }
}

fn nothing_is_left_without_a_sandbox() {
    let words = "run -t mmap-file,fifo,posix-mq,uds-stream,sysv-shm -w block -s 64 --pairs 3 -n 20 --trials 1 \
                 --sandbox off --timeout 1m --format json";
    let before = traces::system_v();
    let result = run(words).exits(0).result();
    result.cases.iter().for_each(|case| is_whole(case, 3));
    assert_eq!(traces::names(&result.run.id), [""; 0]);
    assert_eq!(traces::system_v(), before);
}

fn pairs_are_placed_and_shared_processors_named() {
    let words = "run -t pipe -w spin -s 64 -n 5 --trials 1 --timeout 1m --pairs 2 --cpus 0,0,0,0";
    let result = run(&format!("{words} --format json")).exits(0).result();
    let session = &only(&result.cases[0]).session;
    let other = &session.other_pairs[0].processes;
    let ends = session.processes.iter().chain(other).flat_map(|process| &process.ends);
    assert!(ends.into_iter().all(|end| end.cpu == Some(0)));
    let shared = "4 processes of several pairs share 1 processor(s)";
    assert!(result.notes.iter().any(|note| note.contains(shared)), "{:?}", result.notes);
    assert!(result.environment.placement.contains("beside it"), "{:?}", result.environment);
    let unpinned =
        run("run -t pipe -w block -s 64 -n 5 --trials 1 --pairs 2 --no-pin --format json");
    is_whole(&unpinned.exits(0).result().cases[0], 2);
}

fn a_row_of_pairs_is_shown_again_and_is_another_row() {
    let directory = tempdir().unwrap();
    let [alone, three] = [1, 3].map(|pairs| {
        let file = directory.path().join(format!("{pairs}.json"));
        let words = format!(
            "run -t pipe -w block -s 64 -n 20 --trials 3 --pairs {pairs} -o {}",
            file.display()
        );
        let table = run(&words).exits(0).stdout;
        assert_eq!(table.contains("one of 3 pairs"), pairs == 3, "{table}");
        file
    });
    let shown = |words: &str| run(&format!("show {} {words}", three.display())).exits(0).stdout;
    assert!(shown("").contains("one of 3 pairs"));
    assert!(shown("--format csv").lines().next().unwrap().contains(",pairs,"));
    let row = "latency/pipe/64/block/pairs:3/round_trip";
    assert!(shown("--format bmf").contains(row), "{}", shown("--format bmf"));
    assert!(shown(&format!("--row {row}")).contains("pipe"));
    let compared = run(&format!("compare {} {}", alone.display(), three.display()));
    let compared = compared.exits(1).stdout;
    assert!(compared.contains("no row was measured on both sides"), "{compared}");
    let joined: RunResult = read(&three);
    assert_eq!(groups(&joined)[0].key.pairs, 3);
}

/// `--pairs` of compare are pairs of trials; those of the plans do not change.
fn plans_with_pairs_are_compared_in_turns() {
    let directory = tempdir().unwrap();
    let plan = |name: &str, pairs: u32| {
        let file = directory.path().join(name);
        let text = format!(
            "transports = [\"pipe\"]\nwaits = [\"block\"]\nsizes = [64]\npairs = {pairs}\n"
        );
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let compare = |base: &str, new: &str| {
        run(&format!("compare --run {base} {new} --pairs 8 -d 2ms --timeout 1m --format json"))
    };
    let (two, three) = (plan("two.toml", 2), plan("three.toml", 3));
    let same = compare(&two, &two);
    let json: Value =
        serde_json::from_str(&same.stdout).unwrap_or_else(|e| panic!("{e}: {}", same.stderr));
    assert_eq!(json["rows"][0]["pairs_at_once"], 2, "{json}");
    let apart = compare(&two, &three);
    assert_ne!(apart.code(), 0, "they have no row in common: {}", apart.stdout);
}

fn impossible_pairs_are_rejected_with_the_reason() {
    for (words, said) in [
        ("run --pairs 0", "0 is not in 1..=16"),
        ("run --pairs 17", "17 is not in 1..=16"),
        ("run --pairs many", "'many' for '--pairs"),
        ("run --pairs 2 --subscribers 3", "one leader with several"),
        ("run --pairs 2 --trace examples/trace.csv", "--rate"),
        ("run --pairs 2 --cpus 0,1", "4 processors are needed"),
        ("leader -t pipe --pairs 2", "'ipcmark run'"),
        ("advise --size 64 --pairs 2", "--pairs"),
        ("sweep pairs --pairs 2", "--at"),
    ] {
        refused(words, said);
    }
}

fn a_library_with_one_instance_has_pairs_in_sandboxes_only() -> Verdict {
    has_pairs_in_sandboxes_only("iceoryx-waitset")
}

fn a_library_that_removes_what_others_make_has_pairs_in_sandboxes_only() -> Verdict {
    has_pairs_in_sandboxes_only("zenoh-shm")
}

fn has_pairs_in_sandboxes_only(transport: &str) -> Verdict {
    let words = format!(
        "run -t {transport} -w block -s 64 --pairs 2 -n 5 --trials 1 --timeout 1m --format json"
    );
    let [together, without] = ["auto", "off"]
        .map(|sandbox| end(&mut ipcmark(&format!("{words} --sandbox {sandbox}"))).result());
    let is_apart = together.environment.sandbox == "namespaces";
    let [together, without] = [together, without].map(|mut result| result.cases.remove(0));
    if without.status() == Status::Unavailable {
        return Verdict::Skipped(format!("there is no {transport}"));
    }
    let reason = without.reason().unwrap_or_default();
    assert_eq!(without.status(), Status::Unsupported, "{transport}: {reason}");
    assert!(reason.contains("without a sandbox only one pair of it"), "{transport}: {reason}");
    if is_apart {
        is_whole(&together, 2);
    }
    Verdict::Holds
}
