//! Transports over io_uring: with its requests, with a kernel thread, and where the system refuses it.

use ipcmark_results::{Case, Status};
use ipcmark_transport::Carrier;

use crate::support::{
    Verdict,
    confined::{confined, little_locked_memory, no_call, no_call_as, ordinary_user, refused},
    end, ipcmark, only, run,
};

ipcmark_harness::tests![
    every_pattern_arrives_whole_in_every_wait,
    the_thread_of_the_kernel_is_one_of_the_process_and_costs_it_time,
    small_buffers_and_pipes_lose_nothing,
    buffers_that_cannot_be_locked_are_used_all_the_same,
    a_system_without_io_uring_makes_them_unavailable,
    a_ring_that_cannot_be_taken_makes_its_transport_unavailable,
];

const ALL: &str = "uring-uds,uring-pipe,uring-msg-ring";

fn measured(words: &str) -> Vec<Case> {
    run(&format!("run {words} --trials 1 --format json")).exits(0).result().cases
}

/// The reason why there is nothing to test here, if the system refuses io_uring to this user.
fn lacking() -> Option<Verdict> {
    let mut settings = [0_u8; 120];
    // SAFETY: the kernel fills in settings of this size; the ring that it makes is closed.
    let made = unsafe {
        let ring = libc::syscall(libc::SYS_io_uring_setup, 1, settings.as_mut_ptr());
        ring >= 0 && libc::close(ring as i32) == 0
    };
    let error = std::io::Error::last_os_error();
    (!made).then(|| Verdict::Skipped(format!("this system refuses io_uring: {error}")))
}

fn assert_carrier(case: &Case) {
    let carrier = &only(case).session.carrier;
    let expected = match &*case.identity.transport {
        "uring-msg-ring" => Carrier::SharedMemory,
        _ => Carrier::Kernel,
    };
    let both = (carrier.declared, carrier.found);
    assert_eq!(both, (Some(expected), expected), "{:?}", case.identity);
}

/// Every byte is checked before anything is timed.
fn every_pattern_arrives_whole_in_every_wait() -> Verdict {
    if let Some(skipped) = lacking() {
        return skipped;
    }
    let mut cases =
        measured(&format!("-t {ALL} -p latency,one-way,throughput -w all -s 16,256k -n 20"));
    cases.extend(measured(&format!("-t {ALL} -p fan-out --subscribers 2 -w all -s 64 -n 5")));
    for case in &cases {
        assert_eq!(case.status(), Status::Ok, "{case:?}");
        assert_carrier(case);
    }
    Verdict::Holds
}

fn the_thread_of_the_kernel_is_one_of_the_process_and_costs_it_time() -> Verdict {
    if let Some(skipped) = lacking() {
        return skipped;
    }
    let set = "--set uring-uds.sqpoll=on --set uring-pipe.sqpoll=on --set uring-msg-ring.sqpoll=on";
    let mut system_ns = 0;
    for case in measured(&format!("-t {ALL} -w all -s 64 -n 5 {set}")) {
        assert_eq!(case.status(), Status::Ok, "{case:?}");
        assert_eq!(case.identity.options["sqpoll"], "on");
        let session = &only(&case).session;
        let ring = session.configuration.get("ring");
        assert!(ring.is_none_or(|ring| ring.contains("polled by the kernel")), "{session:?}");
        for process in &session.processes {
            assert!(process.threads >= Some(2), "{process:?}");
            system_ns += process.system_ns;
        }
    }
    // The system counts it by ticks, and a short time of one process may have none.
    assert!(system_ns > 0, "none of them cost the system time");
    Verdict::Holds
}

fn small_buffers_and_pipes_lose_nothing() -> Verdict {
    if let Some(skipped) = lacking() {
        return skipped;
    }
    let set = "--set uring-uds.send-buffer=4k --set uring-pipe.capacity=4k \
               --set uring-msg-ring.capacity=200k";
    let cases = measured(&format!("-t {ALL} -p latency,throughput -w all -s 16,64k -n 50 {set}"));
    assert!(cases.iter().all(|case| case.status() == Status::Ok), "{cases:?}");
    Verdict::Holds
}

/// True for each row of one transport whose endpoints have registered their buffers.
fn registers(cases: &[Case]) -> Vec<bool> {
    let configuration = |case| &only(case).session.configuration;
    cases.iter().map(|case| configuration(case)["buffers"] == "registered").collect()
}

fn buffers_that_cannot_be_locked_are_used_all_the_same() -> Verdict {
    if let Some(skipped) = lacking() {
        return skipped;
    }
    let words = "run -t uring-pipe -w all -s 1M -n 20 --trials 1 --format json";
    assert_eq!(registers(&run(words).exits(0).result().cases), [true, true]);
    let steps = || vec![little_locked_memory(), ordinary_user()];
    if let Some(skipped) = refused("an ordinary user with little locked memory", steps()) {
        return skipped;
    }
    let result = end(&mut confined(ipcmark(words), steps())).exits(0).result();
    assert_eq!(registers(&result.cases), [false, false]);
    Verdict::Holds
}

/// A filter refuses a call as containers do; rows that need no io_uring are measured.
fn a_system_without_io_uring_makes_them_unavailable() -> Verdict {
    let calls = [
        ("io_uring_setup", libc::SYS_io_uring_setup, libc::EPERM),
        ("io_uring_setup", libc::SYS_io_uring_setup, libc::ENOSYS),
        ("io_uring_enter", libc::SYS_io_uring_enter, libc::EPERM),
        ("io_uring_register", libc::SYS_io_uring_register, libc::EACCES),
    ];
    if let Some(skipped) = refused("no io_uring_setup", vec![no_call(libc::SYS_io_uring_setup)]) {
        return skipped;
    }
    for (name, number, errno) in calls {
        let words = format!("run -t {ALL},pipe -w block -s 64 -n 20 --trials 1 --format json");
        let steps = vec![no_call_as(number, errno)];
        let result = end(&mut confined(ipcmark(&words), steps)).exits(1).result();
        for case in &result.cases {
            let reason = case.reason().unwrap_or_default();
            if &*case.identity.transport == "pipe" {
                assert_eq!(case.status(), Status::Ok, "{case:?}");
                continue;
            }
            assert_eq!(case.status(), Status::Unavailable, "{case:?}");
            assert!(reason.contains(&format!("{name} is refused: ")), "{reason}");
            assert!(reason.contains("seccomp"), "{reason}");
        }
    }
    Verdict::Holds
}

fn a_ring_that_cannot_be_taken_makes_its_transport_unavailable() -> Verdict {
    if let Some(skipped) = lacking() {
        return skipped;
    }
    let steps = || vec![no_call(libc::SYS_pidfd_getfd)];
    if let Some(skipped) = refused("no pidfd_getfd", steps()) {
        return skipped;
    }
    let words = format!("run -t {ALL} -w block -s 64 -n 20 --trials 1 --format json");
    let result = end(&mut confined(ipcmark(&words), steps())).exits(1).result();
    for case in &result.cases {
        if &*case.identity.transport != "uring-msg-ring" {
            assert_eq!(case.status(), Status::Ok, "{case:?}");
            continue;
        }
        let reason = case.reason().unwrap_or_default();
        assert_eq!(case.status(), Status::Unavailable, "{case:?}");
        assert!(reason.contains("pidfd_getfd is refused: "), "{reason}");
        assert!(reason.contains("SYS_PTRACE"), "{reason}");
    }
    Verdict::Holds
}
