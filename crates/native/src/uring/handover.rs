//! The transfer of one end's ring to the other. Since Linux 6.7 a ring's descriptor does not pass through a socket
//! (SCM_RIGHTS fails with EINVAL), so each end takes it from the other process, which needs the right to trace it.

use std::{
    fs, io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use io_uring::IoUring;
use ipcmark_transport::{Error, Rendezvous};
use nix::errno::Errno;

use super::OBJECT;
use crate::{peer::PeerId, traceable};

const OPERATION: &str = "take a ring of";
const PROCESS: &str = "the other process";

/// The target of a ring's link in `/proc/self/fd`.
const LINK: &str = "anon_inode:[io_uring]";

/// The encoded size of a ring's name: the address of its process, and its descriptor's number there.
const BYTES: usize = 16 + 4;

/// Sends the name of this ring to the other end, and takes the other end's ring.
pub fn exchange(own: &IoUring, peers: &mut dyn Rendezvous) -> Result<OwnedFd, Error> {
    let address = PeerId::own();
    peers.send(0, &name(address, own.as_raw_fd()), &[])?;
    let (peer, number) = read_name(&peers.receive(0)?.0)?;
    address.check_namespace(&peer, OPERATION)?;
    // The peer could send the number of any process.
    if !peer.is_this_program()? {
        let cause = format!("process {} is not the other end", peer.pid);
        return Err(Error::new(OPERATION, PROCESS, cause));
    }
    take(peer.pid, number).map_err(explained)?.ok_or_else(|| {
        Error::new(OPERATION, PROCESS, format!("its descriptor {number} is no io_uring"))
    })
}

fn name(address: PeerId, number: RawFd) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..16].copy_from_slice(&address.to_bytes());
    bytes[16..].copy_from_slice(&number.to_ne_bytes());
    bytes
}

fn read_name(bytes: &[u8]) -> Result<(PeerId, RawFd), Error> {
    let wrong = || Error::new("receive", OBJECT, "the frame has a wrong length");
    let (address, number) = bytes.split_at_checked(16).ok_or_else(wrong)?;
    let number = number.try_into().map_err(|_| wrong())?;
    Ok((PeerId::from_bytes(address)?, RawFd::from_ne_bytes(number)))
}

/// Takes a descriptor from another process, if it is a ring.
fn take(process: libc::pid_t, number: RawFd) -> Result<Option<OwnedFd>, Errno> {
    let process = descriptor(libc::SYS_pidfd_open, [process, 0, 0])?;
    let taken = descriptor(libc::SYS_pidfd_getfd, [process.as_raw_fd(), number, 0])?;
    let link = fs::read_link(format!("/proc/self/fd/{}", taken.as_raw_fd()));
    Ok(link.is_ok_and(|link| link.as_os_str() == LINK).then_some(taken))
}

/// Makes a system call that takes three numbers and returns a descriptor.
fn descriptor(call: libc::c_long, [a, b, c]: [i32; 3]) -> Result<OwnedFd, Errno> {
    // SAFETY: both calls take only numbers, and return a new descriptor or an error.
    unsafe {
        let fd = Errno::result(libc::syscall(call, a, b, c))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

#[cold]
fn explained(errno: Errno) -> Error {
    match errno {
        Errno::ESRCH => Error::peer_gone(OPERATION, PROCESS),
        Errno::EPERM => Error::os(OPERATION, PROCESS, errno).remedy(traceable::REMEDY),
        _ => Error::scarce(OPERATION, PROCESS, errno),
    }
}

/// The reason why taking a descriptor fails. A process may always take its own, unless the calls are missing or a
/// filter refuses them.
pub fn refused() -> Option<String> {
    let ring = IoUring::new(1).ok()?;
    let error = take(std::process::id() as libc::pid_t, ring.as_raw_fd()).err()?;
    Some(format!("pidfd_getfd is refused: {}", io::Error::from(error)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{
        testing::{lacks, queue::dead_process, rendezvous},
        uring::support,
    };

    #[test]
    fn a_ring_that_was_taken_is_the_same_one() {
        if lacks(support::probe(&[])) {
            return;
        }
        let (mut one, mut other) = rendezvous();
        let (a, b) = (IoUring::new(1).unwrap(), IoUring::new(1).unwrap());
        let said = name(PeerId::own(), b.as_raw_fd());
        let others: &mut dyn Rendezvous = &mut other;
        others.send(0, &said, &[]).unwrap();
        let taken = exchange(&a, &mut one).unwrap();
        let inode = |fd: RawFd| {
            std::os::unix::fs::MetadataExt::ino(
                &fs::metadata(format!("/proc/self/fd/{fd}")).unwrap(),
            )
        };
        assert_eq!(inode(taken.as_raw_fd()), inode(b.as_raw_fd()));
        assert_eq!(read_name(&others.receive(0).unwrap().0).unwrap().1, a.as_raw_fd());
        assert_eq!(refused(), None);
    }

    #[test]
    fn a_descriptor_that_is_not_the_peers_ring_is_refused() {
        if lacks(support::probe(&[])) {
            return;
        }
        let own = IoUring::new(1).unwrap();
        let file = fs::File::open("/dev/null").unwrap();
        let forged = |pid| PeerId { pid, ..PeerId::own() };
        for (said, reason) in [
            (name(PeerId::own(), file.as_raw_fd()).to_vec(), "is no io_uring"),
            (name(PeerId::own(), -1).to_vec(), "cannot take a ring of"),
            (name(forged(1), own.as_raw_fd()).to_vec(), "process 1"),
            (name(forged(dead_process()), own.as_raw_fd()).to_vec(), "cannot look at process"),
            (vec![0; 19], "wrong length"),
        ] {
            let (mut one, mut other) = rendezvous();
            let other: &mut dyn Rendezvous = &mut other;
            other.send(0, &said, &[]).unwrap();
            let error = exchange(&own, &mut one).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
