//! The receive buffer of an end. The kernel accounts it differently from other sockets: in bytes, by options of this
//! family, and against the receiver alone.

use std::{collections::BTreeMap, mem, os::fd::RawFd};

use ipcmark_transport::{Error, OptionSpec, Settings};
use nix::errno::Errno;

use crate::frame::HEAD;

/// The options SO_VM_SOCKETS_BUFFER_SIZE and SO_VM_SOCKETS_BUFFER_MAX_SIZE of `linux/vm_sockets.h`.
const SIZE: libc::c_int = 0;
const MOST: libc::c_int = 2;

/// The option.
pub const BUFFER: OptionSpec = OptionSpec::new(
    "buffer",
    "4k..64M",
    "a whole message, at least what the kernel chooses",
    "bytes come in that each end holds (SO_VM_SOCKETS_BUFFER_SIZE)",
);

/// Lets the end hold what the user wants, or a whole frame.
pub fn set(socket: RawFd, settings: &Settings) -> Result<(), Error> {
    let frame = (settings.payload + HEAD) as u64;
    let wanted = settings.number(BUFFER.key.as_ref());
    let set = || match wanted {
        Some(bytes) => write(socket, bytes),
        None if read(socket)? < frame => write(socket, frame),
        None => Ok(()),
    };
    set().map_err(|errno| Error::os("set the buffer of", "the vsock connection", errno))
}

/// The size that the kernel has granted.
pub fn configuration(socket: RawFd) -> BTreeMap<String, String> {
    let entry = |bytes| ("buffer".to_owned(), format!("{bytes} bytes"));
    read(socket).ok().map(entry).into_iter().collect()
}

fn read(socket: RawFd) -> nix::Result<u64> {
    let mut bytes = 0_u64;
    let mut len = mem::size_of_val(&bytes) as libc::socklen_t;
    // SAFETY: a value of the length that is given, which outlives the call.
    let got = unsafe {
        libc::getsockopt(socket, libc::AF_VSOCK, SIZE, (&raw mut bytes).cast(), &mut len)
    };
    Errno::result(got).map(|_| bytes)
}

/// No size exceeds the greatest one, so that comes first; a user may set both.
fn write(socket: RawFd, bytes: u64) -> nix::Result<()> {
    for option in [MOST, SIZE] {
        let at = (&raw const bytes).cast();
        let len = mem::size_of_val(&bytes) as libc::socklen_t;
        // SAFETY: a value of the length that is given.
        Errno::result(unsafe { libc::setsockopt(socket, libc::AF_VSOCK, option, at, len) })?;
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::os::fd::AsRawFd;

    use ipcmark_transport::Wait;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

    use super::*;

    /// An option is that of a socket, connected or not.
    #[test]
    fn the_buffer_fits_a_whole_message_unless_the_user_sets_it() {
        let flags = SockFlag::SOCK_CLOEXEC;
        let Ok(made) = socket(AddressFamily::Vsock, SockType::Stream, flags, None) else { return };
        let fd = made.as_raw_fd();
        let of_kernel = read(fd).unwrap();
        let mut settings = crate::testing::settings(Wait::Spin, 64);
        set(fd, &settings).unwrap();
        assert_eq!(read(fd).unwrap(), of_kernel);
        settings.payload = 4 << 20;
        set(fd, &settings).unwrap();
        assert_eq!(read(fd).unwrap(), (4 << 20) + HEAD as u64);
        settings.options.insert("buffer".into(), "8192".into());
        set(fd, &settings).unwrap();
        assert_eq!(configuration(fd)["buffer"], "8192 bytes");
    }
}
