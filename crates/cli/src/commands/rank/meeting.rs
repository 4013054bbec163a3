//! Where the ranks of a job meet: a directory that all of them see, in which each leaves small files.
//!
//! The first rank makes it, so that nobody else can write to it, and removes it at the end. A file appears whole, by
//! its name, and is never changed.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use nix::unistd::getuid;

use crate::interrupts::Interrupts;

/// How often a rank that waits looks.
const LOOK: Duration = Duration::from_millis(20);

/// The longest file that a rank reads, in bytes.
const LONGEST: u64 = 4096;

/// The place, and until when the others are awaited.
pub(super) struct Meeting<'a> {
    directory: PathBuf,
    deadline: Instant,
    interrupts: &'a Interrupts,
}

/// Why a file did not appear.
pub(super) enum Missing {
    /// Not until the deadline.
    Late,
    /// The user does not want to wait for it.
    Interrupted,
}

impl<'a> Meeting<'a> {
    /// Makes the directory.
    pub(super) fn open(
        directory: PathBuf,
        within: Duration,
        interrupts: &'a Interrupts,
    ) -> Result<Self, String> {
        let made = DirBuilder::new().mode(0o700).create(&directory);
        let remedy = |error: &io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => "; if no other job uses it, remove it",
            _ => "; name a directory that all ranks see with --rendezvous",
        };
        made.map_err(|e| format!("cannot create {}: {e}{}", directory.display(), remedy(&e)))?;
        Ok(Self { directory, deadline: Instant::now() + within, interrupts })
    }

    /// Waits until the first rank has made the directory.
    pub(super) fn join(
        directory: PathBuf,
        within: Duration,
        interrupts: &'a Interrupts,
    ) -> Result<Self, String> {
        let meeting = Self { directory, deadline: Instant::now() + within, interrupts };
        let there = meeting.until(&|| meeting.directory.symlink_metadata().ok());
        let named = meeting.directory.display();
        let there = there.map_err(|missing| match missing {
            Missing::Late => format!(
                "rank 0 did not come within {} s: there is no {named}, which all ranks must see (--rendezvous)",
                within.as_secs()
            ),
            Missing::Interrupted => "interrupted while waiting for rank 0".into(),
        })?;
        let is_ours = there.uid() == getuid().as_raw() && there.mode() & 0o077 == 0;
        if there.is_dir() && is_ours {
            Ok(meeting)
        } else {
            Err(format!("cannot meet in {named}: others than this user have access to it"))
        }
    }

    /// The place of a file.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Leaves a file.
    pub(super) fn put(&self, name: &str, text: &str) -> Result<(), String> {
        let (path, hidden) = (self.path(name), self.path(&format!(".{name}")));
        let write = || {
            let mut options = File::options();
            options.write(true).create_new(true).mode(0o600);
            let mut file = options.open(&hidden)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&hidden, &path)
        };
        write().map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    /// What a file says, once it is there.
    pub(super) fn get(&self, name: &str) -> Result<String, Missing> {
        self.until(&|| read(&self.path(name)))
    }

    /// The same place, with a deadline of its own from now on.
    pub(super) fn within(&self, time: Duration) -> Self {
        let directory = self.directory.clone();
        Self { directory, deadline: Instant::now() + time, interrupts: self.interrupts }
    }

    /// True once the deadline has passed.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() > self.deadline
    }

    /// Removes the directory and what the ranks left in it.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.directory);
    }

    fn until<T>(&self, found: &dyn Fn() -> Option<T>) -> Result<T, Missing> {
        loop {
            if let Some(found) = found() {
                return Ok(found);
            }
            if self.interrupts.signal().is_some() {
                return Err(Missing::Interrupted);
            }
            if Instant::now() > self.deadline {
                return Err(Missing::Late);
            }
            thread::sleep(LOOK);
        }
    }
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}
