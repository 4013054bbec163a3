//! The memory file of one message: made, sealed, looked at, read.

use std::{
    io, mem,
    ops::Deref,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr::NonNull,
    slice,
};

use ipcmark_transport::Error;

const OBJECT: &str = "the memory file of a message";

/// What nobody can undo: neither size nor content changes any more.
const SEALS: libc::c_int =
    libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;

/// Seals without which the receiver could be killed (SIGBUS), or the message change while it is read.
const NEEDED: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_WRITE;

/// Makes the sealed file of a message.
#[inline]
pub(super) fn make(message: &[u8]) -> Result<OwnedFd, Error> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is terminated.
    let fd = unsafe { libc::memfd_create(c"ipcmark-message".as_ptr(), flags) };
    if fd < 0 {
        return Err(Error::scarce("create", OBJECT, io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was made just now and is nobody else's.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    write(fd, message)?;
    // SAFETY: no memory is passed.
    match unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, SEALS) } {
        0 => Ok(file),
        _ => Err(Error::last_os("seal", OBJECT)),
    }
}

/// A signal can cut a call short.
#[inline]
fn write(fd: libc::c_int, message: &[u8]) -> Result<(), Error> {
    whole(message.len(), "write to", |from| {
        // SAFETY: what is left of the message from there.
        unsafe { libc::write(fd, message[from..].as_ptr().cast(), message.len() - from) }
    })
}

/// Reads a file that was checked.
#[inline]
pub(super) fn read(file: &OwnedFd, to: &mut [u8]) -> Result<(), Error> {
    whole(to.len(), "read", |from| {
        let rest = &mut to[from..];
        // SAFETY: what is left of the room from there. `pread`, for the sender has moved the one position that both have.
        unsafe {
            libc::pread(file.as_raw_fd(), rest.as_mut_ptr().cast(), rest.len(), from as libc::off_t)
        }
    })
}

/// Repeats a call until all bytes have gone.
#[inline]
fn whole(
    len: usize,
    operation: &'static str,
    mut call: impl FnMut(usize) -> isize,
) -> Result<(), Error> {
    let mut done = 0;
    while done < len {
        match call(done) {
            count if count > 0 => done += count as usize,
            0 => return Err(foreign("a size")),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(Error::scarce(operation, OBJECT, io::Error::last_os_error())),
        }
    }
    Ok(())
}

/// Checks what the other process sent: it may be a descriptor of anything. The seals come first: only a memory file has
/// some, and everything else could make the next call hang.
#[inline]
pub(super) fn check(file: &OwnedFd, len: usize) -> Result<(), Error> {
    // SAFETY: no memory is passed.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    if seals < 0 || seals & NEEDED != NEEDED {
        return Err(foreign("seals"));
    }
    // SAFETY: all zeros are a valid value; the call writes into it alone.
    let stat = unsafe {
        let mut stat: libc::stat = mem::zeroed();
        (libc::fstat(file.as_raw_fd(), &mut stat) == 0).then_some(stat)
    };
    let stat = stat.ok_or_else(|| Error::last_os("look at", OBJECT))?;
    if stat.st_size == len as libc::off_t { Ok(()) } else { Err(foreign("a size")) }
}

/// The error for something that no end of ours sends.
#[cold]
pub(super) fn foreign(what: &str) -> Error {
    Error::new("use", OBJECT, format!("it came with {what} that no message has"))
}

/// A message where it lies: mapped to read as long as this lives.
pub(super) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is this value's alone, whichever thread has it, and is only read.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps a file that was checked. All its pages at once: a fault for each would cost more.
    #[inline]
    pub(super) fn new(file: &OwnedFd, len: usize) -> Result<Self, Error> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, flags, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(Error::scarce("map", OBJECT, io::Error::last_os_error()));
        }
        let base = NonNull::new(base.cast()).expect("no mapping lies at 0");
        Ok(Self { base, len })
    }
}

impl Deref for Mapping {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: mapped with this length; the seals keep the file as it is.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl Drop for Mapping {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nobody points into it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}
