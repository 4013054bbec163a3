//! The check that the kernel can connect two processes of this machine: it takes an address for that.

use std::os::fd::AsRawFd;

use ipcmark_transport::Availability;
use nix::{
    errno::Errno,
    sys::socket::{AddressFamily, SockFlag, SockType, VsockAddr, bind, socket},
};

const MODULE_REMEDY: &str =
    "modprobe vsock_loopback, on a kernel that was built with CONFIG_VSOCKETS_LOOPBACK";
const FILTER_REMEDY: &str = "allow sockets of AF_VSOCK, which the default seccomp profiles of containers refuse: \
                             --security-opt seccomp=PROFILE";

/// The address of this machine, with whatever port is free.
pub fn own_address() -> VsockAddr {
    VsockAddr::new(libc::VMADDR_CID_LOCAL, libc::VMADDR_PORT_ANY)
}

/// The availability of the transport. The kernel gives an address of this machine only if it has the loopback
/// transport, and answers at once. Without it, a connection would go to the hypervisor and fail after seconds.
pub fn probe() -> Availability {
    match missing(try_address()) {
        None => Availability::Available { version: None },
        Some((reason, remedy)) => {
            Availability::Unavailable { reason, install: Some(remedy.into()) }
        }
    }
}

/// The call that failed.
struct FailedCall(&'static str, Errno);

fn try_address() -> Result<(), FailedCall> {
    let made = socket(AddressFamily::Vsock, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
    let socket = made.map_err(|errno| FailedCall("socket(AF_VSOCK)", errno))?;
    bind(socket.as_raw_fd(), &own_address())
        .map_err(|errno| FailedCall("bind to VMADDR_CID_LOCAL", errno))
}

/// The missing part and its remedy.
fn missing(tried: Result<(), FailedCall>) -> Option<(String, &'static str)> {
    let FailedCall(call, errno) = tried.err()?;
    Some(match errno {
        Errno::EAFNOSUPPORT => ("this kernel has no vsock sockets".into(), MODULE_REMEDY),
        Errno::EADDRNOTAVAIL => (
            "this kernel has vsock sockets, but no loopback transport for them".into(),
            MODULE_REMEDY,
        ),
        Errno::EPERM | Errno::EACCES => {
            (format!("{call} is refused: {}", errno.desc()), FILTER_REMEDY)
        }
        _ => (format!("{call} fails: {}", errno.desc()), MODULE_REMEDY),
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_refusal_has_its_reason_and_its_remedy() {
        let of = |errno| missing(Err(FailedCall("socket(AF_VSOCK)", errno))).unwrap();
        let (reason, remedy) = of(Errno::EADDRNOTAVAIL);
        assert!(reason.contains("no loopback transport"), "{reason}");
        assert!(remedy.starts_with("modprobe vsock_loopback"), "{remedy}");
        assert!(of(Errno::EAFNOSUPPORT).0.contains("no vsock sockets"));
        let (reason, remedy) = of(Errno::EPERM);
        assert_eq!(reason, "socket(AF_VSOCK) is refused: Operation not permitted");
        assert_eq!(remedy, FILTER_REMEDY);
        assert_eq!(of(Errno::ENOMEM).0, "socket(AF_VSOCK) fails: Out of memory");
        assert_eq!(missing(Ok(())), None);
    }

    /// The module shows where it is loaded; where it is built in it need not.
    #[test]
    fn a_kernel_with_the_module_has_the_transport() {
        let refused = matches!(&try_address(), Err(FailedCall("socket(AF_VSOCK)", _)));
        if Path::new("/sys/module/vsock_loopback").exists() && !refused {
            assert!(try_address().is_ok());
        }
    }
}
