//! An unprivileged user in a container: no namespaces, no `/proc/sys`, few descriptors, small `/dev/shm`, one
//! processor, little memory; each alone, and all together. A run ends, and rows that do not fit have a remedy.

use std::process::Command;

use ipcmark_results::Status;

use crate::support::{
    Verdict,
    confined::{
        MemoryGroup, Step, confined, few_descriptors, no_namespaces, no_proc_sys, one_processor,
        ordinary_user, refused, small_dev_shm,
    },
    end, ipcmark,
};

ipcmark_harness::tests![
    without_namespaces_a_run_works_and_says_so,
    without_proc_sys_a_run_works,
    one_processor_is_enough,
    memory_of_256_mib_is_enough,
    buffers_that_do_not_fit_into_memory_are_refused_before_anything_is_measured,
    a_message_too_large_for_dev_shm_has_a_remedy,
    a_shortage_of_descriptors_has_a_remedy,
    everything_together_is_bounded
];

const RUN: &str = "run -t pipe,uds-stream,shm-futex -w block -s 64 -n 20 --trials 1 --format json";

/// A run that measures every existing row.
fn assert_works(what: &str, steps: impl Fn() -> Vec<Step>) -> Verdict {
    if let Some(skipped) = refused(what, steps()) {
        return skipped;
    }
    let result = end(&mut confined(ipcmark(RUN), steps())).exits(0).result();
    let failed = result.cases.iter().find(|case| case.status() == Status::Failed);
    assert!(failed.is_none(), "{failed:?}");
    assert!(result.cases.iter().any(|case| case.status() == Status::Ok));
    Verdict::Holds
}

/// A run in which every failed row has these words in its reason.
fn assert_fails_with(command: Command, words: &[&str]) {
    let mut command = command;
    let ended = end(&mut command);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    let result = ended.exits(1).result();
    let reasons: Vec<&str> = result.cases.iter().filter_map(|case| case.reason()).collect();
    assert!(!reasons.is_empty());
    for reason in reasons {
        assert!(words.iter().all(|word| reason.contains(word)), "{reason}");
    }
}

fn without_namespaces_a_run_works_and_says_so() -> Verdict {
    assert_works("no namespaces", || vec![no_namespaces()])
}

fn without_proc_sys_a_run_works() -> Verdict {
    assert_works("no /proc/sys", || vec![no_proc_sys()])
}

fn one_processor_is_enough() -> Verdict {
    assert_works("one processor", || vec![one_processor()])
}

fn memory_of_256_mib_is_enough() -> Verdict {
    match MemoryGroup::new(256 << 20) {
        Ok(group) => assert_works("256 MiB of memory", || vec![group.step()]),
        Err(error) => Verdict::Skipped(format!("no control group can be made: {error}")),
    }
}

fn buffers_that_do_not_fit_into_memory_are_refused_before_anything_is_measured() -> Verdict {
    let group = match MemoryGroup::new(256 << 20) {
        Ok(group) => group,
        Err(error) => return Verdict::Skipped(format!("no control group can be made: {error}")),
    };
    let steps = || vec![group.step()];
    if let Some(skipped) = refused("256 MiB of memory", steps()) {
        return skipped;
    }
    let words = "run -t pipe -w block -s 1M --buffers 512 -n 5 --trials 1 --format json";
    assert_fails_with(confined(ipcmark(words), steps()), &["take 2049 MiB", "are left"]);
    Verdict::Holds
}

fn a_message_too_large_for_dev_shm_has_a_remedy() -> Verdict {
    let steps = || vec![small_dev_shm(), no_namespaces()];
    if let Some(skipped) = refused("1 MiB of /dev/shm", steps()) {
        return skipped;
    }
    let words = "run -t shm-ring -w spin -s 4194304 -n 5 --trials 1 --format json";
    assert_fails_with(confined(ipcmark(words), steps()), &["/dev/shm"]);
    Verdict::Holds
}

fn a_shortage_of_descriptors_has_a_remedy() -> Verdict {
    let steps = || vec![few_descriptors()];
    if let Some(skipped) = refused("64 descriptors", steps()) {
        return skipped;
    }
    let words = "run -t shm-ring -p fan-out --subscribers 64 -s 64 -n 5 --trials 1 --format json";
    let ended = end(&mut confined(ipcmark(words), steps()));
    let said = [&*ended.stdout, &*ended.stderr].concat();
    assert!(said.contains("ulimit -n") && !said.contains("panicked"), "{said}");
    assert_eq!(ended.code(), 1);
    Verdict::Holds
}

fn everything_together_is_bounded() -> Verdict {
    let group = match MemoryGroup::new(256 << 20) {
        Ok(group) => group,
        Err(error) => return Verdict::Skipped(format!("no control group can be made: {error}")),
    };
    let steps = || {
        vec![
            small_dev_shm(),
            no_proc_sys(),
            few_descriptors(),
            one_processor(),
            group.step(),
            ordinary_user(),
            no_namespaces(),
        ]
    };
    if let Some(skipped) = refused("a small container", steps()) {
        return skipped;
    }
    let words = "run -t os -w block -s 64,1048576 -n 5 --trials 1 --format json";
    let ended = end(&mut confined(ipcmark(words), steps()));
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    let result = ended.result();
    assert!(result.complete);
    let measured = result.cases.iter().filter(|case| case.status() == Status::Ok).count();
    assert!(2 * measured > result.cases.len(), "{result:?}");
    Verdict::Holds
}
