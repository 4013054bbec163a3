//! A packet of a length and a descriptor, without an allocation.

use std::{
    mem,
    os::fd::{FromRawFd, OwnedFd, RawFd},
    ptr,
};

use ipcmark_transport::{Error, Step};
use nix::errno::Errno;

use crate::frame;

/// Bytes of a packet beside its descriptor.
pub(super) const BYTES: usize = size_of::<u64>();

/// Room for the head of a control message and a few descriptors, aligned as the kernel wants it. The kernel closes what
/// does not fit, but two would fit where one is expected: the padding behind it has their size.
#[repr(C, align(8))]
struct Control([u8; 24]);

// SAFETY: only computes.
const CONTROL_BYTES: usize = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as usize;
const _: () = assert!(CONTROL_BYTES == size_of::<Control>());

/// Calls `call` with the description of a packet whose parts it reads or fills.
#[inline]
fn with_packet<R>(
    bytes: &mut [u8; BYTES],
    control: &mut Control,
    call: impl FnOnce(&mut libc::msghdr) -> R,
) -> R {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: BYTES };
    // SAFETY: plain numbers and pointers, for which zeros are a value.
    let mut packet: libc::msghdr = unsafe { mem::zeroed() };
    (packet.msg_iov, packet.msg_iovlen) = (&mut part, 1);
    packet.msg_control = ptr::from_mut(control).cast();
    packet.msg_controllen = CONTROL_BYTES as _;
    call(&mut packet)
}

/// Sends a length and a descriptor.
#[inline]
pub(super) fn send(socket: RawFd, len: usize, file: RawFd) -> Result<(), Errno> {
    let (mut bytes, mut control) = ((len as u64).to_ne_bytes(), Control([0; 24]));
    let sent = with_packet(&mut bytes, &mut control, |packet| {
        // SAFETY: the control bytes have room for one descriptor, and all that the packet points to is there.
        unsafe {
            let head = libc::CMSG_FIRSTHDR(packet);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            libc::CMSG_DATA(head).cast::<RawFd>().write_unaligned(file);
            libc::sendmsg(socket, packet, libc::MSG_NOSIGNAL)
        }
    });
    Errno::result(sent).map(drop)
}

/// What becomes of a packet that was not sent. A user may have no more than so many descriptors on their way
/// (`ulimit -n`): then the receiver must take some first.
#[cold]
pub(super) fn not_sent(errno: Errno, object: &'static str) -> Result<Step, Error> {
    match errno {
        Errno::ETOOMANYREFS => Ok(Step::WouldBlock),
        errno => frame::refused(errno, "write to", object),
    }
}

/// Receives the length and the descriptor of a packet; nothing where the other end is closed. Whatever came is closed
/// where it is no single descriptor.
#[inline]
pub(super) fn receive(socket: RawFd) -> Result<Option<(u64, Option<OwnedFd>)>, Errno> {
    let (mut bytes, mut control) = ([0; BYTES], Control([0; 24]));
    let (count, file) = with_packet(&mut bytes, &mut control, |packet| {
        // SAFETY: all that the packet points to is there to be written.
        let count = unsafe { libc::recvmsg(socket, packet, libc::MSG_CMSG_CLOEXEC) };
        (count, if count > 0 { descriptor(packet) } else { None })
    });
    let count = Errno::result(count)?;
    Ok((count > 0)
        .then(|| (if count == BYTES as isize { u64::from_ne_bytes(bytes) } else { 0 }, file)))
}

/// The descriptors in a packet that was received: the first, and all others closed.
#[inline]
fn descriptor(packet: &libc::msghdr) -> Option<OwnedFd> {
    // SAFETY: the kernel has written the control bytes and their length; it made the descriptors for this process alone.
    unsafe {
        let head = libc::CMSG_FIRSTHDR(packet).as_ref()?;
        if (head.cmsg_level, head.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            return None;
        }
        let data = libc::CMSG_DATA(head).cast::<RawFd>();
        let bytes = (head.cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
        let mut all = (0..bytes / size_of::<RawFd>())
            .map(|at| OwnedFd::from_raw_fd(data.add(at).read_unaligned()));
        let first = all.next();
        // A packet of two is none of ours.
        if all.map(drop).count() > 0 { None } else { first }
    }
}
