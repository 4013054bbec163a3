//! Checks if the system lets this process have rings, by creating and using one.

use std::io;

use io_uring::{IoUring, Probe, opcode};
use ipcmark_transport::{Availability, Error};

use crate::limits;

/// The file of the kernel's io_uring policy (Linux 6.6).
const DISABLED: &str = "kernel/io_uring_disabled";

const SYSCTL_REMEDY: &str = "sysctl kernel.io_uring_disabled=0";
const FILTER_REMEDY: &str = "allow io_uring_setup, io_uring_enter and io_uring_register, which the default seccomp \
                             profiles of containers refuse: --security-opt seccomp=PROFILE";
const MEMORY_REMEDY: &str = "allow more locked memory: ulimit -l unlimited";
const KERNEL_REMEDY: &str = "a newer kernel";

/// An operation that a transport needs.
pub struct Operation {
    /// Its number.
    pub code: u8,
    /// Its name.
    pub name: &'static str,
    /// The first Linux version with it.
    pub since: &'static str,
}

/// Cancels pending requests when an end is closed.
pub const CANCEL: Operation =
    Operation { code: opcode::AsyncCancel::CODE, name: "IORING_OP_ASYNC_CANCEL", since: "5.5" };

/// Available if this process can have a ring with these operations.
pub fn probe(operations: &[Operation]) -> Availability {
    match missing(operations) {
        None => Availability::Available { version: None },
        Some((reason, remedy)) => {
            Availability::Unavailable { reason, install: Some(remedy.into()) }
        }
    }
}

/// The missing part, and the remedy.
fn missing(operations: &[Operation]) -> Option<(String, &'static str)> {
    let ring = match IoUring::new(2) {
        Ok(ring) => ring,
        Err(error) => return Some(refused("io_uring_setup", &error)),
    };
    let mut known = Probe::new();
    if let Err(error) = ring.submitter().register_probe(&mut known) {
        return Some(refused("io_uring_register", &error));
    }
    if let Err(error) = use_once(ring) {
        return Some(refused("io_uring_enter", &error));
    }
    let lacking = operations.iter().find(|operation| !known.is_supported(operation.code))?;
    let Operation { name, since, .. } = lacking;
    Some((
        format!("this kernel's io_uring has no {name}, which came with Linux {since}"),
        KERNEL_REMEDY,
    ))
}

/// Submits a request that does nothing, and waits for its completion.
fn use_once(mut ring: IoUring) -> io::Result<()> {
    // SAFETY: the request refers to no memory.
    let pushed = unsafe { ring.submission().push(&opcode::Nop::new().build()) };
    pushed.map_err(io::Error::other)?;
    ring.submit_and_wait(1).map(drop)
}

/// The reason why a call was refused, and the remedy.
fn refused(call: &str, error: &io::Error) -> (String, &'static str) {
    let refused = |because: &str, remedy| (format!("{call} is refused: {because}"), remedy);
    match (error.raw_os_error(), limits::read(DISABLED)) {
        (Some(libc::EPERM), Some(2..)) => {
            refused("no process may use io_uring (kernel.io_uring_disabled is 2)", SYSCTL_REMEDY)
        }
        (Some(libc::EPERM), Some(1)) => refused(
            "only CAP_SYS_ADMIN and the group in kernel.io_uring_group may use io_uring \
             (kernel.io_uring_disabled is 1)",
            SYSCTL_REMEDY,
        ),
        (Some(libc::ENOMEM), _) => refused(&error.to_string(), MEMORY_REMEDY),
        (Some(libc::EINVAL), _) => refused(&error.to_string(), KERNEL_REMEDY),
        _ => refused(&error.to_string(), FILTER_REMEDY),
    }
}

/// Adds the remedy to an error.
pub fn explained(error: Error) -> Error {
    match error.os_error() {
        Some(libc::ENOMEM) => error.remedy(MEMORY_REMEDY),
        Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => error.remedy(FILTER_REMEDY),
        _ => error,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::lacks;

    #[test]
    fn operations_missing_in_the_kernel_are_named() {
        if lacks(probe(&[])) {
            return;
        }
        assert_eq!(probe(&[CANCEL]), Availability::Available { version: None });
        let none = Operation { code: u8::MAX, name: "IORING_OP_NONE", since: "99.9" };
        let (reason, remedy) = missing(&[CANCEL, none]).unwrap();
        assert!(reason.contains("has no IORING_OP_NONE, which came with Linux 99.9"), "{reason}");
        assert_eq!(remedy, KERNEL_REMEDY);
    }

    #[test]
    fn a_refusal_has_its_remedy() {
        let of = |errno| refused("io_uring_setup", &io::Error::from_raw_os_error(errno));
        let (reason, remedy) = of(libc::ENOSYS);
        assert!(
            reason.starts_with("io_uring_setup is refused: Function not implemented"),
            "{reason}"
        );
        assert_eq!(remedy, FILTER_REMEDY);
        assert_eq!(of(libc::ENOMEM).1, MEMORY_REMEDY);
        assert_eq!(of(libc::EINVAL).1, KERNEL_REMEDY);
        let error =
            explained(Error::os("set up", "a ring", io::Error::from_raw_os_error(libc::EPERM)));
        assert_eq!(error.remedy_text(), Some(FILTER_REMEDY));
    }
}
