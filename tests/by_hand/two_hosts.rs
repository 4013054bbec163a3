//! Runs over TCP, and between two networks.

use std::{fs, process::Command};

use ipcmark_results::{Carrier, Pattern, Role, Status};

use super::run_directory::{RunDirectory, free_address};
use crate::support::{
    IPCMARK, Running, Verdict, end, ipcmark_under, is_root, only, processes::await_that, works,
};

ipcmark_harness::tests![
    over_tcp_only_transports_that_cross_hosts_are_measured,
    a_stream_crosses_hosts_and_one_way_does_not,
    two_networks_with_delay_and_loss
];

fn over_tcp_only_transports_that_cross_hosts_are_measured() {
    let (place, address) = (RunDirectory::new(), free_address());
    let follower = Running::start(&mut place.at("follower", &address));
    let words =
        "leader -t tcp,udp,pipe -w block -s 64,1M -n 100 --trials 1 --touch all --format json";
    let result = end(&mut place.at(words, &address)).exits(1).result();
    follower.end().exits(0);
    assert!(result.distances.is_none(), "no cache line is shared between hosts");
    for case in &result.cases {
        let name = &case.identity.transport;
        if name == "pipe" {
            assert_eq!(case.status(), Status::Unsupported);
            assert!(case.reason().unwrap().contains("must be on one host"));
        } else {
            let trial = only(case);
            assert_eq!(trial.session.carrier.found, Carrier::Network, "{name}");
            let (process, end) = trial.session.end(Role::Follower(0)).expect("it reports");
            assert!(process.cpu_ns > 0 && end.received > 0, "{name}: {process:?}");
            assert!(trial.blocks.probe_before_ns.is_empty(), "{name}");
        }
    }
}

/// Two private networks, connected by a slow link that loses packets.
pub(super) struct Cable {
    names: [String; 2],
}

pub(super) const ADDRESSES: [&str; 2] = ["10.213.77.1", "10.213.77.2"];

impl Cable {
    fn lay() -> Result<Self, String> {
        let names = ["a", "b"].map(|end| format!("ipcmark-{}-{end}", std::process::id()));
        let cable = Self { names };
        let [a, b] = &cable.names;
        // Network names are files there; a private mount keeps ours away from others.
        fs::create_dir_all("/run/netns").map_err(|e| format!("/run/netns: {e}"))?;
        if ipcmark_harness::is_isolated() {
            run("mount", "-t tmpfs tmpfs /run/netns")?;
        }
        for name in &cable.names {
            run("ip", &format!("netns add {name}"))?;
        }
        run("ip", &format!("link add cable netns {a} type veth peer name cable netns {b}"))?;
        for (name, address) in cable.names.iter().zip(ADDRESSES) {
            run("ip", &format!("-n {name} addr add {address}/24 dev cable"))?;
            run("ip", &format!("-n {name} link set cable up"))?;
            // Cyclone DDS sends packets to itself to end its threads.
            run("ip", &format!("-n {name} link set lo up"))?;
            // A delay that grows with the message, because more kernels support it than a fixed
            // one.
            let slow = "qdisc add dev cable root tbf rate 20mbit burst 10kb latency 500ms";
            run("ip", &format!("netns exec {name} tc {slow}"))?;
            // By count and not randomly, so that every test loses some packets.
            let loss = "-A INPUT -p udp -m statistic --mode nth --every 61 --packet 0 -j DROP";
            run("ip", &format!("netns exec {name} iptables {loss}"))?;
        }
        // Before that, libraries ignore the interface.
        for name in &cable.names {
            let is_up = format!("netns exec {name} grep -q up /sys/class/net/cable/operstate");
            await_that("the cable is up", || run("ip", &is_up).ok());
        }
        Ok(cable)
    }

    /// `ipcmark` in one of the networks.
    pub(super) fn inside(&self, end: usize, words: &str) -> Command {
        ipcmark_under("ip", &["netns", "exec", &self.names[end]], words)
    }

    /// The same, as one side of a run by hand.
    fn within(&self, end: usize, place: &RunDirectory, words: &str) -> Command {
        let mut command = self.inside(end, words);
        let flag = if words.starts_with("leader") { "--listen" } else { "--connect" };
        command.args([flag, &format!("{}:7100", ADDRESSES[0]), "--secret"]);
        command.arg(place.path("secret"));
        command
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = run("ip", &format!("netns del {name}"));
        }
    }
}

fn run(program: &str, words: &str) -> Result<(), String> {
    let output = Command::new(program).args(words.split(' ')).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("{program}: {error}")),
    }
}

/// The link, or the reason why there is none.
pub(super) fn laid() -> Result<Cable, Verdict> {
    if !is_root() {
        return Err(Verdict::Skipped("only root may make networks".into()));
    }
    if !works("iptables", &["--version"]) || !works("tc", &["-V"]) {
        return Err(Verdict::Skipped("there is no iptables, or no tc".into()));
    }
    Cable::lay().map_err(|why| Verdict::Skipped(format!("this kernel has no such cable: {why}")))
}

/// Times of the two clocks are never compared.
fn a_stream_crosses_hosts_and_one_way_does_not() -> Verdict {
    let cable = match laid() {
        Ok(cable) => cable,
        Err(skipped) => return skipped,
    };
    let place = RunDirectory::new();
    let follower = Running::start(&mut cable.within(1, &place, "follower"));
    let words = "leader -t tcp,udp -p throughput,one-way -w block -s 1000 -n 500 --trials 1 \
                 --format json";
    let result = end(&mut cable.within(0, &place, words)).result();
    follower.end().exits(0);
    assert_eq!(result.cases.len(), 4);
    for case in &result.cases {
        let name = format!("{} {}", case.identity.transport, case.identity.pattern);
        if case.identity.pattern == Pattern::OneWay {
            let reason = case.reason().unwrap_or_default();
            assert!(reason.contains("clocks of two hosts"), "{name}: {reason}");
            continue;
        }
        let (trial, losses) = (only(case), &only(case).session.losses);
        assert_eq!((losses.sent, losses.received + losses.lost), (500, 500), "{name}");
        assert!(trial.stream.as_ref().is_some_and(|parts| parts.depth.is_none()), "{name}");
        assert!(losses.lost == 0 || case.identity.transport == "udp", "{name}: {losses:?}");
    }
    Verdict::Holds
}

fn two_networks_with_delay_and_loss() -> Verdict {
    let cable = match laid() {
        Ok(cable) => cable,
        Err(skipped) => return skipped,
    };
    let place = RunDirectory::new();
    let follower = Running::start(&mut cable.within(1, &place, "follower"));
    let rows = "tcp,udp,zeromq-tcp,nng-tcp,fastdds-udp,cyclonedds";
    let words = format!("leader -t {rows} -w block -s 1000,16k -n 100 --trials 1 --format json");
    let result = end(&mut cable.within(0, &place, &words)).result();
    follower.end().exits(0);
    let mut lost = 0;
    for case in result.cases.iter().filter(|case| case.status() != Status::Unavailable) {
        let name = format!("{} {}", case.identity.transport, case.identity.payload_bytes);
        let trial = only(case);
        let (times, losses) = (&trial.times_ns, &trial.session.losses);
        assert_eq!(trial.session.carrier.found, Carrier::Network, "{name}");
        assert!(times.count <= 100 && losses.sent >= 100, "{name}: {losses:?}");
        if case.identity.payload_bytes == 16_384 {
            // A physical lower bound: 6 KiB beyond the burst at 20 Mbit/s, in both directions.
            assert!(times.p50 > 4_800_000, "{name}: {times:?}");
        }
        if case.identity.transport == "udp" {
            lost += losses.lost;
            assert!(trial.lost_wait_ns >= losses.lost * 100_000_000, "{name}");
        }
    }
    assert!(lost > 0, "of 200 round trips, each of two datagrams or more, none was lost");
    assert!(result.cases.iter().any(|case| case.status() == Status::Ok), "{IPCMARK} measured");
    Verdict::Holds
}
