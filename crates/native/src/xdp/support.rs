//! The check that this process may have the objects of the transport: it makes each of them once.

use std::os::fd::AsFd;

use ipcmark_transport::{Availability, Error};
use nix::errno::Errno;

use super::{program, wires};

const RIGHTS_REMEDY: &str = "run as root, outside of user namespaces: CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_BPF, and \
                             for a container a seccomp profile that allows bpf and unshare";
const KERNEL_REMEDY: &str = "a kernel since 5.4 with CONFIG_XDP_SOCKETS and CONFIG_VETH";

/// The availability of the transport.
pub fn probe() -> Availability {
    match tried() {
        Ok(()) => Availability::Available { version: None },
        Err(error) => {
            let error = explained(error);
            let [operation, object, cause] = error.parts();
            let reason = format!("this process cannot {operation} {object}: {cause}");
            Availability::Unavailable { reason, install: error.remedy_text().map(str::to_owned) }
        }
    }
}

/// Makes each object; the one that is refused most often comes first.
fn tried() -> Result<(), Error> {
    let failed = |errno| Error::os("load", "an XDP program", errno);
    let map = program::map().map_err(failed)?;
    program::load(map.as_fd()).map_err(failed)?;
    wires::socket()?;
    wires::create().map(drop)
}

/// The same error with what helps.
pub fn explained(error: Error) -> Error {
    match error.os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => error.remedy(RIGHTS_REMEDY),
        Some(Errno::EAFNOSUPPORT | Errno::ENOSYS | Errno::EINVAL) => error.remedy(KERNEL_REMEDY),
        _ => error,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_remedy() {
        let of = |errno| explained(Error::os("make", "a thing", errno));
        assert_eq!(of(Errno::EPERM).remedy_text(), Some(RIGHTS_REMEDY));
        assert_eq!(of(Errno::EAFNOSUPPORT).remedy_text(), Some(KERNEL_REMEDY));
        assert_eq!(of(Errno::EIO).remedy_text(), None);
    }
}
