//! Bare loops of mechanisms that pass pages, descriptors or addresses, which need more than a `write` and a
//! `read`.

use std::{
    cell::Cell,
    hint::spin_loop,
    mem, ptr,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{
    bare::{self, DescriptorPair, FRAME, HEAD, PAYLOAD, check},
    blocks::{MeasuredBlock, Work},
};

const PAGE: usize = 4096;

/// A bare loop: its blocks.
type Loop = fn(Work) -> Vec<MeasuredBlock>;

/// The transports with a bare loop of their calls.
pub(crate) const LOOPS: [(&str, Loop); 3] =
    [("cma", cma), ("scm-rights", scm_rights), ("vmsplice", vmsplice)];

/// Memory that both processes share after the fork (MAP_SHARED), or of which each has a copy
/// (MAP_PRIVATE).
fn pages(count: usize, sharing: i32) -> *mut u8 {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, sharing | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address that the kernel chooses; all its pages are touched.
    unsafe {
        let at =
            libc::mmap(ptr::null_mut(), count * PAGE, access, flags | libc::MAP_POPULATE, -1, 0);
        assert!(at != libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        at.cast()
    }
}

fn unmap(at: *mut u8, count: usize) {
    // SAFETY: `pages` made it, and it is no longer used.
    unsafe { libc::munmap(at.cast(), count * PAGE) };
}

/// Passes the sender's own pages through a pipe. It cycles through more pages than the pipe holds.
fn vmsplice(work: Work) -> Vec<MeasuredBlock> {
    const COUNT: usize = 20;
    let (memory, next) = (pages(COUNT, libc::MAP_PRIVATE), Cell::new(0));
    let spins = work.spins;
    let flags = if spins { libc::SPLICE_F_NONBLOCK } else { 0 };
    let blocks = bare::run(
        work,
        bare::pipes(if spins { libc::O_NONBLOCK } else { 0 }),
        |pipe, bytes| {
            // SAFETY: one of the pages; the receiver has read its old content long ago.
            let sent = unsafe {
                let page = memory.add(next.get() * PAGE);
                ptr::copy_nonoverlapping(bytes.as_ptr(), page, HEAD);
                let part = libc::iovec { iov_base: page.cast(), iov_len: FRAME };
                libc::vmsplice(pipe, &part, 1, flags)
            };
            next.set((next.get() + usize::from(sent > 0)) % COUNT);
            sent > 0
        },
        bare::read,
    );
    unmap(memory, COUNT);
    blocks
}

/// Makes one sealed memory file per message and sends its descriptor over a packet socket. The
/// receiver checks the size and reads the file.
fn scm_rights(work: Work) -> Vec<MeasuredBlock> {
    let flags = if work.spins { libc::O_NONBLOCK } else { 0 };
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | flags;
    // SAFETY: a valid location for two descriptors.
    unsafe { check(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr())) };
    let ways = DescriptorPair { leader: (ends[0], ends[0]), follower: (ends[1], ends[1]) };
    bare::run(work, ways, send_file, receive_file)
}

/// A packet of eight bytes with room for one descriptor.
fn with_packet<R>(control: &mut [u64; 3], call: impl FnOnce(&mut libc::msghdr) -> R) -> R {
    let mut word = PAYLOAD as u64;
    let mut part = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: 8 };
    // SAFETY: plain numbers and pointers, for which zeros are valid.
    let mut packet: libc::msghdr = unsafe { mem::zeroed() };
    (packet.msg_iov, packet.msg_iovlen) = (&mut part, 1);
    (packet.msg_control, packet.msg_controllen) = (control.as_mut_ptr().cast(), 24 as _);
    call(&mut packet)
}

fn send_file(socket: i32, bytes: &[u8]) -> bool {
    const SEALS: i32 =
        libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;
    // SAFETY: buffers of these lengths; the control bytes have room for one descriptor.
    unsafe {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        let file = libc::memfd_create(c"bare".as_ptr(), flags);
        check(file);
        libc::write(file, bytes.as_ptr().cast(), PAYLOAD);
        libc::fcntl(file, libc::F_ADD_SEALS, SEALS);
        let sent = with_packet(&mut [0; 3], |packet| {
            let head = libc::CMSG_FIRSTHDR(packet);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(4) as _;
            libc::CMSG_DATA(head).cast::<i32>().write_unaligned(file);
            libc::sendmsg(socket, packet, libc::MSG_NOSIGNAL)
        });
        libc::close(file);
        sent > 0
    }
}

fn receive_file(socket: i32, bytes: &mut [u8]) -> bool {
    // SAFETY: as above; everything received comes from `send_file`.
    unsafe {
        let received = with_packet(&mut [0; 3], |packet| {
            let count = libc::recvmsg(socket, packet, libc::MSG_CMSG_CLOEXEC);
            (count > 0).then(|| libc::CMSG_DATA(libc::CMSG_FIRSTHDR(packet)).cast::<i32>().read())
        });
        let Some(file) = received else { return false };
        let mut stat: libc::stat = mem::zeroed();
        libc::fcntl(file, libc::F_GET_SEALS);
        libc::fstat(file, &mut stat);
        let read = libc::pread(file, bytes.as_mut_ptr().cast(), PAYLOAD, 0);
        libc::close(file);
        read > 0
    }
}

/// The shared memory of one direction of `cma`: the number of messages, the sender's process id, and a flag while the
/// receiver sleeps.
#[repr(C, align(128))]
struct Notice {
    number: AtomicU32,
    sender: AtomicU32,
    asleep: AtomicU32,
}

/// The receiver copies out of the sender's memory, which has the same address in both processes
/// since the fork.
fn cma(work: Work) -> Vec<MeasuredBlock> {
    let (shared, memory) = (pages(1, libc::MAP_SHARED), pages(1, libc::MAP_PRIVATE));
    // SAFETY: zeros are valid, the memory is aligned, and it lives as long as the loop runs.
    let notices: &[Notice; 2] = unsafe { &*shared.cast() };
    // SAFETY: allows the child to read this process's memory under Yama, which otherwise allows
    // only the reverse; elsewhere it fails.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    let (seen, sender) = (Cell::new(0), Cell::new(0));
    let ways = DescriptorPair { leader: (0, 1), follower: (1, 0) };
    let blocks = bare::run(
        work,
        ways,
        |way, bytes| {
            let notice = &notices[way as usize];
            // SAFETY: the process's own page.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, HEAD) };
            if notice.sender.load(Ordering::Relaxed) == 0 {
                notice.sender.store(std::process::id(), Ordering::Relaxed);
            }
            notice.number.fetch_add(1, Ordering::SeqCst);
            if notice.asleep.load(Ordering::SeqCst) != 0 {
                futex(&notice.number, libc::FUTEX_WAKE, 1);
            }
            true
        },
        |way, bytes| {
            let notice = &notices[way as usize];
            if notice.number.load(Ordering::Acquire) == seen.get() {
                if !work.spins {
                    notice.asleep.store(1, Ordering::SeqCst);
                    futex(&notice.number, libc::FUTEX_WAIT, seen.get());
                    notice.asleep.store(0, Ordering::SeqCst);
                } else {
                    spin_loop();
                }
                return false;
            }
            seen.set(seen.get().wrapping_add(1));
            if sender.get() == 0 {
                sender.set(notice.sender.load(Ordering::Relaxed) as i32);
            }
            let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: PAYLOAD };
            let remote = libc::iovec { iov_base: memory.cast(), iov_len: PAYLOAD };
            // SAFETY: the buffer is at least this long.
            unsafe { libc::process_vm_readv(sender.get(), &local, 1, &remote, 1, 0) > 0 }
        },
    );
    unmap(shared, 1);
    unmap(memory, 1);
    blocks
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    // SAFETY: the word is valid; no time limit.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation,
            value,
            ptr::null::<libc::timespec>(),
        )
    };
}
