//! Unguessable numbers.

use ipcmark_transport::Error;

/// A random number from the kernel.
pub fn number() -> Result<u64, Error> {
    let mut bytes = [0_u8; 8];
    // SAFETY: the buffer is valid for its whole length.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if count == bytes.len() as isize {
        Ok(u64::from_ne_bytes(bytes))
    } else {
        Err(Error::last_os("read", "random bytes"))
    }
}
