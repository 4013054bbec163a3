//! The socket at which a leader listens, and whom it lets begin a greeting.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    path::Path,
};

use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    sys::socket::{
        AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, accept4, bind, listen,
        setsockopt, socket, sockopt,
    },
};

use crate::{LeaderAddress, secret::Secret, socket_file::SocketFile, users::AllowedUsers};

/// A socket that listens. Accepting never sleeps.
pub(crate) struct Listener {
    socket: OwnedFd,
    /// The address, for people.
    pub address: String,
    pub admission: Admission,
    /// The file of a Unix socket, removed with the listener.
    _file: Option<SocketFile>,
}

/// What a follower must prove.
pub(crate) enum Admission {
    /// That its user is one of these.
    Users(AllowedUsers),
    /// That it knows the secret.
    Secret(Secret),
}

impl Listener {
    /// Listens. Called while this process has one thread.
    pub(crate) fn open(address: &LeaderAddress) -> Result<Self, Error> {
        match address {
            LeaderAddress::Socket(path, users) => Self::at_path(path, users),
            LeaderAddress::Tcp(address, secret) => Self::at_address(*address, secret),
        }
    }

    fn at_path(path: &Path, users: &AllowedUsers) -> Result<Self, Error> {
        let (socket, file) = SocketFile::listen(path, users.socket_mode())?;
        let admission = Admission::Users(users.clone());
        Ok(Self { socket, address: path.display().to_string(), admission, _file: Some(file) })
    }

    fn at_address(address: SocketAddr, secret: &Secret) -> Result<Self, Error> {
        let failed = |error| Error::os("listen at", address.to_string(), error);
        let listener = TcpListener::from(listen_at(address).map_err(|e| failed(e.into()))?);
        let address = listener.local_addr().map_err(failed)?.to_string();
        let admission = Admission::Secret(secret.clone());
        Ok(Self { socket: listener.into(), address, admission, _file: None })
    }

    /// The next connection that waits, if one does.
    pub(crate) fn accept(&self) -> Result<Option<OwnedFd>, Errno> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        match accept4(self.socket.as_raw_fd(), flags) {
            // SAFETY: the kernel has just made the descriptor, and nobody else has it.
            Ok(fd) => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNABORTED) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// With the longest queue that the system allows: strangers may fill a short one.
fn listen_at(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(family, SockType::Stream, flags, None)?;
    // A leader that follows another at once finds the address as that left it.
    setsockopt(&listener, sockopt::ReuseAddr, &true)?;
    bind(listener.as_raw_fd(), &SockaddrStorage::from(address))?;
    listen(&listener, Backlog::MAXCONN)?;
    Ok(listener)
}

/// Where both ends of a connection are, for people.
pub(crate) fn peer_of(stream: &TcpStream) -> String {
    stream.peer_addr().map_or("an unknown address".into(), |address| address.to_string())
}
