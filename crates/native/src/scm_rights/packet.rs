//! A packet with a length and a descriptor, without allocation.

use std::{
    mem,
    os::fd::{FromRawFd, OwnedFd, RawFd},
    ptr,
};

use ipcmark_transport::{Error, Step};
use nix::errno::Errno;

use crate::frame;

/// The size in bytes of a packet's data, besides its descriptor.
pub(super) const BYTES: usize = size_of::<u64>();

/// Room for the header of a control message and a few descriptors, aligned for the kernel. The kernel closes
/// descriptors that do not fit, but two would fit where one is expected: the padding behind the first is as large as
/// another.
#[repr(C, align(8))]
struct Control([u8; 24]);

// SAFETY: a pure computation.
const CONTROL_BYTES: usize = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as usize;
const _: () = assert!(CONTROL_BYTES == size_of::<Control>());

/// Calls `call` with a message header for the given parts, which it reads or fills.
#[inline]
fn with_packet<R>(
    bytes: &mut [u8; BYTES],
    control: &mut Control,
    call: impl FnOnce(&mut libc::msghdr) -> R,
) -> R {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: BYTES };
    // SAFETY: plain numbers and pointers, for which zeros are valid.
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
        // SAFETY: the control bytes have room for one descriptor, and everything that the packet points to is valid.
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

/// The step or error of a failed send. The kernel limits a user's descriptors in flight (`ulimit -n`): at the limit,
/// the receiver must take some first.
#[cold]
pub(super) fn not_sent(errno: Errno, object: &'static str) -> Result<Step, Error> {
    match errno {
        Errno::ETOOMANYREFS => Ok(Step::WouldBlock),
        errno => frame::refused(errno, "write to", object),
    }
}

/// Receives the length and the descriptor of a packet; `None` if the other end is closed. Unless a packet has exactly
/// one descriptor, its descriptors are closed.
#[inline]
pub(super) fn receive(socket: RawFd) -> Result<Option<(u64, Option<OwnedFd>)>, Errno> {
    let (mut bytes, mut control) = ([0; BYTES], Control([0; 24]));
    let (count, file) = with_packet(&mut bytes, &mut control, |packet| {
        // SAFETY: everything that the packet points to is valid and writable.
        let count = unsafe { libc::recvmsg(socket, packet, libc::MSG_CMSG_CLOEXEC) };
        (count, if count > 0 { descriptor(packet) } else { None })
    });
    let count = Errno::result(count)?;
    Ok((count > 0)
        .then(|| (if count == BYTES as isize { u64::from_ne_bytes(bytes) } else { 0 }, file)))
}

/// The only descriptor of a received packet; if there are several, all are closed.
#[inline]
fn descriptor(packet: &libc::msghdr) -> Option<OwnedFd> {
    // SAFETY: the kernel wrote the control bytes and their length; it created the descriptors for this process alone.
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
        // No end of ours sends two.
        if all.map(drop).count() > 0 { None } else { first }
    }
}
