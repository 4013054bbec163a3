//! The directory for the files of a follower's worker. The leader's own path is ignored: the run id gives the possible
//! path, and the file system gives its owner.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use ipcmark_engine::{CleanerProcess, RunDirectory};
use ipcmark_transport::{Error, RunId};
use nix::unistd::geteuid;
use tempfile::TempDir;

use crate::connect::LeaderOrigin;

/// The directory of a run on a follower's side. If the follower shares it, the other owner of the run's files removes
/// them, and a killed follower leaves only processes to end.
pub(super) enum FollowerDirectory {
    /// The directory of a leader of the same user: endpoints that meet in a file need a common one.
    Leaders { path: PathBuf, _cleaner: CleanerProcess },
    /// The follower's own directory, under the run's name.
    Own(RunDirectory),
    /// The follower's own directory under another name, because another user, or a leader on the same host, has the
    /// run's name.
    Beside { directory: TempDir, _cleaner: CleanerProcess },
}

impl FollowerDirectory {
    pub(super) fn open(run: RunId, origin: LeaderOrigin) -> Result<Self, Error> {
        let path = RunDirectory::path_of(run);
        if is_own(&path) && origin == LeaderOrigin::Local(geteuid()) {
            return Ok(Self::Leaders { path, _cleaner: CleanerProcess::start(None)? });
        }
        RunDirectory::create(run).map(Self::Own).or_else(|_| beside(run))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Leaders { path, .. } => path,
            Self::Own(directory) => directory.path(),
            Self::Beside { directory, .. } => directory.path(),
        }
    }
}

/// True for a directory of this user that nobody else can write to. Other users who can write to its parent cannot
/// replace it, because `/tmp` is sticky.
fn is_own(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

fn beside(run: RunId) -> Result<FollowerDirectory, Error> {
    let mut builder = tempfile::Builder::new();
    let prefix = format!("{}-", run.prefix());
    let made = builder.prefix(&prefix).tempdir_in("/tmp");
    let directory =
        made.map_err(|e| Error::scarce("create", format!("a directory /tmp/{prefix}…"), e))?;
    Ok(FollowerDirectory::Beside { directory, _cleaner: CleanerProcess::start(None)? })
}
