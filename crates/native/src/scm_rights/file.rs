//! The memory file of one message: creation, sealing, checking, reading.

use std::{
    io, mem,
    ops::Deref,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr::NonNull,
    slice,
};

use ipcmark_transport::Error;

const OBJECT: &str = "the memory file of a message";

/// Irreversible seals: neither size nor content can change any more.
const SEALS: libc::c_int =
    libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;

/// Required seals: without them, the peer could kill the receiver (SIGBUS), or change the message during the read.
const NEEDED: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_WRITE;

/// Creates the sealed file of a message.
#[inline]
pub(super) fn make(message: &[u8]) -> Result<OwnedFd, Error> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is terminated.
    let fd = unsafe { libc::memfd_create(c"ipcmark-message".as_ptr(), flags) };
    if fd < 0 {
        return Err(Error::scarce("create", OBJECT, io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was just created and has no other owner.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    write(fd, message)?;
    // SAFETY: no memory is passed.
    match unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, SEALS) } {
        0 => Ok(file),
        _ => Err(Error::last_os("seal", OBJECT)),
    }
}

/// Writes the whole message; a signal can interrupt a call early.
#[inline]
fn write(fd: libc::c_int, message: &[u8]) -> Result<(), Error> {
    whole(message.len(), "write to", |from| {
        // SAFETY: the rest of the message is valid memory.
        unsafe { libc::write(fd, message[from..].as_ptr().cast(), message.len() - from) }
    })
}

/// Reads a file that has been checked.
#[inline]
pub(super) fn read(file: &OwnedFd, to: &mut [u8]) -> Result<(), Error> {
    whole(to.len(), "read", |from| {
        let rest = &mut to[from..];
        // SAFETY: the rest of the room is valid memory. `pread`, because the sender has moved the shared file position.
        unsafe {
            libc::pread(file.as_raw_fd(), rest.as_mut_ptr().cast(), rest.len(), from as libc::off_t)
        }
    })
}

/// Repeats a call until all bytes are transferred.
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

/// Checks the peer's descriptor, which may refer to anything. The seals come first: only a memory file has seals,
/// and any other file could make the next call hang.
#[inline]
pub(super) fn check(file: &OwnedFd, len: usize) -> Result<(), Error> {
    // SAFETY: no memory is passed.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    if seals < 0 || seals & NEEDED != NEEDED {
        return Err(foreign("seals"));
    }
    // SAFETY: all zeros are a valid value; the call writes only into it.
    let stat = unsafe {
        let mut stat: libc::stat = mem::zeroed();
        (libc::fstat(file.as_raw_fd(), &mut stat) == 0).then_some(stat)
    };
    let stat = stat.ok_or_else(|| Error::last_os("look at", OBJECT))?;
    if stat.st_size == len as libc::off_t { Ok(()) } else { Err(foreign("a size")) }
}

/// The error for data that no end of ours sends.
#[cold]
pub(super) fn foreign(what: &str) -> Error {
    Error::new("use", OBJECT, format!("it came with {what} that no message has"))
}

/// A message in place: a read-only mapping for the lifetime of this value.
pub(super) struct MappedMessage {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: this value alone owns the memory, in any thread, and only reads it.
unsafe impl Send for MappedMessage {}

impl MappedMessage {
    /// Maps a checked file, with all pages at once: a fault for each would cost more.
    #[inline]
    pub(super) fn new(file: &OwnedFd, len: usize) -> Result<Self, Error> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses.
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

impl Deref for MappedMessage {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: mapped with this length; the seals prevent changes to the file.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl Drop for MappedMessage {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no pointer into it remains.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}
