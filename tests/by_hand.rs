//! Runs by hand: a leader and followers started by themselves, on one machine and between two
//! networks; what becomes of them when one dies, and of strangers.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::support::{
    IPCMARK, Running, Verdict, end, ipcmark, ipcmark_under, is_root,
    processes::{await_listener, await_named, await_that, descendants},
    scene::{FOLLOWER, LEADER, Scene},
    traces, works,
};
use ipcmark_results::{RunResult, Status};
use libc::{SIGCONT, SIGKILL, SIGTERM};

ipcmark_harness::tests![
    everything_of_the_system_is_measured_by_hand,
    the_order_of_starting_does_not_matter,
    several_followers_come_one_by_one,
    a_follower_that_only_listens_answers_nothing_that_is_timed,
    where_nobody_would_answer_nothing_is_measured,
    a_follower_for_ever_serves_run_after_run,
    a_killed_follower_costs_one_row_and_another_takes_its_place,
    a_killed_leader_leaves_nothing,
    two_leaders_at_one_socket_are_told_apart,
    strangers_at_the_socket_do_no_harm,
    over_tcp_only_what_crosses_hosts_is_measured,
    strangers_at_the_address_do_no_harm_and_learn_nothing,
    what_is_wrong_is_said_before_anything_starts,
    two_networks_with_delay_and_loss,
];

/// A place for the socket and the secret of a run.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        place.write("secret", "a secret of more than sixteen characters\n", 0o600);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str, mode: u32) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// `ipcmark` with these words, at this place's socket.
    fn here(&self, words: &str) -> Command {
        let mut command = ipcmark(words);
        command.arg("--socket").arg(self.path("socket"));
        command
    }

    /// The same at an address, with this place's secret.
    fn at(&self, words: &str, address: &str) -> Command {
        let mut command = ipcmark(words);
        let flag = if words.starts_with("leader") { "--listen" } else { "--connect" };
        command.args([flag, address, "--secret"]).arg(self.path("secret"));
        command
    }
}

/// An address that is free.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn assert_all(result: &RunResult, status: Status) {
    for case in &result.cases {
        assert_eq!(case.status, status, "{} {}: {:?}", case.transport, case.wait, case.reason);
    }
}

fn everything_of_the_system_is_measured_by_hand() {
    let place = Place::new();
    let follower = Running::start(&mut place.here("follower"));
    let leader = end(&mut place.here("leader -t os -s 64k -n 100 --touch all --format json"));
    let result = leader.exits(0).result();
    assert_all(&result, Status::Ok);
    assert!(result.floor.is_some(), "both are on one machine");
    for case in &result.cases {
        let path = &case.figures.as_ref().unwrap().path;
        assert_eq!(path.declared.as_ref(), Some(&path.carrier), "{}", case.transport);
    }
    let words = follower.end().exits(0).stderr;
    assert!(words.contains("a leader is there") && words.contains("sessions"), "{words}");
    assert_eq!(traces::names(&result.run.id), [""; 0]);
    assert!(!place.path("socket").exists(), "the socket is gone with the leader");
}

fn the_order_of_starting_does_not_matter() {
    let place = Place::new();
    let words = "leader -t pipe -w spin -s 64 -n 100 --format json";
    let leader = Running::start(&mut place.here(words));
    leader.await_words("waiting for a follower");
    await_listener(&place.path("socket"));
    let follower = Running::start(&mut place.here("follower"));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    follower.end().exits(0);
}

/// The system's own transports have one follower each, so Fast DDS is asked.
fn several_followers_come_one_by_one() -> Verdict {
    let place = Place::new();
    let words = "leader -t fastdds-shm,pipe -w block -s 64 -n 50 --subscribers 3 --format json";
    let leader = Running::start(&mut place.here(words));
    let followers = [0, 1, 2].map(|_| {
        let follower = Running::start(&mut place.here("follower"));
        follower.await_words("a leader is there");
        follower
    });
    let result = leader.end().exits(1).result();
    for follower in followers {
        follower.end();
    }
    let case = |name| result.cases.iter().find(|case| case.transport == name).unwrap();
    assert_eq!(case("pipe").status, Status::Unsupported);
    let several = case("fastdds-shm");
    if several.status == Status::Unavailable {
        return Verdict::Skipped(format!("fastdds-shm: {:?}", several.reason));
    }
    let figures = several.figures.as_ref().unwrap_or_else(|| panic!("{:?}", several.reason));
    let answers: Vec<u64> = figures.per_subscriber.iter().map(|one| one.answers).collect();
    assert_eq!(answers, [50, 50, 50]);
    Verdict::Holds
}

/// It comes first, and is the last of them all the same.
fn a_follower_that_only_listens_answers_nothing_that_is_timed() -> Verdict {
    let place = Place::new();
    let listening = Running::start(&mut place.here("latency-test subscriber --echo=false"));
    let words = "leader -t fastdds-shm -w block -s 64 -n 50 --subscribers 2 --format json";
    let leader = Running::start(&mut place.here(words));
    listening.await_words("a leader is there");
    let answering = Running::start(&mut place.here("follower"));
    let result = leader.end().result();
    let case = &result.cases[0];
    if case.status == Status::Unavailable {
        return Verdict::Skipped(format!("fastdds-shm: {:?}", case.reason));
    }
    assert_all(&result, Status::Ok);
    assert_eq!(case.silent_subscribers, 1);
    [listening, answering].into_iter().for_each(|follower| _ = follower.end().exits(0));
    Verdict::Holds
}

fn where_nobody_would_answer_nothing_is_measured() {
    let (place, address) = (Place::new(), free_address());
    let follower = Running::start(&mut place.at("follower --silent", &address));
    let leader = end(&mut place.at("leader -t tcp -s 64 -n 50", &address)).exits(1);
    assert!(leader.stderr.contains("only listens"), "{}", leader.stderr);
    assert!(leader.stdout.is_empty(), "{}", leader.stdout);
    follower.end().exits(1);
}

fn a_follower_for_ever_serves_run_after_run() {
    let place = Place::new();
    let follower = Running::start(&mut place.here("follower --forever"));
    for wait in ["spin", "block"] {
        let words = format!("leader -t pipe,tcp -w {wait} -s 64 -n 100 --format json");
        assert_all(&end(&mut place.here(&words)).exits(0).result(), Status::Ok);
    }
    // SAFETY: it is this test's own child.
    unsafe { libc::kill(follower.id(), SIGTERM) };
    follower.end().exits(128 + SIGTERM);
}

fn a_killed_follower_costs_one_row_and_another_takes_its_place() {
    for victim in [FOLLOWER, "ipcmark"] {
        let place = Place::new();
        // The first to come serves; the other one waits in line.
        let followers = [(); 2].map(|()| Running::start(&mut place.here("follower --forever")));
        let words = "leader -t pipe,fifo,tcp -w spin -s 64";
        let (scene, leader) =
            Scene::held_with(|| place.here(words), Duration::from_secs(1), LEADER);
        let serves = |follower: &&Running| {
            descendants(follower.id()).iter().any(|process| process.name == FOLLOWER)
        };
        let serving = || followers.iter().find(serves).map(Running::id);
        let serving = await_that("one of them serves", serving);
        match victim {
            // SAFETY: it is this test's own child.
            "ipcmark" => _ = unsafe { libc::kill(serving, SIGKILL) },
            name => await_named(serving, name).remove(0).send(SIGKILL),
        }
        leader.send(SIGCONT);
        let (ended, result) = scene.end();
        ended.exits(1);
        let failed: Vec<_> =
            result.cases.iter().filter(|case| case.status == Status::Failed).collect();
        assert_eq!(failed.len(), 1, "{victim}: {failed:?}");
        let reason = failed[0].reason.as_ref().unwrap();
        assert!(reason.contains("follower"), "{victim}: {reason}");
    }
}

fn a_killed_leader_leaves_nothing() {
    let place = Place::new();
    let follower = Running::start(&mut place.here("follower"));
    let leader = Running::start(&mut place.here("leader -t shm-ring -s 64 -d 1h"));
    await_named(follower.id(), FOLLOWER);
    // SAFETY: it is this test's own child.
    unsafe { libc::kill(leader.id(), SIGKILL) };
    drop(leader);
    let ended = follower.end();
    assert!(ended.stderr.contains("the leader has ended"), "{}", ended.stderr);
    // The socket that it left is no hindrance to the next.
    let follower = Running::start(&mut place.here("follower"));
    let words = "leader -t pipe -w spin -s 64 -n 100 --format json";
    assert_all(&end(&mut place.here(words)).exits(0).result(), Status::Ok);
    follower.end().exits(0);
}

fn two_leaders_at_one_socket_are_told_apart() {
    let place = Place::new();
    let words = "leader -t pipe -w spin -s 64 -n 100 --format json";
    let first = Running::start(&mut place.here(words));
    await_listener(&place.path("socket"));
    let second = end(&mut place.here(words)).exits(1);
    assert!(second.stderr.contains("another leader waits there"), "{}", second.stderr);
    let follower = Running::start(&mut place.here("follower"));
    first.end().exits(0);
    follower.end().exits(0);
}

fn strangers_at_the_socket_do_no_harm() {
    let place = Place::new();
    let words = "leader -t pipe -w spin -s 64 -n 100 --format json";
    let leader = Running::start(&mut place.here(words));
    await_listener(&place.path("socket"));
    let strangers: Vec<_> = ["", "GET / HTTP/1.1", "\0{\"ipcmark\":\"99.0\"}", "\0{}", "\0[[[["]
        .iter()
        .flat_map(|text| (0..10).map(move |_| *text))
        .map(|text| stranger(&place.path("socket"), text.as_bytes()))
        .collect();
    leader.await_words("who is no follower");
    let follower = Running::start(&mut place.here("follower"));
    let ended = leader.end().exits(0);
    assert!(ended.stderr.lines().count() < 12, "{}", ended.stderr);
    follower.end().exits(0);
    drop(strangers);
}

/// Connects to a Unix socket, says something unless it is nothing, and stays.
fn stranger(path: &Path, words: &[u8]) -> std::os::fd::OwnedFd {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    // SAFETY: plain system calls; the address is a valid one of its length.
    unsafe {
        let fd = libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0);
        let fd = OwnedFd::from_raw_fd(fd);
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX as u16;
        let bytes = path.as_os_str().as_encoded_bytes();
        for (to, byte) in address.sun_path.iter_mut().zip(bytes) {
            *to = *byte as _;
        }
        let len = std::mem::size_of_val(&address) as u32;
        libc::connect(fd.as_raw_fd(), (&raw const address).cast(), len);
        if !words.is_empty() {
            let (at, len) = (words.as_ptr().cast(), words.len());
            libc::send(fd.as_raw_fd(), at, len, libc::MSG_NOSIGNAL);
        }
        fd
    }
}

fn over_tcp_only_what_crosses_hosts_is_measured() {
    let (place, address) = (Place::new(), free_address());
    let follower = Running::start(&mut place.at("follower", &address));
    let words = "leader -t tcp,udp,pipe -w block -s 64,1M -n 100 --touch all --format json";
    let result = end(&mut place.at(words, &address)).exits(1).result();
    follower.end().exits(0);
    assert!(result.floor.is_none(), "no cache line is shared between hosts");
    for case in &result.cases {
        let name = &case.transport;
        if name == "pipe" {
            assert_eq!(case.status, Status::Unsupported);
            assert!(case.reason.as_ref().unwrap().contains("must be on one host"));
        } else {
            let figures = case.figures.as_ref().unwrap_or_else(|| panic!("{:?}", case.reason));
            assert_eq!(figures.path.carrier, "network", "{name}");
            assert!(figures.cpu_ns_per_message.follower > 0.0, "{name}");
        }
    }
}

fn strangers_at_the_address_do_no_harm_and_learn_nothing() {
    let (place, address) = (Place::new(), free_address());
    let words = "leader -t tcp -w block -s 64 -n 100 --format json";
    let leader = Running::start(&mut place.at(words, &address));
    let connect = || await_that("the leader listens", || TcpStream::connect(&address).ok());
    // Half-open ones, more than are heard at once, and garbage.
    let silent: Vec<TcpStream> = (0..50).map(|_| connect()).collect();
    let garbage: [&[u8]; 4] = [b"GET / HTTP/1.1\r\n\r\n", &[0xff; 4000], &[0, 48], &[0; 70]];
    for bytes in garbage {
        let mut stream = connect();
        let _ = stream.write_all(bytes);
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(answer, b"", "a stranger is told nothing");
    }
    let other = Place::new();
    other.write("secret", "another secret of many characters", 0o600);
    let wrong = end(&mut other.at("follower", &address)).exits(1);
    assert!(wrong.stderr.contains("the same secret"), "{}", wrong.stderr);
    let follower = Running::start(&mut place.at("follower", &address));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    follower.end().exits(0);
    drop(silent);
}

fn what_is_wrong_is_said_before_anything_starts() {
    let place = Place::new();
    place.write("open", "a secret that everybody may read", 0o644);
    place.write("short", "short", 0o600);
    let secret = |name: &str| place.path(name).display().to_string();
    for (words, reason) in [
        ("leader --listen 127.0.0.1:7".to_string(), "--secret"),
        (format!("leader --listen nowhere --secret {}", secret("secret")), "HOST:PORT"),
        (format!("leader --listen 127.0.0.1:0 --secret {}", secret("open")), "chmod 600"),
        (format!("leader --listen 127.0.0.1:0 --secret {}", secret("short")), "fewer than 16"),
        (format!("follower --connect 127.0.0.1:1 --secret {}", secret("none")), "openssl rand"),
        ("follower --connect 127.0.0.1:1".to_string(), "--secret"),
        ("leader -t nothing".to_string(), "no transport 'nothing'"),
        ("follower --cpu 3".to_string(), "--connect"),
    ] {
        let ended = end(&mut ipcmark(&words)).exits(2);
        assert!(ended.stderr.contains(reason), "{words}: {}", ended.stderr);
    }
    let long = place.path(&"x".repeat(120));
    let ended = end(ipcmark("leader -t pipe").arg("--socket").arg(&long)).exits(1);
    assert!(ended.stderr.contains("cannot listen at the socket"), "{}", ended.stderr);
    // What is no socket is not removed for one.
    place.write("file", "precious", 0o600);
    symlink(place.path("file"), place.path("link")).unwrap();
    for name in ["file", "link"] {
        let ended = end(ipcmark("leader -t pipe").arg("--socket").arg(place.path(name))).exits(1);
        assert!(ended.stderr.contains("cannot listen at"), "{}", ended.stderr);
    }
    assert_eq!(fs::read_to_string(place.path("file")).unwrap(), "precious");
}

/// Two networks of their own, joined by a cable that is slow and loses packets.
struct Cable {
    names: [String; 2],
}

const ADDRESSES: [&str; 2] = ["10.213.77.1", "10.213.77.2"];

impl Cable {
    fn lay() -> Result<Self, String> {
        let names = ["a", "b"].map(|end| format!("ipcmark-{}-{end}", std::process::id()));
        let cable = Self { names };
        let [a, b] = &cable.names;
        // The names of networks are files there; ours are in nobody else's way.
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
            // A delay that grows with the message, which more kernels can add than a fixed one.
            let slow = "qdisc add dev cable root tbf rate 20mbit burst 10kb latency 500ms";
            run("ip", &format!("netns exec {name} tc {slow}"))?;
            // By count and not by chance, so that some are lost every time.
            let loss = "-A INPUT -p udp -m statistic --mode nth --every 61 --packet 0 -j DROP";
            run("ip", &format!("netns exec {name} iptables {loss}"))?;
        }
        // Until then libraries do not count it among the interfaces.
        for name in &cable.names {
            let is_up = format!("netns exec {name} grep -q up /sys/class/net/cable/operstate");
            await_that("the cable is up", || run("ip", &is_up).ok());
        }
        Ok(cable)
    }

    /// `ipcmark` in one of the networks.
    fn within(&self, end: usize, place: &Place, words: &str) -> Command {
        let mut command = ipcmark_under("ip", &["netns", "exec", &self.names[end]], words);
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

fn two_networks_with_delay_and_loss() -> Verdict {
    if !is_root() {
        return Verdict::Skipped("only root may make networks".into());
    }
    if !works("iptables", &["--version"]) || !works("tc", &["-V"]) {
        return Verdict::Skipped("there is no iptables, or no tc".into());
    }
    let cable = match Cable::lay() {
        Ok(cable) => cable,
        Err(why) => return Verdict::Skipped(format!("this kernel has no such cable: {why}")),
    };
    let place = Place::new();
    let follower = Running::start(&mut cable.within(1, &place, "follower"));
    let rows = "tcp,udp,zeromq-tcp,nng-tcp,fastdds-udp,cyclonedds";
    let words = format!("leader -t {rows} -w block -s 1000,16k -n 100 --format json");
    let result = end(&mut cable.within(0, &place, &words)).result();
    follower.end().exits(0);
    let mut lost = 0;
    for case in result.cases.iter().filter(|case| case.status != Status::Unavailable) {
        let name = format!("{} {}", case.transport, case.payload_bytes);
        let figures = case.figures.as_ref().unwrap_or_else(|| panic!("{name}: {:?}", case.reason));
        assert_eq!(figures.path.carrier, "network", "{name}");
        assert_eq!(figures.round_trips + figures.lost, 100, "{name}");
        if case.payload_bytes == 16_384 {
            // A lower bound of nature's: there and back, 6 KiB beyond the burst at 20 Mbit/s.
            assert!(figures.round_trip_ns.p50 > 4_800_000, "{name}: {:?}", figures.round_trip_ns);
        }
        if case.transport == "udp" {
            lost += figures.lost;
            assert!(figures.lost_wait_ns >= figures.lost * 100_000_000, "{name}");
        }
    }
    assert!(lost > 0, "of 200 round trips, each of two datagrams or more, none was lost");
    assert!(result.cases.iter().any(|case| case.status == Status::Ok), "{IPCMARK} measured");
    Verdict::Holds
}
