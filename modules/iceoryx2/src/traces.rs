//! The files of a session, and their removal. The library leaves directories and a small segment of
//! shared memory behind; the leader removes them once both ends are closed.

use std::{
    fs,
    io::Read,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ipcmark_transport::{Error, Rendezvous, Settings};

use crate::space::SHARED_MEMORY;

/// The time limit of a leader for its followers to close before it removes the files.
const CLOSED_WITHIN: Duration = Duration::from_secs(2);

/// The directory of a session's node, services and events. Short, because it contains the paths of
/// sockets, which are limited to 107 bytes.
pub fn directory(session: &str) -> PathBuf {
    PathBuf::from("/tmp").join(session)
}

/// The beginning of the names that the library gives a session's files. Other sessions' names may begin with this
/// one's, as `x-10` with `x-1`.
pub fn prefix(session: &str) -> String {
    format!("{session}-")
}

/// Removes all files of a session.
fn clear(session: &str) {
    let _ = fs::remove_dir_all(directory(session));
    clear_memory(Path::new(SHARED_MEMORY), session);
}

fn clear_memory(memory: &Path, session: &str) {
    let prefix = prefix(session);
    for entry in fs::read_dir(memory).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Dropped last, so that it tells the leader that the follower has closed.
pub struct CloseSignal {
    others: Vec<UnixStream>,
    leads: bool,
    session: String,
}

impl CloseSignal {
    /// Connects the leader with its followers.
    pub fn new(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let leads = settings.role.is_leader();
        let others = match leads {
            true => (0..peers.peers()).map(|peer| lead(peers, peer)).collect::<Result<_, _>>()?,
            false => vec![follow(peers)?],
        };
        Ok(Self { others, leads, session: settings.name.to_string() })
    }
}

fn lead(peers: &mut dyn Rendezvous, peer: usize) -> Result<UnixStream, Error> {
    let fail = |e| Error::os("make", "a pair of sockets", e);
    let (ours, theirs) = UnixStream::pair().map_err(fail)?;
    peers.send(peer, b"close", &[theirs.as_fd()])?;
    Ok(ours)
}

fn follow(peers: &mut dyn Rendezvous) -> Result<UnixStream, Error> {
    let (_, fds) = peers.receive(0)?;
    let fd: Option<OwnedFd> = fds.into_iter().next();
    let fd = fd.ok_or_else(|| Error::new("open", "an end", "the leader sent no socket"))?;
    Ok(fd.into())
}

impl Drop for CloseSignal {
    fn drop(&mut self) {
        if !self.leads {
            return;
        }
        let deadline = Instant::now() + CLOSED_WITHIN;
        for other in &mut self.others {
            let left = deadline.saturating_duration_since(Instant::now());
            // Returns at the end of the stream, an error, or the time limit, which may not be 0.
            let _ = other.set_read_timeout(Some(left.max(Duration::from_millis(1))));
            let _ = other.read(&mut [0]);
        }
        clear(&self.session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_session_are_removed() {
        let memory = std::env::temp_dir().join(format!("iceoryx2-traces-{}", std::process::id()));
        fs::create_dir(&memory).unwrap();
        for name in ["x-1-a", "x-10-a", "y-1-a"] {
            fs::write(memory.join(name), "").unwrap();
        }
        clear_memory(&memory, "x-1");
        let left = ["x-1-a", "x-10-a", "y-1-a"].map(|name| memory.join(name).exists());
        fs::remove_dir_all(&memory).unwrap();
        assert_eq!(left, [false, true, true]);
    }
}
