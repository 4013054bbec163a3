//! Fan-out: with transports that connect only two endpoints, where the leader has one for each follower, and with
//! libraries that reach all followers with one publication.

use ipcmark_harness::sampled;
use ipcmark_results::{Case, Role, Status, Trial};
use libc::SIGKILL;
use serde_json::Value;

use crate::support::{
    Verdict, assert_valid, end, ipcmark, listed, only,
    processes::await_that,
    run,
    scene::{FOLLOWER, Scene},
    traces,
};

ipcmark_harness::tests![
    each_follower_has_an_end_of_its_own,
    sixty_four_followers_are_each_accounted_for,
    the_death_of_any_follower_costs_the_row,
    nothing_is_left_without_a_sandbox,
    one_publication_of_a_library_reaches_every_follower,
    one_publication_of_a_library_reaches_sixty_four_followers,
    one_publication_that_may_be_lost_reaches_every_follower,
    answers_of_many_followers_of_lcm_fit_into_the_queue,
    the_death_of_a_follower_of_a_library_costs_the_row,
    impossible_fan_out_is_rejected_with_the_reason,
];

/// Some rows of libraries that reach several followers with one publication, for what would take long with all.
pub(crate) const NATIVE: [&str; 12] = [
    "zeromq-pubsub-ipc",
    "zeromq-pubsub-tcp",
    "iceoryx-waitset",
    "iceoryx2-event",
    "alephzero-pubsub",
    "cpp-ipc-channel",
    "cpp-ipc-route",
    "dbus-daemon",
    "redis-pubsub",
    "aeron-ipc",
    "nats",
    "fastdds-datasharing",
];

/// A row of a library whose ends are threads of one process.
const INTRA: &str = "fastdds-intra";

/// Rows that one run measures, as its flags select them.
pub(crate) struct RowsOfRun {
    /// Flags for transports, waits and payloads.
    pub words: String,
    /// The number of rows.
    pub count: usize,
}

/// All rows that can run here and of which one publication reaches every follower, without losses: with all waits but
/// spinning, for which their processes would need a processor each, and spinning if a row can do nothing else.
pub(crate) fn listed_native() -> Result<Vec<RowsOfRun>, Verdict> {
    let words = |words: &Value| -> Vec<String> {
        let words = words.as_array().expect("an array").iter();
        words.map(|word| word.as_str().expect("a word").to_owned()).collect()
    };
    let (mut names, mut waits, mut spinning) = (Vec::new(), Vec::new(), Vec::new());
    for entry in listed::all() {
        let name = entry["name"].as_str().expect("a name").to_owned();
        let fans_in = words(&entry["patterns"]).iter().any(|pattern| pattern == "fan-in");
        if entry["available"] != true || !fans_in || LOSSY.contains(&&*name) {
            continue;
        }
        let sleeping = words(&entry["waits"]).into_iter().filter(|wait| wait != "spin");
        let sleeping: Vec<String> = sleeping.map(|wait| format!("{name}={wait}")).collect();
        match sleeping.is_empty() {
            true => spinning.push(name),
            false => names.push(name),
        }
        waits.extend(sleeping);
    }
    let sleeping = format!("-t {} -w {} -s 64,64k", names.join(","), waits.join(","));
    let spins = format!("-t {} -w spin -s 64", spinning.join(","));
    let runs = [(sleeping, 2 * waits.len()), (spins, spinning.len())];
    let runs = runs.map(|(words, count)| RowsOfRun { words, count });
    let runs: Vec<RowsOfRun> = runs.into_iter().filter(|rows| rows.count > 0).collect();
    match runs.is_empty() {
        true => Err(Verdict::Skipped("none of the libraries is there".into())),
        false => Ok(runs),
    }
}

pub(crate) fn received(trial: &Trial) -> Vec<(Role, u64, u64)> {
    let ends = trial.session.processes.iter().flat_map(|process| &process.ends);
    ends.map(|end| (end.role, end.sent, end.received)).collect()
}

/// The same, with possible losses.
pub(crate) const LOSSY: [&str; 3] = ["nng-pubsub-ipc", "nng-pubsub-tcp", "lcm-udpm"];

/// The rows that can run here; or the reason why there is nothing to test.
pub(crate) fn available(rows: &[&'static str]) -> Result<Vec<&'static str>, Verdict> {
    let available = listed::available();
    let is_there = |name: &&str| available.iter().any(|there| there == name);
    match rows.iter().copied().filter(is_there).collect::<Vec<_>>() {
        rows if rows.is_empty() => Err(Verdict::Skipped("none of the libraries is there".into())),
        rows => Ok(rows),
    }
}

/// The waits of the rows: sleeping if they cannot spin.
pub(crate) fn waits(rows: &[&str]) -> String {
    let is_late = |row: &str| row.starts_with("cpp-ipc-") || row == "aeron-ipc";
    let late = rows.iter().filter(|row| is_late(row));
    late.fold("-w block".into(), |words, row| format!("{words},{row}=hybrid"))
}

/// Every publication reached every follower, and every answer reached the leader.
fn is_whole(case: &Case, followers: u32) {
    let (trial, name) = (only(case), &case.identity.transport);
    assert_eq!(case.identity.n_sends, case.identity.family == "os", "{name}");
    assert_eq!(case.identity.subscribers, followers, "{name}");
    let (leader, others) = {
        let mut ends = received(trial);
        (ends.remove(0), ends)
    };
    assert_eq!(others.len(), followers as usize, "{name}");
    for (number, (role, sent, taken)) in others.iter().enumerate() {
        assert_eq!(*role, Role::Follower(number as u32), "{name}");
        assert!(*taken == leader.1 && *sent == *taken, "{name}: {sent} {taken} of {}", leader.1);
    }
    assert_eq!(leader.2, leader.1 * u64::from(followers), "{name}");
    let counts: Vec<u64> = trial.answers.iter().map(|answers| answers.answer_ns.count).collect();
    assert_eq!(counts, vec![trial.times_ns.count; followers as usize], "{name}");
    assert!(!trial.session.carrier.fell_back(), "{name}: {:?}", trial.session.carrier);
}

fn each_follower_has_an_end_of_its_own() {
    let words = "run -t pipe,uds-dgram,memfd,tcp,shm-slot -w block -s 64,64k --subscribers 3 -n 20 \
                 --trials 1 --format json";
    let ended = run(words).exits(0);
    assert_valid(&serde_json::from_str(&ended.stdout).unwrap());
    let result = ended.result();
    assert_eq!(result.cases.len(), 10);
    result.cases.iter().for_each(|case| is_whole(case, 3));
    let table = run("run -t pipe -w block -s 64 --subscribers 2 -n 5 --trials 1").exits(0).stdout;
    assert!(table.contains("pipe n-sends"), "{table}");
}

fn sixty_four_followers_are_each_accounted_for() {
    let words = "run -t pipe,shm-semaphore -w block -s 64 --subscribers 64 -n 5 --trials 1 \
                 --timeout 1m --format json";
    let result = run(words).exits(0).result();
    result.cases.iter().for_each(|case| is_whole(case, 64));
}

fn the_death_of_any_follower_costs_the_row() {
    for number in 0..3 {
        a_death_costs_the_row("--subscribers 3", number, "pipe", "uds-stream");
    }
}

/// The row whose follower with this number, of three, was killed has failed; the other row is measured.
pub(crate) fn a_death_costs_the_row(followers_are: &str, number: usize, one: &str, other: &str) {
    let waits = waits(&[one, other]);
    let words = format!("run -t {one},{other} {waits} -s 64 {followers_are} -d 1s --trials 1");
    let scene = Scene::start(&words);
    scene.await_case();
    let follower = await_that("the row has so many followers", || {
        let mut all = scene.processes().into_iter().filter(|one| one.name == FOLLOWER);
        all.nth(number)
    });
    follower.send(SIGKILL);
    let (ended, result) = scene.end();
    ended.exits(1);
    let of = |status| result.cases.iter().filter(move |case| case.status() == status);
    assert_eq!((of(Status::Failed).count(), of(Status::Ok).count()), (1, 1), "{one} {number}");
    let reason = of(Status::Failed).next().unwrap().reason().unwrap();
    assert!(reason.contains(" of 3 was killed by signal 9"), "{one} {number}: {reason}");
}

fn nothing_is_left_without_a_sandbox() {
    let words = "run -t mmap-file,fifo,posix-mq,uds-stream -w block -s 64 --subscribers 3 -n 20 \
                 --trials 1 --sandbox off --format json";
    let result = run(words).exits(0).result();
    result.cases.iter().for_each(|case| is_whole(case, 3));
    assert_eq!(traces::names(&result.run.id), [""; 0]);
}

fn one_publication_of_a_library_reaches_every_follower() -> Verdict {
    let mut runs = match listed_native() {
        Ok(runs) => runs.into_iter().map(|rows| (rows, "--subscribers 3", 3)).collect::<Vec<_>>(),
        Err(skipped) => return skipped,
    };
    if let Ok(rows) = available(&NATIVE) {
        let some: Vec<&str> = sampled("sixteen followers", rows.into_iter()).collect();
        let words = format!("-t {} {} -s 64,64k", some.join(","), waits(&some));
        let rows = RowsOfRun { words, count: 2 * some.len() };
        runs.push((rows, "--subscribers 16 --sandbox off", 16));
    }
    for (RowsOfRun { words: of_rows, count }, words, followers) in runs {
        let words = format!("run {of_rows} {words} -n 20 --trials 1 --timeout 1m");
        let result = run(&format!("{words} --touch all --format json")).exits(0).result();
        assert_eq!(result.cases.len(), count);
        result.cases.iter().for_each(|case| is_whole(case, followers));
        assert_eq!(traces::names(&result.run.id), [""; 0]);
    }
    Verdict::Holds
}

/// Regression: these libraries' rows ended at 16 followers; Fast DDS with data sharing hung with 32. The descriptors of
/// the ends of one process did not fit into a frame. An object of cpp-ipc has 32 receivers.
fn one_publication_of_a_library_reaches_sixty_four_followers() -> Verdict {
    let rows = ["zeromq-pubsub-ipc", "dbus-daemon", "fastdds-datasharing", INTRA, "cpp-ipc-route"];
    let rows = match available(&rows) {
        Ok(rows) => rows,
        Err(skipped) => return skipped,
    };
    // Of smaller messages, the packets of DDS weigh as much as the messages if these are slow on a busy machine.
    let (waits, names) = (waits(&rows), rows.join(","));
    let words = format!("run -t {names} {waits} -s 1k --subscribers 64 -n 5");
    let result = run(&format!("{words} --trials 1 --timeout 1m --format json")).exits(0).result();
    assert_eq!(result.cases.len(), rows.len());
    result.cases.iter().for_each(|case| is_whole(case, 64));
    Verdict::Holds
}

fn one_publication_that_may_be_lost_reaches_every_follower() -> Verdict {
    match available(&LOSSY) {
        Ok(rows) => once_without_losses(rows, "-s 64k --touch all", 3),
        Err(skipped) => skipped,
    }
}

/// Regression: of LCM, the answers of 31 followers and more overflowed the queue of the leader's subscription.
fn answers_of_many_followers_of_lcm_fit_into_the_queue() -> Verdict {
    match available(&["lcm-udpm"]) {
        Ok(rows) => once_without_losses(rows, "-s 64", 40),
        Err(skipped) => skipped,
    }
}

/// On a busy machine a late answer can count as lost: each row must once succeed without losses.
fn once_without_losses(mut rows: Vec<&str>, words: &str, followers: u32) -> Verdict {
    for _ in 0..TRIES {
        let names = rows.join(",");
        let words = format!("run -t {names} -w block {words} --subscribers {followers} -n 20");
        let result = end(&mut ipcmark(&format!("{words} --trials 1 --format json"))).result();
        let whole =
            |case: &&Case| case.status() == Status::Ok && only(case).session.losses.lost == 0;
        for case in result.cases.iter().filter(whole) {
            is_whole(case, followers);
            rows.retain(|row| *row != case.identity.transport);
        }
        if rows.is_empty() {
            return Verdict::Holds;
        }
    }
    panic!("in each of {TRIES} runs messages were lost of {rows:?}");
}

/// The number of attempts without losses.
const TRIES: u32 = 5;

/// All rows detect a death in the same way: here each that is tried loses one of its three followers, in turn.
fn the_death_of_a_follower_of_a_library_costs_the_row() -> Verdict {
    match available(&NATIVE) {
        Ok(rows) => {
            (0..3).cycle().zip(sampled("deaths", rows.into_iter())).for_each(|(number, row)| {
                a_death_costs_the_row("--subscribers 3", number, row, "pipe")
            })
        }
        Err(skipped) => return skipped,
    }
    Verdict::Holds
}

fn impossible_fan_out_is_rejected_with_the_reason() {
    let reasons = |words: &str| -> Vec<String> {
        let ended = run(&format!("run {words} -s 64 -n 5 --trials 1 --format json")).exits(1);
        let cases = ended.result().cases;
        cases.iter().filter_map(|case| case.reason().map(Into::into)).collect()
    };
    let one_end = reasons("-t signal -w block --subscribers 2");
    assert!(one_end[0].contains("it does not carry the pattern fan-out"), "{one_end:?}");
    let silent = reasons("-t pipe -w block --subscribers 2 --silent 1");
    assert!(silent[0].contains("those that are silent do not answer"), "{silent:?}");
}
