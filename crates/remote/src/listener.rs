//! Where a leader waits for followers. Whoever connects is heard in a thread of its own, so that one
//! who says nothing, or nonsense, holds nobody up.

use std::{
    fs,
    io::{self, ErrorKind},
    net::{TcpListener, TcpStream},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::FileTypeExt,
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use ipcmark_engine::HostAddresses;
use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    sys::{
        socket::{
            AddressFamily, Backlog, Shutdown, SockFlag, SockType, UnixAddr, accept4, bind, connect,
            listen, setsockopt, shutdown, socket, sockopt,
        },
        time::TimeVal,
    },
};

use crate::{
    FollowerConnection, LeaderAddress,
    greeting::Greeting,
    records::{PATIENCE, Records},
    secret::Secret,
    tunnel,
};

/// So many are heard at once; whoever else comes waits until one of them is done.
const MOST_AT_ONCE: usize = 32;

/// So many strangers are told of; more would hide what else is said.
const MOST_TOLD: usize = 5;

/// A place where followers can come.
pub(crate) struct Listener {
    listener: OwnedFd,
    come: Receiver<FollowerConnection>,
    /// The socket, to be removed with the gate.
    path: Option<PathBuf>,
}

impl Listener {
    /// Opens the place of a address.
    pub(crate) fn open(address: &LeaderAddress) -> Result<Self, Error> {
        let (came, come) = channel();
        match address {
            LeaderAddress::Socket(path) => {
                let listener = listen_here(path)?;
                let waiting = duplicate(&listener)?;
                thread::spawn(move || welcome(&came, || accept_here(&waiting)));
                Ok(Self { listener, come, path: Some(path.clone()) })
            }
            LeaderAddress::Tcp(address, secret) => {
                let failed = |e| Error::os("listen at", address.to_string(), e);
                let listener = TcpListener::bind(address).map_err(failed)?;
                let (waiting, secret) = (listener.try_clone().map_err(failed)?, secret.clone());
                thread::spawn(move || welcome(&came, || accept_there(&waiting, &secret)));
                Ok(Self { listener: listener.into(), come, path: None })
            }
        }
    }

    /// Whether those who come here can be on other hosts.
    pub(crate) fn is_remote(&self) -> bool {
        self.path.is_none()
    }

    /// The next follower, if one comes in time.
    pub(crate) fn next(&self, patience: Duration) -> Option<FollowerConnection> {
        self.come.recv_timeout(patience).ok()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // The thread that accepts is woken up and ends.
        let _ = shutdown(self.listener.as_raw_fd(), Shutdown::Both);
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// A conversation that tells who has connected.
type Hearing = Box<dyn FnOnce() -> Result<FollowerConnection, Error> + Send>;

/// Hears whoever connects, until the gate is closed.
fn welcome(came: &Sender<FollowerConnection>, accept: impl Fn() -> io::Result<Hearing>) {
    let (heard, strangers) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    loop {
        let hear = match accept() {
            Ok(hear) => hear,
            // No descriptors left, or somebody who has gone already: others may be luckier.
            Err(error) if passes(&error) => {
                thread::sleep(Duration::from_millis(20));
                continue;
            }
            Err(_) => return,
        };
        while heard.load(Ordering::Relaxed) >= MOST_AT_ONCE {
            thread::sleep(Duration::from_millis(20));
        }
        heard.fetch_add(1, Ordering::Relaxed);
        let (came, heard, strangers) = (came.clone(), Arc::clone(&heard), Arc::clone(&strangers));
        thread::spawn(move || {
            match hear() {
                Ok(companion) => _ = came.send(companion),
                Err(error) => tell_of(strangers.fetch_add(1, Ordering::Relaxed), &error),
            }
            heard.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn tell_of(before: usize, error: &Error) {
    match before {
        0..MOST_TOLD => eprintln!("ipcmark: somebody connected who is no follower: {error}"),
        MOST_TOLD => eprintln!("ipcmark: others like that are not told of any more"),
        _ => {}
    }
}

fn passes(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    error.kind() == ErrorKind::Interrupted
        || matches!(
            errno,
            Some(Errno::ECONNABORTED | Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM)
        )
}

fn accept_here(listener: &OwnedFd) -> io::Result<Hearing> {
    let fd = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC)?;
    // SAFETY: the kernel has just made the descriptor, and nobody else has it.
    let fd = unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) };
    Ok(Box::new(move || hear_here(fd)))
}

fn hear_here(fd: OwnedFd) -> Result<FollowerConnection, Error> {
    set_patience(&fd, PATIENCE)?;
    let frames = FrameSocket::from(fd);
    let (hello, _) = frames.receive()?;
    frames.send(&Greeting::own(false), &[])?;
    let is_silent = Greeting::check(&hello, "follower")?.is_silent;
    set_patience(&frames, Duration::ZERO)?;
    Ok(FollowerConnection { frames, is_silent, addresses: None })
}

fn accept_there(listener: &TcpListener, secret: &Secret) -> io::Result<Hearing> {
    let (stream, _) = listener.accept()?;
    let secret = secret.clone();
    Ok(Box::new(move || hear_there(stream, &secret)))
}

fn hear_there(stream: TcpStream, secret: &Secret) -> Result<FollowerConnection, Error> {
    let failed = |e| Error::os("find", "the addresses of a connection", e);
    let leader = stream.local_addr().map_err(failed)?.ip().to_canonical();
    let follower = stream.peer_addr().map_err(failed)?.ip().to_canonical();
    let (records, hello) = Records::accepted(stream, secret)?;
    let addresses = Some(HostAddresses { leader, follower });
    Ok(FollowerConnection {
        frames: tunnel::start(records)?,
        is_silent: hello.is_silent,
        addresses,
    })
}

/// How long a call on the socket waits at most; not at all limited for 0.
pub(crate) fn set_patience(socket: &impl AsFd, patience: Duration) -> Result<(), Error> {
    let time = TimeVal::new(patience.as_secs() as i64, 0);
    setsockopt(socket, sockopt::ReceiveTimeout, &time)
        .map_err(|e| Error::os("settle", "a socket", e))
}

/// The Unix socket of a leader. One that a dead leader has left is removed.
fn listen_here(path: &Path) -> Result<OwnedFd, Error> {
    let object = format!("the socket {}", path.display());
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket()) {
        if connect_here(path).is_ok() {
            return Err(Error::new("listen at", object, "another leader waits there")
                .remedy("choose another one with --socket, for the follower too"));
        }
        let _ = fs::remove_file(path);
    }
    let failed = |errno: Errno| Error::os("listen at", &object, errno);
    let fd = seqpacket().map_err(failed)?;
    let address = UnixAddr::new(path).map_err(failed)?;
    bind(fd.as_raw_fd(), &address).map_err(failed)?;
    listen(&fd, Backlog::MAXCONN).map_err(failed)?;
    Ok(fd)
}

/// Connects to a leader's Unix socket.
pub(crate) fn connect_here(path: &Path) -> Result<OwnedFd, Errno> {
    let fd = seqpacket()?;
    connect(fd.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(fd)
}

fn seqpacket() -> Result<OwnedFd, Errno> {
    socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)
}

fn duplicate(fd: &OwnedFd) -> Result<OwnedFd, Error> {
    fd.try_clone().map_err(|e| Error::os("copy", "a socket", e))
}
