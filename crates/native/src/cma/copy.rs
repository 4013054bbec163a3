//! The copy out of another process's memory, and the meaning of its errors.

use std::io;

use ipcmark_transport::Error;

use crate::{shared, traceable};

/// The operation and object of a copy's errors.
pub(super) const OPERATION: &str = "read the memory of";
pub(super) const OBJECT: &str = "the other process";

/// Fills `to` from an address of another process.
#[inline]
pub(super) fn copy(process: libc::pid_t, address: u64, to: &mut [u8]) -> Result<(), Error> {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address as usize),
        iov_len: to.len(),
    };
    // SAFETY: the kernel writes into `to` alone, and checks the address in the other process itself.
    let copied = unsafe { libc::process_vm_readv(process, &local, 1, &remote, 1, 0) };
    if copied == to.len() as isize { Ok(()) } else { Err(not_copied(copied)) }
}

#[cold]
fn not_copied(copied: isize) -> Error {
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        _ if copied >= 0 => shared::corrupt("address"),
        Some(libc::ESRCH) => Error::peer_gone(OPERATION, OBJECT),
        Some(libc::EPERM) => Error::os(OPERATION, OBJECT, error).remedy(traceable::REMEDY),
        _ => Error::os(OPERATION, OBJECT, error),
    }
}
