//! The promise of `fastdds-secure`, checked on the loopback interface: messages cannot be read there.
//! `crates/abi/tests/fastdds.rs` shows that a peer without certificates never matches.

use std::{
    fs, io, mem,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::support::{Verdict, is_root, listed, run};
use ipcmark_results::Status;

ipcmark_harness::tests![
    certificates_of_latency_test_authenticate_both_ends,
    a_message_cannot_be_read_on_the_loopback_interface,
];

/// Makes certificates under LatencyTest's names: an authority, and endpoints that it or a stranger certifies.
const CERTIFICATES: &str = r#"
cd "$1"
authority() {
    openssl req -x509 -newkey rsa:2048 -nodes -keyout $1-key.pem -days 2 -subj "/C=ES/CN=$1" -out $1.pem
}
certify() {
    openssl req -newkey rsa:2048 -nodes -keyout main$1key.pem -out request \
        -subj "/C=ES/O=R&D/CN=main $1/emailAddress=$1@example.org"
    openssl x509 -req -in request -CA $2.pem -CAkey $2-key.pem -CAcreateserial -days 2 \
        -out main$1cert.pem
}
authority maincacert
authority stranger
certify pub maincacert
certify sub $2
"#;

fn certificates_of_latency_test_authenticate_both_ends() -> Verdict {
    if let Some(reason) = listed::missing("fastdds-secure") {
        return Verdict::Skipped(format!("fastdds-secure: {reason}"));
    }
    for (authority, status) in [("maincacert", 0), ("stranger", 1)] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().to_str().expect("a path");
        let arguments = ["-euc", CERTIFICATES, "sh", path, authority];
        let made = Command::new("sh").args(arguments).output().expect("openssl runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(directory.path().join("payloads"), "16;64").expect("a file");
        let words = format!("--security=true --certs={path} --file={path}/payloads --samples=20");
        let ended = run(&format!("latency-test both {words}")).exits(status);
        assert_eq!(
            ended.stdout.contains("      16,      20,"),
            status == 0,
            "{authority}: {}",
            ended.stdout
        );
    }
    Verdict::Holds
}

/// With `--touch all` a message is one word repeated. This many bytes of it in a row mean that a packet shows the
/// message.
const READABLE: usize = 400;

fn a_message_cannot_be_read_on_the_loopback_interface() -> Verdict {
    if !is_root() {
        return Verdict::Skipped("only root may make a network and watch it".into());
    }
    if !ipcmark_harness::is_isolated() {
        return Verdict::Skipped("others speak on the loopback interface too".into());
    }
    for (transport, expected) in [("fastdds-udp", true), ("fastdds-secure", false)] {
        if let Some(reason) = listed::missing(transport) {
            return Verdict::Skipped(format!("{transport}: {reason}"));
        }
        let seen = watch(|| measure(transport));
        assert!(seen.packets > 300, "{transport}: {} packets were seen", seen.packets);
        assert_eq!(seen.readable > 0, expected, "{transport}: {} are readable", seen.readable);
    }
    Verdict::Holds
}

fn measure(transport: &str) {
    let words = "-s 1000 -n 400 -w block --touch all --sandbox off --format json";
    let result = run(&format!("run -t {transport} {words}")).exits(0).result();
    assert_eq!(result.cases[0].status(), Status::Ok, "{:?}", result.cases[0].reason());
}

#[derive(Default)]
struct Seen {
    packets: usize,
    readable: usize,
}

/// The packets on the loopback interface during `work`.
fn watch(work: impl FnOnce()) -> Seen {
    let socket = packet_socket().expect("a packet socket");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| listen(&socket, &over));
        work();
        over.store(true, Ordering::Release);
        watcher.join().expect("the watcher ends")
    })
}

fn listen(socket: &OwnedFd, over: &AtomicBool) -> Seen {
    let mut seen = Seen::default();
    let mut packet = vec![0_u8; 1 << 17];
    loop {
        // Reads every packet that arrived before the end; the socket's timeout ends the loop.
        let was_over = over.load(Ordering::Acquire);
        // SAFETY: the buffer is valid for its length.
        let len =
            unsafe { libc::recv(socket.as_raw_fd(), packet.as_mut_ptr().cast(), packet.len(), 0) };
        match usize::try_from(len) {
            Ok(len) => {
                seen.packets += 1;
                seen.readable += usize::from(is_readable(&packet[..len]));
            }
            Err(_) if was_over => return seen,
            Err(_) => {}
        }
    }
}

/// True if the packet repeats a word that is not all zeros.
fn is_readable(packet: &[u8]) -> bool {
    let mut repeated = 0;
    for (at, pair) in packet.windows(9).enumerate() {
        repeated = if pair[0] == pair[8] { repeated + 1 } else { 0 };
        if repeated >= READABLE && packet[at + 1..at + 9].iter().any(|byte| *byte != 0) {
            return true;
        }
    }
    false
}

fn packet_socket() -> io::Result<OwnedFd> {
    let all = u16::to_be(libc::ETH_P_ALL as u16);
    // SAFETY: plain system calls; addresses and lengths match, and nobody else owns the new descriptor.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, all.into());
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(fd);
        let mut address: libc::sockaddr_ll = mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = all;
        address.sll_ifindex = libc::if_nametoindex(c"lo".as_ptr()) as i32;
        let len = mem::size_of_val(&address) as u32;
        if libc::bind(fd, (&raw const address).cast(), len) != 0 {
            return Err(io::Error::last_os_error());
        }
        let timeout = libc::timeval { tv_sec: 0, tv_usec: 100_000 };
        set(fd, libc::SO_RCVTIMEO, &timeout)?;
        set(fd, libc::SO_RCVBUFFORCE, &(64_i32 << 20))?;
        Ok(socket)
    }
}

fn set<T>(fd: i32, option: i32, value: &T) -> io::Result<()> {
    let (value, len) = ((&raw const *value).cast(), mem::size_of::<T>() as u32);
    // SAFETY: the value is valid for its length.
    let result = unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, value, len) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
