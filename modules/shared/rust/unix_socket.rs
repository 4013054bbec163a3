// A Unix stream connection of two endpoints: the follower listens in the session's directory, the leader connects.

use std::{
    ffi::OsString,
    fs,
    os::unix::{
        ffi::OsStringExt,
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
};

use ipcmark_transport::{Error, Rendezvous, Settings};

/// For the leader: connects to the socket at which the follower listens.
pub fn connect(peers: &mut dyn Rendezvous) -> Result<UnixStream, Error> {
    let (path, _) = peers.receive(0)?;
    let path = PathBuf::from(OsString::from_vec(path));
    let socket = UnixStream::connect(&path)
        .map_err(|e| Error::os("connect to", path.display().to_string(), e))?;
    peers.meet()?;
    Ok(socket)
}

/// For the follower: accepts the leader's connection at a socket whose name ends in `suffix`.
pub fn accept(
    settings: &Settings,
    suffix: &str,
    peers: &mut dyn Rendezvous,
) -> Result<UnixStream, Error> {
    let listener = Listener::new(settings, suffix)?;
    peers.send(0, listener.path.as_os_str().as_encoded_bytes(), &[])?;
    // After this the leader is connected, and accepting does not wait for a missing one.
    peers.meet()?;
    listener.accept()
}

/// A socket whose path is removed once the leader is connected.
struct Listener {
    socket: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Nobody else knows the name, and only this user can access the directory.
    fn new(settings: &Settings, suffix: &str) -> Result<Self, Error> {
        let path = settings.directory.join(format!("{}.{suffix}", settings.name));
        let fail = |e| Error::os("listen at", path.display().to_string(), e);
        let socket = UnixListener::bind(&path).map_err(fail)?;
        Ok(Self { socket, path })
    }

    fn accept(&self) -> Result<UnixStream, Error> {
        let accepted = self.socket.set_nonblocking(true).and_then(|()| self.socket.accept());
        let fail = |e| Error::os("accept at", self.path.display().to_string(), e);
        accepted.map(|(socket, _)| socket).map_err(fail)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It may already be removed with the directory.
        let _ = fs::remove_file(&self.path);
    }
}
