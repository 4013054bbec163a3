//! Sockets that not every kernel has: `vsock` within the machine, and `xdp`.

use std::fs;

use ipcmark_results::Status;
use ipcmark_transport::Carrier;

use crate::support::{
    Verdict,
    confined::{confined, no_call, ordinary_user, refused},
    end, ipcmark,
    listed::{self, available, missing},
    run,
    scene::{FOLLOWER, LEADER},
};

ipcmark_harness::tests![
    every_pattern_arrives_whole_in_every_wait,
    killed_ends_cost_their_rows,
    messages_are_carried_by_the_kernel,
    without_a_sandbox_no_interface_stays,
    missing_kernel_support_is_named,
    without_privileges_xdp_is_unavailable,
];

/// Those of the two that can run here.
fn holds(check: impl FnOnce(&[String])) -> Verdict {
    let mut rows = available();
    rows.retain(|row| row == "vsock" || row == "xdp");
    if rows.is_empty() {
        return Verdict::Skipped("this system has neither".into());
    }
    check(&rows);
    Verdict::Holds
}

fn every_pattern_arrives_whole_in_every_wait() -> Verdict {
    holds(|rows| {
        listed::streams_lose_nothing(rows);
        listed::several_follow(rows);
    })
}

fn killed_ends_cost_their_rows() -> Verdict {
    holds(|rows| listed::killed_ends_cost_their_rows(rows, &["spin", "block"], &[LEADER, FOLLOWER]))
}

fn messages_are_carried_by_the_kernel() -> Verdict {
    holds(|rows| {
        listed::take_their_carriers(rows, "", &[], |_| Carrier::Kernel);
    })
}

/// The interfaces of this namespace.
fn interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/self/net/dev").unwrap();
    let names = table.lines().filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

fn without_a_sandbox_no_interface_stays() -> Verdict {
    holds(|rows| {
        let before = interfaces();
        let words = format!("run -t {} -s 64,1M -d 5ms --sandbox off", rows.join(","));
        run(&words).exits(0);
        assert_eq!(interfaces(), before);
    })
}

fn missing_kernel_support_is_named() -> Verdict {
    let Some(reason) = missing("vsock") else {
        return Verdict::Skipped("this kernel has vsock sockets within the machine".into());
    };
    assert!(reason.contains("vsock") && !reason.contains("null"), "{reason}");
    let ended = run("run -t vsock,pipe -s 64 -w block -n 5 --trials 1").exits(1);
    for words in ["unavailable", "modprobe vsock_loopback"] {
        let found = ended.stdout.contains(words) || ended.stdout.contains("seccomp");
        assert!(found, "no '{words}' in: {}", ended.stdout);
    }
    Verdict::Holds
}

fn without_privileges_xdp_is_unavailable() -> Verdict {
    let words = "run -t xdp,pipe -w block -s 64 -n 5 --trials 1 --format json";
    for step in [ordinary_user as fn() -> _, || no_call(libc::SYS_bpf)] {
        if let Some(skipped) = refused("fewer rights", vec![step()]) {
            return skipped;
        }
        let result = end(&mut confined(ipcmark(words), vec![step()])).exits(1).result();
        let [pipe, xdp] = &result.cases[..] else { panic!("{:?}", result.cases) };
        let (pipe, xdp) =
            if &*pipe.identity.transport == "pipe" { (pipe, xdp) } else { (xdp, pipe) };
        assert_eq!((pipe.status(), xdp.status()), (Status::Ok, Status::Unavailable));
        let reason = xdp.reason().unwrap_or_default();
        assert!(reason.contains("XDP program") && reason.contains("CAP_BPF"), "{reason}");
    }
    Verdict::Holds
}
