//! Bare loops: two forked processes that make only the system calls, in the blocks of bare programs.

use std::{convert::Infallible, process::exit};

use crate::blocks::{self, MeasuredBlock, Work};

pub(crate) const PAYLOAD: usize = 64;

/// A message with the eight bytes before it that carry its length through a stream or a queue.
pub(crate) const FRAME: usize = 8 + PAYLOAD;

/// The bytes of a message up to the end of what is written and read: eight bytes, and its number twice.
pub(crate) const HEAD: usize = 24;

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

/// Blocks of a bare loop.
pub(crate) fn round_trips(mechanism: Mechanism, work: Work) -> Vec<MeasuredBlock> {
    let flags = if work.spins { libc::O_NONBLOCK } else { 0 };
    match mechanism {
        Mechanism::Pipe => run(work, pipes(flags), write, read),
        Mechanism::UdsStream => run(work, sockets(flags), send, recv),
        Mechanism::Tcp => run(work, connection(flags), send, recv),
        Mechanism::Vsock => run(work, vsock_connection(flags), send, recv),
        Mechanism::PosixMq => run(work, message_queues(flags), mq_send, mq_receive),
        Mechanism::SysvMq => {
            let no_wait = if work.spins { libc::IPC_NOWAIT } else { 0 };
            let ways = system_v_queues();
            let (a, b) = ways.leader;
            let blocks = run(
                work,
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
            blocks
        }
    }
}

pub(crate) fn run(
    work: Work,
    ways: DescriptorPair,
    send: impl Fn(i32, &[u8]) -> bool,
    receive: impl Fn(i32, &mut [u8]) -> bool,
) -> Vec<MeasuredBlock> {
    let mut floor = blocks::floor();
    let (mut outgoing, mut incoming) = ([1_u8; FRAME], [1_u8; FRAME]);
    let mut send = |out, number| {
        outgoing[8..16].copy_from_slice(&u64::to_ne_bytes(number));
        outgoing[16..HEAD].copy_from_slice(&u64::to_ne_bytes(number));
        until(|| send(out, &outgoing));
    };
    let mut receive = |back| {
        until(|| receive(back, &mut incoming));
        number_of(&incoming)
    };
    // SAFETY: this process has one thread, and the child only makes the loop's own calls.
    match unsafe { libc::fork() } {
        0 => {
            begin_follower();
            let (out, back) = ways.follower;
            let Ok(()) = work.follow(&mut floor, || {
                let number = receive(back);
                send(out, number);
                Ok::<_, Infallible>(())
            });
            exit(0);
        }
        follower => {
            pin(0);
            let (out, back) = ways.leader;
            let Ok(blocks) = work.lead(&mut floor, |number| {
                send(out, number);
                assert_eq!(receive(back), number, "another message came");
                Ok::<_, Infallible>(())
            });
            // SAFETY: reaps the child, which has made as many round trips.
            unsafe { libc::waitpid(follower, std::ptr::null_mut(), 0) };
            unpin();
            blocks
        }
    }
}

/// The number of a message.
#[inline(always)]
fn number_of(message: &[u8]) -> u64 {
    let word = |at: usize| u64::from_ne_bytes(message[at..at + 8].try_into().expect("8 bytes"));
    assert_eq!(word(8), word(16), "a bare loop changed a message");
    word(8)
}

#[inline(always)]
fn until(mut attempt: impl FnMut() -> bool) {
    while !attempt() {}
}

/// Pins a forked follower, which ends with its parent: it may poll, and would do so for ever.
pub(crate) fn begin_follower() {
    pin(1);
    // SAFETY: only asks to end with the parent.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
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
    unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) > 0 }
}

pub(crate) fn read(fd: i32, bytes: &mut [u8]) -> bool {
    // SAFETY: see `write`.
    unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) > 0 }
}

fn send(fd: i32, bytes: &[u8]) -> bool {
    // SAFETY: see `write`.
    unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) > 0 }
}

fn recv(fd: i32, bytes: &mut [u8]) -> bool {
    // SAFETY: see `write`.
    unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), 0) > 0 }
}

fn mq_send(queue: i32, bytes: &[u8]) -> bool {
    // SAFETY: see `write`.
    unsafe { libc::mq_send(queue, bytes.as_ptr().cast(), bytes.len(), 0) == 0 }
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
            (limits.mq_maxmsg, limits.mq_msgsize) = (4, FRAME as i64);
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
