//! The loopback interface of a network namespace, which initially is down and has no routes.

use std::{
    ffi::{c_char, c_short, c_ulong, c_ushort, c_void},
    io,
    os::fd::AsRawFd,
    ptr,
};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// `lo`, in the form of the system calls.
const NAME: &[u8; 3] = b"lo\0";

/// Sets it up, and adds the multicast route that a machine's own network would have. 127.0.0.1 needs no route.
///
/// # Errors
/// The system refuses to set it up. If it refuses only multicast, programs that need multicast find no route.
pub fn raise() -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: an interface request that is all zeros is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME) {
        *to = *from as c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as c_short;
    // SAFETY: the descriptor is open, and the request names an interface.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let route = Route::multicast();
    // SAFETY: the descriptor is open, and the name of the interface lives as long as the process.
    unsafe { libc::ioctl(socket.as_raw_fd(), SIOCADDRT, &raw const route) };
    Ok(())
}

/// From `linux/sockios.h`; the crate defines it for some C libraries only.
const SIOCADDRT: c_ulong = 0x890B;
/// From `linux/route.h`.
const RTF_UP: c_ushort = 1;

/// `struct rtentry` of `linux/route.h`, which the crate defines for some C libraries only.
#[repr(C)]
struct Route {
    pad1: c_ulong,
    destination: libc::sockaddr_in,
    gateway: libc::sockaddr_in,
    mask: libc::sockaddr_in,
    flags: c_ushort,
    pad2: c_short,
    pad3: c_ulong,
    pad4: *const c_void,
    metric: c_short,
    device: *const u8,
    mtu: c_ulong,
    window: c_ulong,
    initial_round_trip: c_ushort,
}

impl Route {
    /// 224.0.0.0/4 through the loopback interface.
    fn multicast() -> Self {
        Self {
            pad1: 0,
            destination: address([224, 0, 0, 0]),
            gateway: address([0; 4]),
            mask: address([240, 0, 0, 0]),
            flags: RTF_UP,
            pad2: 0,
            pad3: 0,
            pad4: ptr::null(),
            metric: 0,
            device: NAME.as_ptr(),
            mtu: 0,
            window: 0,
            initial_round_trip: 0,
        }
    }
}

fn address(bytes: [u8; 4]) -> libc::sockaddr_in {
    // SAFETY: an address that is all zeros is a valid one.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_addr.s_addr = u32::from_ne_bytes(bytes);
    address
}
