// Checks if `/dev/shm` has room for the memory that a library will map.

use std::{ffi::CString, path::Path};

use ipcmark_transport::Error;

/// The directory of the libraries' shared memory.
pub const SHARED_MEMORY: &str = "/dev/shm";

/// Writing to shared memory that cannot be backed raises SIGBUS.
pub fn check(bytes: usize) -> Result<(), Error> {
    let left = free_bytes(Path::new(SHARED_MEMORY));
    if left.is_none_or(|left| left >= bytes) {
        return Ok(());
    }
    let (needed, left) = ((bytes >> 20) + 1, left.unwrap_or(0) >> 20);
    let cause = format!("{needed} MiB are needed, and {left} are left");
    let error = Error::new("find room in", SHARED_MEMORY, cause);
    Err(error.remedy("enlarge it: mount -o remount,size=1G /dev/shm"))
}

fn free_bytes(path: &Path) -> Option<usize> {
    let path = CString::new(path.to_str()?).ok()?;
    // SAFETY: all zeros is a valid statvfs, and the call fills it in.
    let mut space: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a NUL-terminated path and room for the answer.
    let result = unsafe { libc::statvfs(path.as_ptr(), &mut space) };
    (result == 0).then_some(space.f_bavail as usize * space.f_frsize as usize)
}
