//! The open descriptors of this process, and the system's data on those that are sockets.

use std::{collections::BTreeMap, fs, mem, os::fd::RawFd, path::PathBuf};

use nix::sys::socket::{SockaddrStorage, getsockname};

/// Descriptors, each with the system's name for its object.
pub(super) type NamedDescriptors = BTreeMap<RawFd, PathBuf>;

/// All open descriptors.
pub(super) fn all() -> NamedDescriptors {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let descriptor = |entry: fs::DirEntry| {
        let fd = entry.file_name().to_str()?.parse().ok()?;
        Some((fd, fs::read_link(entry.path()).ok()?))
    };
    entries.filter_map(descriptor).collect()
}

/// True if a descriptor is a socket that communicates over a network interface: one that has a port, or a raw one.
/// The system's tables would tell this too, but reading those of TCP takes some milliseconds on a machine with much
/// memory.
pub(super) fn speaks_over_network(fd: RawFd) -> bool {
    let of_socket = |name| socket_option(fd, libc::SOL_SOCKET, name);
    let is_of_network = matches!(of_socket(libc::SO_DOMAIN), Some(libc::AF_INET | libc::AF_INET6));
    is_of_network
        && (of_socket(libc::SO_TYPE) == Some(libc::SOCK_RAW)
            || port(fd).is_some_and(|port| port > 0))
}

/// The port of a network socket; 0 if it has none yet.
fn port(fd: RawFd) -> Option<u16> {
    let address = getsockname::<SockaddrStorage>(fd).ok()?;
    let of_four = address.as_sockaddr_in().map(|address| address.port());
    of_four.or_else(|| address.as_sockaddr_in6().map(|address| address.port()))
}

/// The value of a numeric socket option.
pub(super) fn socket_option(
    fd: RawFd,
    level: libc::c_int,
    name: libc::c_int,
) -> Option<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut len = mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the value has the length that is given, and outlives the call; a descriptor that is closed or no
    // socket is refused.
    let result = unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &mut len) };
    (result == 0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        net::{TcpListener, TcpStream, UdpSocket},
        os::{fd::AsRawFd, unix::net::UnixDatagram},
    };

    #[test]
    fn sockets_with_a_port_use_the_network_and_others_do_not() {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let listener = TcpListener::bind("[::1]:0").or_else(|_| TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        for fd in [udp.as_raw_fd(), listener.as_raw_fd(), tcp.as_raw_fd()] {
            assert!(speaks_over_network(fd));
        }
        let unix = UnixDatagram::unbound().unwrap();
        let file = fs::File::open("/proc/self/exe").unwrap();
        for fd in [unix.as_raw_fd(), file.as_raw_fd(), -1] {
            assert!(!speaks_over_network(fd));
        }
        assert!(all().contains_key(&udp.as_raw_fd()));
    }

    #[test]
    fn a_socket_that_was_only_made_carries_nothing() {
        use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
        let flags = SockFlag::SOCK_CLOEXEC;
        let made = socket(AddressFamily::Inet, SockType::Datagram, flags, None).unwrap();
        assert!(!speaks_over_network(made.as_raw_fd()));
    }
}
