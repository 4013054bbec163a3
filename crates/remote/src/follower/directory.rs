//! Where a follower's worker has its files. What the leader says about that is not looked at: its run's id says
//! where the directory can be, and the file system says whose it is.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use ipcmark_engine::{CleanerProcess, RunDirectory};
use ipcmark_transport::{Error, RunId};
use nix::unistd::geteuid;
use tempfile::TempDir;

use crate::connect::Origin;

/// The directory of a run on a follower's side. Where it is not the follower's alone, whoever else has files of
/// the run removes them, and a follower that is killed leaves only processes to end.
pub(super) enum FollowerDirectory {
    /// That of a leader of this user: ends that meet in a file need one in common.
    Leaders { path: PathBuf, _cleaner: CleanerProcess },
    /// One of its own, under the run's name.
    Own(RunDirectory),
    /// One of its own beside another user's, or that of a leader which is on this host after all.
    Beside { directory: TempDir, _cleaner: CleanerProcess },
}

impl FollowerDirectory {
    pub(super) fn open(run: RunId, origin: Origin) -> Result<Self, Error> {
        let path = RunDirectory::path_of(run);
        if is_own(&path) && origin == Origin::Local(geteuid()) {
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

/// True for a directory of this user that nobody else can write to. Whoever else may write to where it lies
/// cannot replace it there: `/tmp` is sticky.
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
