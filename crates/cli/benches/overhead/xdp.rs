//! A bare loop of AF_XDP: one frame a message, put into the ring and sent; looked for and given back. The pair is
//! made and the sockets are set up by the transport's own files, for a program would do no other.

#[path = "../../../native/src/xdp/netlink.rs"]
mod netlink;
#[path = "../../../native/src/xdp/program.rs"]
mod program;
#[path = "../../../native/src/xdp/ring.rs"]
mod ring;
#[path = "../../../native/src/xdp/socket.rs"]
mod socket;

use std::{
    cell::RefCell,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use self::{netlink::Netlink, socket::Xsk};
use crate::{
    bare::{self, DescriptorPair, PAYLOAD, check},
    blocks::{MeasuredBlock, Work},
};

/// A bare loop: its blocks.
type Loop = fn(Work) -> Vec<MeasuredBlock>;

/// The transport with a bare loop of its calls.
pub(crate) const LOOPS: [(&str, Loop); 1] = [("xdp", xdp)];

/// The interfaces.
const NUMBERS: [u32; 2] = [10, 11];

/// A pair in a namespace of its own, and a socket for each end.
fn lay() -> (Netlink, [OwnedFd; 2]) {
    let laid = thread::spawn(|| {
        // SAFETY: numbers only; the descriptors are new.
        unsafe {
            check(libc::unshare(libc::CLONE_NEWNET));
            let netlink = Netlink::new().expect("a netlink socket");
            netlink
                .make_pair(NUMBERS, ["leader", "follower"], socket::FRAME as u32 - 14)
                .expect("a pair");
            let sockets = [0; 2].map(|_| {
                let fd = libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
                check(fd);
                OwnedFd::from_raw_fd(fd)
            });
            (netlink, sockets)
        }
    });
    laid.join().expect("a pair")
}

/// Memory is registered by the process that it belongs to: each sets its end up after the fork.
fn set_up(end: usize, netlink: &Netlink, sockets: &[OwnedFd; 2], ready: &AtomicU32) -> Xsk {
    let own = sockets[end].try_clone().expect("a descriptor");
    let own = Xsk::set_up(own, NUMBERS[end]).expect("a socket");
    let map = program::map().expect("a map");
    program::insert(map.as_fd(), own.fd()).expect("a place in the map");
    let program = program::load(map.as_fd()).expect("a program");
    // One socket for the answers to both: one after the other.
    while ready.load(Ordering::Acquire) != end as u32 {
        std::hint::spin_loop();
    }
    netlink.raise(NUMBERS[end], program.as_raw_fd()).expect("an interface");
    ready.fetch_add(1, Ordering::AcqRel);
    while ready.load(Ordering::Acquire) != 2 {
        std::hint::spin_loop();
    }
    own
}

fn xdp(work: Work) -> Vec<MeasuredBlock> {
    let (netlink, sockets) = lay();
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new page of zeros, which both processes share after the fork and which stays.
    let ready = unsafe {
        let page = libc::mmap(ptr::null_mut(), 4096, access, kind, -1, 0);
        assert!(page != libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        AtomicU32::from_ptr(page.cast())
    };
    let own = RefCell::new(None);
    let with = |end: i32, call: &mut dyn FnMut(&Xsk) -> bool| {
        let mut own = own.borrow_mut();
        call(own.get_or_insert_with(|| set_up(end as usize, &netlink, &sockets, ready)))
    };
    bare::run(
        work,
        DescriptorPair { leader: (0, 0), follower: (1, 1) },
        |end, bytes| with(end, &mut |xsk| send(xsk, bytes)),
        |end, bytes| with(end, &mut |xsk| receive(xsk, bytes, work.spins)),
    )
}

fn send(xsk: &Xsk, bytes: &[u8]) -> bool {
    let mut head = [0; 16];
    head[12..14].copy_from_slice(&program::KIND);
    assert!(xsk.put(&head, &bytes[..PAYLOAD]), "a piece is free");
    xsk.send().expect("a frame is sent")
}

fn receive(xsk: &Xsk, bytes: &mut [u8], spins: bool) -> bool {
    if let Some(frame) = xsk.first() {
        bytes[..PAYLOAD].copy_from_slice(&frame[16..16 + PAYLOAD]);
        xsk.drop_first();
        return true;
    }
    if spins {
        std::hint::spin_loop();
    } else {
        let mut wanted =
            libc::pollfd { fd: xsk.fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one place of that type.
        unsafe { libc::poll(&mut wanted, 1, -1) };
    }
    false
}
