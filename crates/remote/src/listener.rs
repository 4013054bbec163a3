//! The socket at which a leader listens, and the peers that may begin a greeting.

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

/// A listening socket. Accepting never sleeps.
pub(crate) struct Listener {
    socket: OwnedFd,
    /// The address as shown to users.
    pub address: String,
    pub required_proof: RequiredProof,
    /// The file of a Unix socket, removed with the listener.
    _file: Option<SocketFile>,
}

/// The proof that a follower must give.
pub(crate) enum RequiredProof {
    /// Its user is one of these.
    Users(AllowedUsers),
    /// It knows the secret.
    Secret(Secret),
}

impl Listener {
    /// Starts to listen. Called while this process has one thread.
    pub(crate) fn open(address: &LeaderAddress) -> Result<Self, Error> {
        match address {
            LeaderAddress::Socket(path, users) => Self::at_path(path, users),
            LeaderAddress::Tcp(address, secret) => Self::at_address(*address, secret),
        }
    }

    fn at_path(path: &Path, users: &AllowedUsers) -> Result<Self, Error> {
        let (socket, file) = SocketFile::listen(path, users.socket_mode())?;
        let required_proof = RequiredProof::Users(users.clone());
        Ok(Self { socket, address: path.display().to_string(), required_proof, _file: Some(file) })
    }

    fn at_address(address: SocketAddr, secret: &Secret) -> Result<Self, Error> {
        let failed = |error| Error::os("listen at", address.to_string(), error);
        let listener = TcpListener::from(listen_at(address).map_err(|e| failed(e.into()))?);
        let address = listener.local_addr().map_err(failed)?.to_string();
        let required_proof = RequiredProof::Secret(secret.clone());
        Ok(Self { socket: listener.into(), address, required_proof, _file: None })
    }

    /// The next waiting connection, if any.
    pub(crate) fn accept(&self) -> Result<Option<OwnedFd>, Errno> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        match accept4(self.socket.as_raw_fd(), flags) {
            // SAFETY: the kernel has just made the descriptor, and nobody else owns it.
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

/// Listens with the longest queue that the system allows: strangers may fill a short one.
fn listen_at(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(family, SockType::Stream, flags, None)?;
    // Otherwise a new leader could not bind the address right after the previous one ended.
    setsockopt(&listener, sockopt::ReuseAddr, &true)?;
    bind(listener.as_raw_fd(), &SockaddrStorage::from(address))?;
    listen(&listener, Backlog::MAXCONN)?;
    Ok(listener)
}

/// The peer's address as shown to users.
pub(crate) fn peer_of(stream: &TcpStream) -> String {
    stream.peer_addr().map_or("an unknown address".into(), |address| address.to_string())
}
