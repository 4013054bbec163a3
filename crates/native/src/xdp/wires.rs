//! The pair of interfaces and what is bound to it. It lies in a network namespace of its own, in which no process
//! ever is but one thread of the leader for a moment: the sockets were made there, and the namespace lives as long as
//! they do. So nothing of it has a name outside, and nothing stays, however the two processes end and with a sandbox
//! or without.

use std::{
    fs,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    thread,
};

use ipcmark_transport::{Error, Rendezvous};
use nix::{
    errno::Errno,
    sched::{CloneFlags, unshare},
};

use super::{
    netlink::Netlink,
    program,
    socket::{FRAME, Xsk},
};
use crate::descriptors;

/// The names of the objects in errors.
const PAIR: &str = "the virtual Ethernet pair";
const SOCKET: &str = "the AF_XDP socket";
const PROGRAM: &str = "the XDP program";

/// The interfaces: leader's and follower's. The namespace has no others but the loopback.
const NUMBERS: [u32; 2] = [10, 11];
const NAMES: [&str; 2] = ["leader", "follower"];

/// A frame less its Ethernet head.
const MTU: u32 = FRAME as u32 - 14;

/// A pair, and a socket for each of its ends.
pub struct Wires {
    netlink: Netlink,
    sockets: [OwnedFd; 2],
}

/// Makes them.
pub fn create() -> Result<Wires, Error> {
    // A thread can go into a namespace without its process.
    thread::spawn(create_in_namespace)
        .join()
        .unwrap_or_else(|_| Err(Error::new("make", PAIR, "the thread for it panicked")))
}

fn create_in_namespace() -> Result<Wires, Error> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|errno| Error::os("make", "a network namespace", errno))?;
    // Neighbour discovery would only take part in the traffic; a kernel without IPv6 has no such file.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let failed = |errno| Error::os("make", PAIR, errno);
    let netlink = Netlink::new().map_err(failed)?;
    netlink.make_pair(NUMBERS, NAMES, MTU).map_err(|errno| match errno {
        Errno::EOPNOTSUPP => failed(errno).remedy("modprobe veth"),
        _ => failed(errno),
    })?;
    Ok(Wires { netlink, sockets: [socket()?, socket()?] })
}

/// A socket of the namespace that the calling thread is in.
pub fn socket() -> Result<OwnedFd, Error> {
    use std::os::fd::FromRawFd;
    // SAFETY: no memory is passed; a new descriptor, which nobody else has.
    let made = unsafe {
        let fd = libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        Errno::result(fd).map(|fd| OwnedFd::from_raw_fd(fd))
    };
    made.map_err(|errno| Error::os("make", SOCKET, errno))
}

/// The leader's end.
pub fn lead(peers: &mut dyn Rendezvous) -> Result<Xsk, Error> {
    let Wires { netlink, sockets: [own, theirs] } = create()?;
    peers.send(0, b"socket", &[theirs.as_fd()])?;
    let own = set_up(own, 0)?;
    // A map takes a socket once it is set up.
    peers.receive(0)?;
    for (number, socket) in NUMBERS.into_iter().zip([own.fd(), theirs.as_fd()]) {
        let program = program_for(socket)?;
        netlink
            .raise(number, program.as_raw_fd())
            .map_err(|errno| Error::os("set up", PAIR, errno))?;
    }
    Ok(own)
}

/// The follower's end.
pub fn follow(peers: &mut dyn Rendezvous) -> Result<Xsk, Error> {
    let [own] = descriptors::receive(peers, SOCKET)?;
    let own = set_up(own, 1)?;
    peers.send(0, b"set up", &[])?;
    Ok(own)
}

fn set_up(socket: OwnedFd, end: usize) -> Result<Xsk, Error> {
    Xsk::set_up(socket, NUMBERS[end]).map_err(|errno| Error::scarce("set up", SOCKET, errno))
}

fn program_for(socket: std::os::fd::BorrowedFd<'_>) -> Result<OwnedFd, Error> {
    let load = || {
        let map = program::map()?;
        program::insert(map.as_fd(), socket)?;
        program::load(map.as_fd())
    };
    load().map_err(|errno| Error::os("load", PROGRAM, errno))
}
