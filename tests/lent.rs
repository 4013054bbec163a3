//! Kernel mechanisms that pass something other than bytes: an address (`cma`), a descriptor (`scm-rights`), pages
//! (`vmsplice`).

use ipcmark_results::{Case, Status};
use ipcmark_transport::Carrier;
use serde_json::Value;

use crate::support::{
    Verdict,
    confined::{confined, no_call, refused},
    end, ipcmark, only, run,
};

ipcmark_harness::tests![
    every_pattern_arrives_whole_in_every_wait,
    the_copies_of_each_transport_are_those_of_its_calls,
    options_take_effect,
    a_call_that_is_refused_makes_its_transport_unavailable,
];

const ALL: &str = "cma,scm-rights,vmsplice";

fn measured(words: &str) -> Vec<Case> {
    run(&format!("run {words} --trials 1 --format json")).exits(0).result().cases
}

/// Every byte is checked before anything is timed.
fn every_pattern_arrives_whole_in_every_wait() {
    let mut cases =
        measured(&format!("-t {ALL} -p latency,one-way,throughput -w all -s 16,256k -n 20"));
    assert_eq!(cases.len(), 3 * 2 * (3 + 2 + 2));
    cases.extend(measured(&format!("-t {ALL} -p fan-out --subscribers 2 -w block -s 64 -n 20")));
    for case in &cases {
        assert_eq!(case.status(), Status::Ok, "{case:?}");
        let carrier = &only(case).session.carrier;
        let both = (carrier.declared, carrier.found);
        assert_eq!(both, (Some(Carrier::Kernel), Carrier::Kernel), "{:?}", case.identity);
    }
}

/// One endpoint's calls of a kind per message, and the number of copies of the payload.
fn explained(words: &str, call: &str) -> (f64, f64) {
    let words = format!("explain {words} --trials 1 -d 30ms --format json");
    let document: Value = serde_json::from_str(&run(&words).exits(0).stdout).unwrap();
    let row = &document["rows"][0];
    let calls = row["ends"][0]["calls_per_message"].as_array().unwrap();
    let found = calls.iter().find(|found| found["name"] == call).unwrap_or_else(|| panic!("{row}"));
    let parts = row["parts"].as_array().unwrap();
    let copies = parts.iter().find(|part| part["part"] == "copies").unwrap();
    (found["done"].as_f64().unwrap(), copies["count"].as_f64().unwrap())
}

fn the_copies_of_each_transport_are_those_of_its_calls() {
    for (words, call, copies) in [
        ("cma -w spin -s 4k", "process_vm_readv", 1.0),
        ("cma -w block -s 4k", "process_vm_readv", 1.0),
        ("vmsplice -w spin -s 4k", "vmsplice", 1.0),
        ("scm-rights -w block -s 4k", "memfd_create", 2.0),
        ("scm-rights -w block -s 4k --set scm-rights.receive=map", "mmap", 1.0),
    ] {
        let (done, counted) = explained(words, call);
        assert!((done - 1.0).abs() < 0.05, "{words}: {done} of {call}");
        assert!((counted - copies).abs() < 0.1, "{words}: {counted} copies");
    }
}

fn options_take_effect() {
    let set = "--set cma.depth=2 --set scm-rights.receive=map --set scm-rights.send-buffer=4k \
               --set vmsplice.capacity=4k";
    let cases = measured(&format!("-t {ALL} -p latency,throughput -w all -s 16,64k -n 50 {set}"));
    for case in &cases {
        assert_eq!(case.status(), Status::Ok, "{case:?}");
        let configuration = &only(case).session.configuration;
        match &*case.identity.transport {
            "cma" => assert_eq!(configuration["depth"], "2 messages"),
            "vmsplice" => assert_eq!(configuration["capacity"], "4096 bytes"),
            _ => assert_eq!(case.identity.options["receive"], "map"),
        }
    }
}

fn a_call_that_is_refused_makes_its_transport_unavailable() -> Verdict {
    let steps = || vec![no_call(libc::SYS_process_vm_readv)];
    if let Some(skipped) = refused("no process_vm_readv", steps()) {
        return skipped;
    }
    let words = "run -t cma,pipe -w block -s 64 -n 20 --trials 1 --format json";
    let result = end(&mut confined(ipcmark(words), steps())).exits(1).result();
    for case in &result.cases {
        let reason = case.reason().unwrap_or_default();
        match &*case.identity.transport {
            "cma" => {
                assert_eq!(case.status(), Status::Unavailable, "{case:?}");
                assert!(reason.contains("process_vm_readv is refused"), "{reason}");
                assert!(reason.contains("SYS_PTRACE"), "{reason}");
            }
            _ => assert_eq!(case.status(), Status::Ok, "{case:?}"),
        }
    }
    Verdict::Holds
}
