//! The directory of a run without a sandbox, `/tmp/ipcmark-ID`. It is created before everything else of the run and
//! lists its sessions: every name that a run creates begins with a session's name, or follows from it.
//!
//! While the run lives, it holds a lock on the directory itself. A cleaner takes the lock before it removes a
//! directory, so that no run loses one that it has just created: see [`create_locked`].

use std::{
    cell::RefCell,
    ffi::OsStr,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use ipcmark_machine::{leftovers, removal::RemovalDirectory};
use ipcmark_transport::{Error, RunId, SessionName};
use nix::{
    errno::Errno,
    fcntl::Flock,
    sys::stat::{Mode, mkdirat},
    unistd::{UnlinkatFlags, unlinkat},
};

use crate::command::CleanerProcess;

/// The parent of the runs' directories.
const PLACE: &str = "/tmp";

/// The directory of this run.
pub struct RunDirectory {
    place: RemovalDirectory,
    run: RunId,
    _lock: Flock<OwnedFd>,
    /// Removes everything once this command no longer can.
    cleaner: RefCell<CleanerProcess>,
}

impl RunDirectory {
    /// Creates the directory of the run, for this user alone, and starts the process that removes it if this one is
    /// killed.
    ///
    /// # Errors
    /// The directory exists already or cannot be created, or the cleaner process cannot be started.
    pub fn create(run: RunId) -> Result<Self, Error> {
        let cleaner = RefCell::new(CleanerProcess::start(Some(run))?);
        let (place, lock) = create_locked(OsStr::new(&run.prefix()))
            .map_err(|errno| Error::os("create", described(run), errno))?;
        Ok(Self { place, run, _lock: lock, cleaner })
    }

    /// The path of a run's directory.
    pub fn path_of(run: RunId) -> PathBuf {
        Path::new(PLACE).join(run.prefix())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Creates a fresh directory for one session.
    pub(crate) fn open_session(&self, number: u64) -> Result<(), Error> {
        self.cleaner.borrow_mut().restart()?;
        let name = number.to_string();
        let created = mkdirat(self.place.as_fd(), name.as_str(), Mode::S_IRWXU);
        created.map_err(|e| Error::os("create", self.path().join(name).display().to_string(), e))
    }

    /// Removes the directory of a session that has closed its endpoints, and is therefore empty.
    pub(crate) fn close_session(&self, number: u64) {
        let name = number.to_string();
        // If a library has left something in it, it is removed with the run.
        let _ = unlinkat(self.place.as_fd(), name.as_str(), UnlinkatFlags::RemoveDir);
    }

    /// Removes the directory of a failed session, with its contents.
    pub(crate) fn clear_session(&self, number: u64) {
        self.place.remove(OsStr::new(&number.to_string()));
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        leftovers::remove_named(&self.run.prefix());
    }
}

fn described(run: RunId) -> String {
    format!("{PLACE}/{}", run.prefix())
}

/// Creates and locks the directory. A concurrent cleaner can take the lock before this run does, and remove the
/// directory: then it is created again.
fn create_locked(name: &OsStr) -> nix::Result<(RemovalDirectory, Flock<OwnedFd>)> {
    let tmp = RemovalDirectory::open(Path::new(PLACE))?;
    loop {
        mkdirat(tmp.as_fd(), name, Mode::S_IRWXU)?;
        let place = match tmp.below(name) {
            Err(Errno::ENOENT) => continue,
            place => place?,
        };
        let lock = wait_for_lock(&place)?;
        if place.has_name()? {
            return Ok((place, lock));
        }
    }
}

/// Waits for the lock, which is only held for as long as it takes to remove the directory.
fn wait_for_lock(place: &RemovalDirectory) -> nix::Result<Flock<OwnedFd>> {
    loop {
        if let Some(lock) = place.lock()? {
            return Ok(lock);
        }
        std::thread::yield_now();
    }
}

/// The state of another run's directory.
pub(super) enum DirectoryState {
    /// Its run is alive.
    Alive,
    /// Its run is dead. No other process gets the lock while this value lives.
    Dead { _lock: Flock<OwnedFd> },
    /// This user has no directory of that name.
    Absent,
}

/// Checks if a run is alive.
pub(super) fn find(run: RunId) -> Result<DirectoryState, Error> {
    let failed = |errno| Error::os("lock", described(run), errno);
    match own(run) {
        Ok(place) => Ok(match place.lock().map_err(failed)? {
            Some(lock) => DirectoryState::Dead { _lock: lock },
            None => DirectoryState::Alive,
        }),
        // There is none, or it is a file, a link, or another user's: it says nothing about a run of this user.
        Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::EPERM | Errno::EXDEV) => {
            Ok(DirectoryState::Absent)
        }
        Err(errno) => Err(failed(errno)),
    }
}

fn own(run: RunId) -> nix::Result<RemovalDirectory> {
    RemovalDirectory::open(Path::new(PLACE))?.below(OsStr::new(&run.prefix()))
}

/// The names of a run's sessions that have not ended normally.
pub(super) fn sessions(run: RunId) -> Vec<SessionName> {
    let names = own(run).map(|place| place.own_names()).unwrap_or_default();
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse().ok());
    numbers.map(|number| run.session(number)).collect()
}
