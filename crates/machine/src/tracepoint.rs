//! Tracepoints of the kernel, by name.

use std::{
    ffi::CStr,
    fs::{self, File},
    io::{self, Read},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use ipcmark_transport::Error;

/// Where tracefs is mounted, where it is.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The number by which the kernel knows the tracepoint of this name, such as `sched/sched_waking`.
///
/// # Errors
/// The system lets nobody see its tracepoints, or has none of this name.
pub fn id(name: &str) -> Result<u64, Error> {
    let file = format!("events/{name}/id");
    let mounted =
        PLACES.iter().find_map(|place| fs::read_to_string(format!("{place}/{file}")).ok());
    let text = mounted.map_or_else(|| unmounted(&file), Ok).map_err(|error| {
        Error::new("read", format!("the tracepoint {name}"), error.to_string()).remedy(
            "run as root on a kernel with tracepoints, outside a container or with CAP_SYS_ADMIN",
        )
    })?;
    let number = text.trim().parse();
    number.map_err(|_| Error::new("read", format!("the tracepoint {name}"), "its number is none"))
}

/// A file of a tracefs that is mounted nowhere: no process sees it, and it is gone with its descriptor.
fn unmounted(file: &str) -> io::Result<String> {
    // As in linux/mount.h.
    const CLOEXEC: i64 = 1;
    const CREATE: i64 = 6;
    let context = descriptor(call(libc::SYS_fsopen, [c"tracefs".as_ptr() as i64, CLOEXEC, 0])?);
    call(libc::SYS_fsconfig, [context.as_raw_fd().into(), CREATE, 0])?;
    let root = descriptor(call(libc::SYS_fsmount, [context.as_raw_fd().into(), CLOEXEC, 0])?);
    let file = std::ffi::CString::new(file)?;
    let mut text = String::new();
    open_below(&root, &file)?.read_to_string(&mut text)?;
    Ok(text)
}

fn open_below(root: &OwnedFd, file: &CStr) -> io::Result<File> {
    let flags = i64::from(libc::O_RDONLY | libc::O_CLOEXEC);
    let arguments = [root.as_raw_fd().into(), file.as_ptr() as i64, flags];
    Ok(File::from(descriptor(call(libc::SYS_openat, arguments)?)))
}

/// A system call that takes numbers and texts; those that it is not given are 0.
fn call(number: libc::c_long, [first, second, third]: [i64; 3]) -> io::Result<RawFd> {
    // SAFETY: the calls above read texts that end with 0 and write no memory of this process.
    let done = unsafe { libc::syscall(number, first, second, third, 0, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as RawFd) }
}

fn descriptor(fd: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made it for the caller alone.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracepoint_has_a_number_or_a_reason() {
        match id("sched/sched_waking") {
            Ok(number) => assert!(number > 0),
            Err(error) => assert!(error.to_string().contains("sched_waking"), "{error}"),
        }
        let error = id("sched/nothing_of_this_name").unwrap_err();
        assert!(error.remedy_text().is_some(), "{error}");
    }
}
