//! One frame: bytes and descriptors that arrive together.

use std::{
    io::IoSlice,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    time::Duration,
};

use ipcmark_transport::{Error, MAX_FRAME_BYTES, MAX_FRAME_FDS};
use nix::{
    errno::Errno,
    libc,
    sys::{
        socket::{
            AddressFamily, ControlMessage, MsgFlags, Shutdown, SockFlag, SockType, sendmsg,
            setsockopt, shutdown, socketpair, sockopt,
        },
        time::TimeVal,
    },
};

/// One byte before each frame: without it, the record of an empty frame would look like the end of the
/// connection.
const PREFIX: usize = 1;

/// One end of a connection that carries frames.
#[derive(Debug)]
pub struct FrameSocket(OwnedFd);

impl FrameSocket {
    /// Creates two connected ends, closed on exec.
    ///
    /// # Errors
    /// The system is out of descriptors or memory.
    pub fn pair() -> Result<(Self, Self), Error> {
        let (a, b) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
                .map_err(|e| Error::scarce("make", "a socket pair", e))?;
        Ok((Self(a), Self(b)))
    }

    /// Duplicates the descriptor of this end.
    ///
    /// # Errors
    /// The process is out of descriptors.
    pub fn try_clone(&self) -> Result<Self, Error> {
        self.0.try_clone().map(Self).map_err(|e| Error::scarce("copy", "a socket", e))
    }

    /// Makes `receive` and `send` fail after `limit` without progress; zero lifts the limit.
    ///
    /// # Errors
    /// The descriptor is not a socket.
    pub fn set_timeout(&self, limit: Duration) -> Result<(), Error> {
        let limit = TimeVal::new(limit.as_secs() as _, limit.subsec_micros() as _);
        setsockopt(&self.0, sockopt::ReceiveTimeout, &limit)
            .and_then(|()| setsockopt(&self.0, sockopt::SendTimeout, &limit))
            .map_err(|e| Error::os("set the timeout of", "a socket", e))
    }

    /// Sends one frame of at most [`MAX_FRAME_BYTES`] and [`MAX_FRAME_FDS`].
    ///
    /// # Errors
    /// The frame is too long, the other end is closed, or the timeout has passed.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        if bytes.len() > MAX_FRAME_BYTES || fds.len() > MAX_FRAME_FDS {
            let cause = format!(
                "{} bytes and {} descriptors; one frame holds {MAX_FRAME_BYTES} and {MAX_FRAME_FDS}",
                bytes.len(),
                fds.len()
            );
            return Err(Error::new("send", "a frame", cause));
        }
        let parts = [IoSlice::new(&[0; PREFIX]), IoSlice::new(bytes)];
        let fds: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&fds)];
        let rights = if fds.is_empty() { &rights[..0] } else { &rights[..] };
        let socket = self.0.as_raw_fd();
        retry(|| sendmsg::<()>(socket, &parts, rights, MsgFlags::MSG_NOSIGNAL, None))
            .map(drop)
            .map_err(|errno| failed("send", errno))
    }

    /// Receives one frame, sleeping until it arrives or the timeout has passed.
    ///
    /// # Errors
    /// The other end is closed, the timeout has passed, or a frame exceeded the limits.
    pub fn receive(&self) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        let mut record = vec![0; PREFIX + MAX_FRAME_BYTES];
        let (read, is_cut_off, fds) =
            receive_record(&self.0, &mut record).map_err(|errno| failed("receive", errno))?;
        if read == 0 {
            return Err(Error::peer_gone("receive", "a frame"));
        }
        if is_cut_off {
            return Err(Error::new("receive", "a frame", "it is longer than a frame may be"));
        }
        record.truncate(read);
        record.drain(..PREFIX);
        Ok((record, fds))
    }

    /// Ends the connection for every descriptor of this end.
    pub fn close(&self) {
        // An error only means that it has ended already.
        let _ = shutdown(self.0.as_raw_fd(), Shutdown::Both);
    }
}

impl From<OwnedFd> for FrameSocket {
    /// The end of an inherited or received descriptor.
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl From<FrameSocket> for OwnedFd {
    fn from(socket: FrameSocket) -> Self {
        socket.0
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn failed(operation: &str, errno: Errno) -> Error {
    match errno {
        Errno::EPIPE | Errno::ECONNRESET => Error::peer_gone(operation, "a frame"),
        Errno::EAGAIN => Error::new(operation, "a frame", "no answer within the time set for it"),
        _ => Error::os(operation, "a frame", errno),
    }
}

/// Room for the control messages of a record, aligned for the kernel: more than the most descriptors that it
/// passes at once, which is 253.
type Control = [u64; 160];

/// Receives one record: its length, true if it was truncated, and its descriptors. A truncated record's
/// descriptors are taken too: those that arrived are open in this process, which must close them.
fn receive_record(
    socket: &OwnedFd,
    record: &mut [u8],
) -> Result<(usize, bool, Vec<OwnedFd>), Errno> {
    let mut part = libc::iovec { iov_base: record.as_mut_ptr().cast(), iov_len: record.len() };
    let mut control: Control = [0; 160];
    // SAFETY: a message header of zeros is empty and valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of::<Control>() as _;
    let (fd, flags) = (socket.as_raw_fd(), libc::MSG_CMSG_CLOEXEC);
    // SAFETY: the header points to the record and to the control buffer, with their lengths.
    let read = retry(|| Errno::result(unsafe { libc::recvmsg(fd, &raw mut header, flags) }))?;
    // SAFETY: the kernel has filled the header and the control buffer, which is still alive.
    let fds = unsafe { take_descriptors(&header) };
    let is_cut_off = header.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0;
    Ok((read as usize, is_cut_off || fds.len() > MAX_FRAME_FDS, fds))
}

/// # Safety
/// `recvmsg` has filled the header, and its descriptors were not taken before.
unsafe fn take_descriptors(header: &libc::msghdr) -> Vec<OwnedFd> {
    let mut fds = Vec::new();
    // SAFETY: the macros stay within the control buffer of the header, as the kernel has filled it; each
    // descriptor in it was created for this process and has no other owner.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            let kind = ((*message).cmsg_level, (*message).cmsg_type);
            if kind == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let bytes = (*message).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let first = libc::CMSG_DATA(message).cast::<RawFd>();
                let passed =
                    (0..bytes / size_of::<RawFd>()).map(|at| first.add(at).read_unaligned());
                fds.extend(passed.map(|fd| OwnedFd::from_raw_fd(fd)));
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    fds
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Read};

    use nix::{
        fcntl::{FcntlArg, FdFlag, fcntl},
        sys::memfd::{MFdFlags, memfd_create},
    };

    use super::*;

    #[test]
    fn frames_arrive_in_order_and_an_empty_one_is_not_the_end() {
        let (one, other) = FrameSocket::pair().unwrap();
        for frame in [&b""[..], b"second", &[7; MAX_FRAME_BYTES]] {
            one.send(frame, &[]).unwrap();
        }
        assert_eq!(other.receive().unwrap().0, b"");
        assert_eq!(other.receive().unwrap().0, b"second");
        assert_eq!(other.receive().unwrap().0, [7; MAX_FRAME_BYTES]);
        drop(one);
        assert!(other.receive().unwrap_err().is_peer_gone());
        assert!(other.send(b"", &[]).unwrap_err().is_peer_gone());
    }

    #[test]
    fn descriptors_arrive_and_are_closed_on_exec() {
        let (one, other) = FrameSocket::pair().unwrap();
        let zero = File::open("/dev/zero").unwrap();
        one.send(b"zero", &[zero.as_fd(); MAX_FRAME_FDS]).unwrap();
        let (bytes, fds) = other.receive().unwrap();
        assert_eq!((bytes.as_slice(), fds.len()), (&b"zero"[..], MAX_FRAME_FDS));
        for fd in fds {
            let flags = FdFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFD).unwrap());
            assert!(flags.contains(FdFlag::FD_CLOEXEC));
            let mut byte = [1];
            File::from(fd).read_exact(&mut byte).unwrap();
            assert_eq!(byte, [0]);
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_at_both_ends() {
        let (one, other) = FrameSocket::pair().unwrap();
        let zero = File::open("/dev/zero").unwrap();
        assert!(one.send(&[0; MAX_FRAME_BYTES + 1], &[]).is_err());
        assert!(one.send(b"", &[zero.as_fd(); MAX_FRAME_FDS + 1]).is_err());
        // An untrusted peer's record obeys none of our limits.
        let long = vec![0; PREFIX + MAX_FRAME_BYTES + 1];
        nix::sys::socket::send(one.0.as_raw_fd(), &long, MsgFlags::empty()).unwrap();
        let error = other.receive().unwrap_err().to_string();
        assert!(error.contains("longer than"), "{error}");
    }

    /// Regression: the descriptors that arrived from such a frame stayed open.
    #[test]
    fn descriptors_of_a_frame_with_too_many_are_closed() {
        let (one, other) = FrameSocket::pair().unwrap();
        let name = c"ipcmark-frame-with-too-many";
        let file = memfd_create(name, MFdFlags::MFD_CLOEXEC).unwrap();
        let fds = [file.as_raw_fd(); 2 * MAX_FRAME_FDS];
        let rights = [ControlMessage::ScmRights(&fds)];
        let parts = [IoSlice::new(&[0; PREFIX])];
        let flags = MsgFlags::empty();
        sendmsg::<()>(one.0.as_raw_fd(), &parts, &rights, flags, None).unwrap();
        let error = other.receive().unwrap_err().to_string();
        assert!(error.contains("longer than"), "{error}");
        let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let links = links.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        let open = links.filter(|link| link.to_string_lossy().contains("frame-with-too-many"));
        assert_eq!(open.count(), 1, "the file itself");
    }

    #[test]
    fn a_peer_that_sends_nothing_is_an_error_once_the_timeout_has_passed() {
        let (_one, other) = FrameSocket::pair().unwrap();
        other.set_timeout(Duration::from_millis(20)).unwrap();
        let error = other.receive().unwrap_err().to_string();
        assert!(error.contains("no answer within"), "{error}");
    }
}
