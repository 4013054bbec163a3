//! Bare loops: two forked processes that make only the system calls, with one clock reading per
//! round trip, as in the engine.

use std::{hint::spin_loop, process::exit, time::Duration};

use ipcmark_transport::Wait;

pub(crate) const PAYLOAD: usize = 64;
const TIME: Duration = Duration::from_millis(200);

/// A mechanism with its two system calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Pipe,
    UdsStream,
    Tcp,
    Vsock,
    PosixMq,
    SysvMq,
}

impl Mechanism {
    pub(crate) const ALL: &[Mechanism] = &[
        Mechanism::Pipe,
        Mechanism::UdsStream,
        Mechanism::Tcp,
        Mechanism::Vsock,
        Mechanism::PosixMq,
        Mechanism::SysvMq,
    ];

    /// The transport's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mechanism::Pipe => "pipe",
            Mechanism::UdsStream => "uds-stream",
            Mechanism::Tcp => "tcp",
            Mechanism::Vsock => "vsock",
            Mechanism::PosixMq => "posix-mq",
            Mechanism::SysvMq => "sysv-mq",
        }
    }
}

/// The descriptors of each side, as (write to, read from): the follower's are the reverse of the
/// leader's.
pub(crate) struct DescriptorPair {
    pub leader: (i32, i32),
    pub follower: (i32, i32),
}

/// The median round trip through a bare loop, in ns.
pub(crate) fn round_trip_p50_ns(mechanism: Mechanism, wait: Wait) -> f64 {
    let flags = if wait == Wait::Spin { libc::O_NONBLOCK } else { 0 };
    match mechanism {
        Mechanism::Pipe => run(pipes(flags), write, read),
        Mechanism::UdsStream => run(sockets(flags), send, recv),
        Mechanism::Tcp => run(connection(flags), send, recv),
        Mechanism::Vsock => run(vsock_connection(flags), send, recv),
        Mechanism::PosixMq => run(message_queues(flags), mq_send, mq_receive),
        Mechanism::SysvMq => {
            let no_wait = if wait == Wait::Spin { libc::IPC_NOWAIT } else { 0 };
            let ways = system_v_queues();
            let (a, b) = ways.leader;
            let p50 = run(
                ways,
                |queue, bytes| {
                    let at = bytes.as_ptr().cast();
                    // SAFETY: the buffer has a type word in front of its payload.
                    unsafe { libc::msgsnd(queue, at, bytes.len() - 8, no_wait) == 0 }
                },
                |queue, bytes| {
                    let at = bytes.as_mut_ptr().cast();
                    // SAFETY: as above.
                    unsafe { libc::msgrcv(queue, at, bytes.len() - 8, 0, no_wait) > 0 }
                },
            );
            // SAFETY: removes the two queues that were made above.
            unsafe {
                libc::msgctl(a, libc::IPC_RMID, std::ptr::null_mut());
                libc::msgctl(b, libc::IPC_RMID, std::ptr::null_mut());
            }
            p50
        }
    }
}

pub(crate) fn run(
    ways: DescriptorPair,
    send: impl Fn(i32, &[u8]) -> bool,
    receive: impl Fn(i32, &mut [u8]) -> bool,
) -> f64 {
    // SAFETY: this process has one thread, and the child only makes the loop's own calls.
    match unsafe { libc::fork() } {
        0 => {
            pin(1);
            follow(ways.follower, send, receive)
        }
        follower => {
            pin(0);
            let p50 = lead(ways.leader, send, receive);
            // SAFETY: kills and reaps the child, and closes the leader's own descriptors. System V
            // queue ids are not descriptors; closing them fails harmlessly.
            unsafe {
                libc::kill(follower, libc::SIGKILL);
                libc::waitpid(follower, std::ptr::null_mut(), 0);
                unpin();
            }
            p50
        }
    }
}

fn lead(
    (out, back): (i32, i32),
    send: impl Fn(i32, &[u8]) -> bool,
    receive: impl Fn(i32, &mut [u8]) -> bool,
) -> f64 {
    let mut message = [1_u8; PAYLOAD + 8];
    let mut histogram = ipcmark_results::new_histogram();
    let begin = now_ns();
    let warm = begin + TIME.as_nanos() as u64 / 10;
    let until = begin + TIME.as_nanos() as u64 * 3 / 4;
    let mut start = begin;
    while start < until {
        while !send(out, &message) {
            spin_loop();
        }
        while !receive(back, &mut message) {
            spin_loop();
        }
        let end = now_ns();
        if start > warm {
            histogram.saturating_record(end - start);
        }
        start = end;
    }
    histogram.value_at_quantile(0.5) as f64
}

fn follow(
    (out, back): (i32, i32),
    send: impl Fn(i32, &[u8]) -> bool,
    receive: impl Fn(i32, &mut [u8]) -> bool,
) -> f64 {
    let mut message = [1_u8; PAYLOAD + 8];
    // SAFETY: only asks for the parent's process id.
    let parent = unsafe { libc::getppid() };
    loop {
        let mut polls = 0_u32;
        while !receive(back, &mut message) {
            spin_loop();
            polls = polls.wrapping_add(1);
            // SAFETY: as above.
            if polls.is_multiple_of(1 << 20) && unsafe { libc::getppid() } != parent {
                exit(0);
            }
        }
        while !send(out, &message) {
            spin_loop();
        }
    }
}

pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid location for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Pins this process to the `n`-th usable processor, as the engine chooses on a machine with two
/// processors.
pub(crate) fn pin(n: usize) {
    // SAFETY: sets of this process's own; numbers within the set.
    unsafe {
        let mut usable: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut usable);
        let cpus: Vec<usize> =
            (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &usable)).collect();
        let spare = usize::from(cpus.len() > 2);
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpus[(n + spare) % cpus.len()], &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// The length of a shared page.
pub(crate) const PAGE: usize = 4096;

/// A new page of zeros that this process and the children that it forks share.
pub(crate) fn shared_page() -> *mut libc::c_void {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping at an address that the system chooses.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, access, flags, -1, 0) };
    assert!(page != libc::MAP_FAILED, "no memory for a shared page");
    page
}

/// Lets this process run on every processor again.
pub(crate) fn unpin() {
    // SAFETY: a set of this process's own; the kernel ignores processors that do not exist.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (0..libc::CPU_SETSIZE as usize).for_each(|cpu| libc::CPU_SET(cpu, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

fn write(fd: i32, bytes: &[u8]) -> bool {
    // SAFETY: a valid buffer of the given length, here and below.
    unsafe { libc::write(fd, bytes.as_ptr().cast(), PAYLOAD) > 0 }
}

pub(crate) fn read(fd: i32, bytes: &mut [u8]) -> bool {
    // SAFETY: see `write`.
    unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) > 0 }
}

fn send(fd: i32, bytes: &[u8]) -> bool {
    // SAFETY: see `write`.
    unsafe { libc::send(fd, bytes.as_ptr().cast(), PAYLOAD, libc::MSG_NOSIGNAL) > 0 }
}

fn recv(fd: i32, bytes: &mut [u8]) -> bool {
    // SAFETY: see `write`.
    unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), 0) > 0 }
}

fn mq_send(queue: i32, bytes: &[u8]) -> bool {
    // SAFETY: see `write`.
    unsafe { libc::mq_send(queue, bytes.as_ptr().cast(), PAYLOAD, 0) == 0 }
}

fn mq_receive(queue: i32, bytes: &mut [u8]) -> bool {
    let priority = std::ptr::null_mut();
    // SAFETY: see `write`; the queue's messages are no longer than the buffer.
    unsafe { libc::mq_receive(queue, bytes.as_mut_ptr().cast(), bytes.len(), priority) > 0 }
}

pub(crate) fn pipes(flags: i32) -> DescriptorPair {
    let (mut to, mut fro) = ([0; 2], [0; 2]);
    // SAFETY: valid locations for two descriptors each.
    unsafe {
        check(libc::pipe2(to.as_mut_ptr(), flags | libc::O_CLOEXEC));
        check(libc::pipe2(fro.as_mut_ptr(), flags | libc::O_CLOEXEC));
    }
    DescriptorPair { leader: (to[1], fro[0]), follower: (fro[1], to[0]) }
}

pub(crate) fn sockets(flags: i32) -> DescriptorPair {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags;
    // SAFETY: a valid location for two descriptors.
    unsafe { check(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr())) };
    DescriptorPair { leader: (ends[0], ends[0]), follower: (ends[1], ends[1]) }
}

pub(crate) fn connection(flags: i32) -> DescriptorPair {
    use std::{
        net::{TcpListener, TcpStream},
        os::fd::IntoRawFd,
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let ends = [
        TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection"),
        listener.accept().expect("a connection").0,
    ];
    let [leader, follower] = ends.map(|end| {
        end.set_nodelay(true).expect("no delay");
        end.set_nonblocking(flags != 0).expect("blocking or not");
        end.into_raw_fd()
    });
    DescriptorPair { leader: (leader, leader), follower: (follower, follower) }
}

fn vsock_connection(flags: i32) -> DescriptorPair {
    let socket = || {
        // SAFETY: no memory is passed.
        let made =
            unsafe { libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
        check(made);
        made
    };
    let (listener, follower) = (socket(), socket());
    // SAFETY: an address of that length; zeros are a value of it.
    unsafe {
        let mut address: libc::sockaddr_vm = std::mem::zeroed();
        address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
        (address.svm_cid, address.svm_port) = (libc::VMADDR_CID_LOCAL, libc::VMADDR_PORT_ANY);
        let (at, mut len) = ((&raw mut address).cast(), size_of::<libc::sockaddr_vm>() as u32);
        check(libc::bind(listener, at, len));
        check(libc::listen(listener, 1));
        check(libc::getsockname(listener, at, &mut len));
        check(libc::connect(follower, at, len));
        let leader = libc::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), flags);
        check(leader);
        libc::close(listener);
        check(libc::fcntl(follower, libc::F_SETFL, flags));
        DescriptorPair { leader: (leader, leader), follower: (follower, follower) }
    }
}

fn message_queues(flags: i32) -> DescriptorPair {
    let queue = |name: &str| {
        let name = std::ffi::CString::new(format!("/ipcmark-bare-{name}-{}", std::process::id()));
        let name = name.expect("no zero in it");
        // SAFETY: zeroes are a valid mq_attr; the name is terminated.
        unsafe {
            let mut limits: libc::mq_attr = std::mem::zeroed();
            (limits.mq_maxmsg, limits.mq_msgsize) = (4, (PAYLOAD + 8) as i64);
            let mode = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | flags;
            let queue = libc::mq_open(name.as_ptr(), mode, 0o600, &limits);
            check(queue);
            check(libc::mq_unlink(name.as_ptr()));
            queue
        }
    };
    let (to, fro) = (queue("to"), queue("fro"));
    DescriptorPair { leader: (to, fro), follower: (fro, to) }
}

fn system_v_queues() -> DescriptorPair {
    // SAFETY: makes two queues.
    let queue = || unsafe { libc::msgget(libc::IPC_PRIVATE, libc::IPC_CREAT | 0o600) };
    let (to, fro) = (queue(), queue());
    check(to);
    check(fro);
    DescriptorPair { leader: (to, fro), follower: (fro, to) }
}

pub(crate) fn check(result: i32) {
    assert!(result >= 0, "{}", std::io::Error::last_os_error());
}
