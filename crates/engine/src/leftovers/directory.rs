//! The directory of a run without a sandbox, `/tmp/ipcmark-ID`. It says that the run exists before
//! anything else does, and lists its sessions: the names of all that a run makes begin with that of a
//! session, or follow from it.
//!
//! The run holds a lock on the directory itself while it lives. Who cleans up takes the lock before it
//! removes one, so that no run loses a directory that it has just made: see [`create_locked`].

use std::{
    cell::RefCell,
    ffi::OsStr,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use ipcmark_machine::{leftovers, removal::Place};
use ipcmark_transport::{Error, RunId, SessionName};
use nix::{
    errno::Errno,
    fcntl::Flock,
    sys::stat::{Mode, mkdirat},
    unistd::{UnlinkatFlags, unlinkat},
};

use crate::command::CleanerProcess;

/// Where the directories of runs lie.
const PLACE: &str = "/tmp";

/// The directory of this run.
pub struct RunDirectory {
    place: Place,
    run: RunId,
    _lock: Flock<OwnedFd>,
    /// Removes everything where this command cannot do so any more.
    cleaner: RefCell<CleanerProcess>,
}

impl RunDirectory {
    /// Makes the directory of the run, for this user alone, and starts the process that removes it where
    /// this one is killed.
    ///
    /// # Errors
    /// It is there already or cannot be made, or there is no process left.
    pub fn create(run: RunId) -> Result<Self, Error> {
        let cleaner = RefCell::new(CleanerProcess::start(Some(run))?);
        let (place, lock) = create_locked(OsStr::new(&run.prefix()))
            .map_err(|errno| Error::os("create", described(run), errno))?;
        Ok(Self { place, run, _lock: lock, cleaner })
    }

    /// The path of that of a run.
    pub fn path_of(run: RunId) -> PathBuf {
        Path::new(PLACE).join(run.prefix())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Makes a fresh directory for one session.
    pub(crate) fn open_session(&self, number: u64) -> Result<(), Error> {
        self.cleaner.borrow_mut().revive()?;
        let name = number.to_string();
        let created = mkdirat(self.place.as_fd(), name.as_str(), Mode::S_IRWXU);
        created.map_err(|e| Error::os("create", self.path().join(name).display().to_string(), e))
    }

    /// Removes the directory of a session that has closed its ends, and so left nothing in it.
    pub(crate) fn close_session(&self, number: u64) {
        let name = number.to_string();
        // One in which a library has left something goes with the run.
        let _ = unlinkat(self.place.as_fd(), name.as_str(), UnlinkatFlags::RemoveDir);
    }

    /// Removes the directory of a session that has failed, with what lies in it.
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

/// Somebody who cleans up can take the lock before this run does, and remove the directory: then it is
/// made again.
fn create_locked(name: &OsStr) -> nix::Result<(Place, Flock<OwnedFd>)> {
    let tmp = Place::open(Path::new(PLACE))?;
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

/// Nobody holds the lock for longer than it takes to remove the directory.
fn wait_for_lock(place: &Place) -> nix::Result<Flock<OwnedFd>> {
    loop {
        if let Some(lock) = place.lock()? {
            return Ok(lock);
        }
        std::thread::yield_now();
    }
}

/// The directory of a run that is not this one.
pub(super) enum Found {
    /// Its run lives.
    Alive,
    /// Its run is dead. Nobody else gets the lock while this lives.
    Dead { _lock: Flock<OwnedFd> },
    /// This user has none of that name.
    Absent,
}

/// Looks whether a run lives.
pub(super) fn find(run: RunId) -> Result<Found, Error> {
    let failed = |errno| Error::os("lock", described(run), errno);
    match own(run) {
        Ok(place) => Ok(match place.lock().map_err(failed)? {
            Some(lock) => Found::Dead { _lock: lock },
            None => Found::Alive,
        }),
        // Nothing, a file or a link of that name, or somebody else's: it says nothing of a run of ours.
        Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::EPERM | Errno::EXDEV) => {
            Ok(Found::Absent)
        }
        Err(errno) => Err(failed(errno)),
    }
}

fn own(run: RunId) -> nix::Result<Place> {
    Place::open(Path::new(PLACE))?.below(OsStr::new(&run.prefix()))
}

/// The names of the sessions of a run that have not ended well.
pub(super) fn sessions(run: RunId) -> Vec<SessionName> {
    let names = own(run).map(|place| place.own_names()).unwrap_or_default();
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse().ok());
    numbers.map(|number| run.session(number)).collect()
}
