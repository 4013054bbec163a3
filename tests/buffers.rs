//! The memory of the messages: stated by every row, and changed with every message by `--buffers`.

use ipcmark_results::{Case, Status, WorkingSet};
use ipcmark_transport::Pattern;

use crate::support::{only, run};

ipcmark_harness::tests![
    every_row_reports_its_memory,
    the_memory_is_counted_in_the_first_trial,
    messages_rotate_through_the_requested_number_of_buffers,
    more_buffers_than_can_be_seen_are_counted_all_the_same,
    cold_buffers_are_more_than_the_cache_holds,
    transports_that_lend_their_own_memory_reject_buffers,
    impossible_buffers_are_rejected,
];

fn measured(words: &str, status: i32) -> Vec<Case> {
    run(&format!("{words} --trials 1 -n 100 --format json")).exits(status).result().cases
}

fn working_set(case: &Case) -> WorkingSet {
    only(case).session.working_set.expect("it was looked at")
}

/// The number of buffers in each direction, or fewer if a busy machine cut the observation short.
fn has(set: WorkingSet, [written, read]: [u64; 2]) -> bool {
    let found = [set.written_buffers, set.read_buffers];
    if set.is_complete { found == [written, read] } else { found[0] <= written && found[1] <= read }
}

/// More than one, unless a busy machine ended the observation before the second message.
fn has_several(set: WorkingSet) -> bool {
    set.written_buffers > 1 || !set.is_complete
}

fn every_row_reports_its_memory() {
    for case in measured("run -t pipe,shm-slot,null -w spin -s 64,4k", 0) {
        let (set, payload) = (working_set(&case), case.identity.payload_bytes);
        let name = &case.identity.transport;
        assert!(has(set, [1, 1]), "{name} {set:?}");
        assert_eq!(set.bytes, (set.written_buffers + set.read_buffers) * payload, "{name}");
    }
    let cases = measured("run -t shm-ring --set shm-ring.capacity=64k -w spin -s 16k", 0);
    let ring = working_set(&cases[0]);
    assert!(has_several(ring) && ring.written_buffers <= 4, "{ring:?}");
    for case in measured("run -t pipe,uds-stream -p throughput,one-way -w block -s 64", 0) {
        assert!(working_set(&case).written_buffers == 1, "{:?}", case.identity);
    }
}

/// Each later trial would spend up to 20 ms on it again.
fn the_memory_is_counted_in_the_first_trial() {
    let cases = run("run -t pipe -w spin -s 64 --trials 3 -n 100 --format json").exits(0);
    let cases = cases.result().cases;
    let sessions = cases[0].trials().iter().map(|trial| trial.session.working_set.is_some());
    assert_eq!(sessions.collect::<Vec<bool>>(), [true, false, false]);
}

fn messages_rotate_through_the_requested_number_of_buffers() {
    let words = "run -t pipe,fifo,uds-*,tcp,udp,sysv-mq --buffers 5 -w spin,block -s 64,64k";
    let cases = measured(words, 0);
    assert_eq!(cases.len(), 32);
    for case in &cases {
        let set = working_set(case);
        assert!(has(set, [5, 5]), "{:?} {set:?}", case.identity);
        assert_eq!(case.identity.options["buffers"], "5");
    }
    let cases =
        measured("run -t pipe,tcp -p throughput,one-way --set pipe.buffers=3 -s 4k -w spin", 0);
    for case in &cases {
        let wanted = if case.identity.transport == "pipe" { 3 } else { 1 };
        assert!(has(working_set(case), [wanted; 2]) || working_set(case).read_buffers == 0);
        assert!(working_set(case).written_buffers <= wanted);
    }
}

/// Regression: a row told the buffers that it saw within 20 ms or 1,024 messages, and that there are more.
fn more_buffers_than_can_be_seen_are_counted_all_the_same() {
    let words = "run -t pipe,uds-stream -p latency,throughput --buffers 3000 -s 64 -w block";
    let cases = measured(words, 0);
    assert_eq!(cases.len(), 4);
    for case in &cases {
        let read_buffers = if case.identity.pattern == Pattern::Latency { 3000 } else { 0 };
        let bytes = (3000 + read_buffers) * 64;
        let all = WorkingSet { written_buffers: 3000, read_buffers, bytes, is_complete: true };
        assert_eq!(working_set(case), all, "{:?}", case.identity);
    }
}

fn cold_buffers_are_more_than_the_cache_holds() {
    let cases = measured("run -t pipe --buffers cold -w spin -s 256k", 0);
    match cases[0].status() {
        Status::Ok => {
            let set = working_set(&cases[0]);
            assert!(set.is_complete && set.written_buffers >= 2, "{set:?}");
        }
        // Some virtual machines do not report it.
        _ => assert!(cases[0].reason().unwrap().contains("last-level cache")),
    }
}

fn transports_that_lend_their_own_memory_reject_buffers() {
    let cases = measured("run -t shm-ring,shm-slot,pipe --buffers 4 -w spin -s 64", 1);
    for case in &cases {
        let reason = case.reason().unwrap_or_default();
        match &*case.identity.transport {
            "pipe" => assert_eq!(case.status(), Status::Ok),
            "shm-ring" => assert!(reason.contains("--set shm-ring.capacity="), "{reason}"),
            _ => assert!(reason.contains("memory of its own"), "{reason}"),
        }
    }
    let cases = measured("run -t pipe --buffers 4 --subscribers 2 -w block -s 64", 1);
    assert!(cases[0].reason().unwrap().contains("copies one message"));
}

fn impossible_buffers_are_rejected() {
    for (words, reason) in [("0", "not from 1"), ("2M", "not from 1"), ("hot", "not one of")] {
        let ended = run(&format!("run -t pipe --buffers {words}")).exits(2);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
    let cases = measured("run -t pipe --buffers 2k -w spin -s 1M", 1);
    assert!(cases[0].reason().unwrap().contains("more than 1 GiB"), "{:?}", cases[0].reason());
}
