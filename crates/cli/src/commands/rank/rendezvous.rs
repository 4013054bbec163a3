//! The rendezvous of a job's ranks: a directory that all of them see, in which each puts small files.
//!
//! The first rank creates it, so that no other user can write to it, and removes it at the end. A file appears under
//! its name only once it is complete.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use nix::{fcntl::OFlag, unistd::getuid};

/// The interval at which a waiting rank polls.
const LOOK: Duration = Duration::from_millis(20);

/// The longest message that a rank reads, in bytes.
const LONGEST: u64 = 4096;

/// The directory, and the deadline for the others.
pub(super) struct RankRendezvous<'a> {
    directory: PathBuf,
    deadline: Instant,
    /// True once waiting must stop.
    is_stopped: &'a (dyn Fn() -> bool + Sync),
}

/// The reason why a file did not appear.
pub(super) enum Missing {
    /// The deadline has passed.
    Late,
    /// Waiting was stopped.
    Interrupted,
}

impl<'a> RankRendezvous<'a> {
    /// Creates the directory.
    pub(super) fn open(
        directory: PathBuf,
        within: Duration,
        is_stopped: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, String> {
        let made = DirBuilder::new().mode(0o700).create(&directory);
        let remedy = |error: &io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => "; if no other job uses it, remove it",
            _ => "; name a directory that all ranks see with --rendezvous",
        };
        made.map_err(|e| format!("cannot create {}: {e}{}", directory.display(), remedy(&e)))?;
        Ok(Self { directory, deadline: Instant::now() + within, is_stopped })
    }

    /// Waits until the first rank has created the directory.
    pub(super) fn join(
        directory: PathBuf,
        within: Duration,
        is_stopped: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, String> {
        let rendezvous = Self { directory, deadline: Instant::now() + within, is_stopped };
        let there = rendezvous.until(LOOK, &|| rendezvous.directory.symlink_metadata().ok());
        let named = rendezvous.directory.display();
        let there = there.map_err(|missing| match missing {
            Missing::Late => format!(
                "rank 0 did not come within {} s: there is no {named}, which all ranks must see (--rendezvous)",
                within.as_secs()
            ),
            Missing::Interrupted => "interrupted while waiting for rank 0".into(),
        })?;
        let is_ours = there.uid() == getuid().as_raw() && there.mode() & 0o077 == 0;
        if there.is_dir() && is_ours {
            Ok(rendezvous)
        } else {
            Err(format!("cannot use {named} as the rendezvous: other users have access to it"))
        }
    }

    /// The path of a file.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// True if a file exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    /// True while the directory exists.
    pub(super) fn is_there(&self) -> bool {
        self.directory.symlink_metadata().is_ok()
    }

    /// Writes a file.
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

    /// Waits for a file and returns its text.
    pub(super) fn get(&self, name: &str) -> Result<String, Missing> {
        self.until(LOOK, &|| self.read(name))
    }

    /// The text of a file, if it exists.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        let mut text = String::new();
        own_file(&self.path(name)).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// The bytes of another rank's file, which is untrusted: at most `most` of them.
    pub(super) fn bytes(&self, name: &str, most: u64) -> Result<Vec<u8>, String> {
        let path = self.path(name);
        let read = || {
            let mut bytes = Vec::new();
            own_file(&path)?.take(most + 1).read_to_end(&mut bytes)?;
            match bytes.len() as u64 > most {
                true => Err(io::Error::other(format!("it is larger than {most} bytes"))),
                false => Ok(bytes),
            }
        };
        read().map_err(|e| format!("cannot read {}: {e}", path.display()))
    }

    /// The same directory, with a deadline of its own from now on.
    pub(super) fn within(&self, time: Duration) -> Self {
        self.apart(time, self.is_stopped)
    }

    /// The same, with another stop condition.
    pub(super) fn apart<'b>(
        &self,
        time: Duration,
        is_stopped: &'b (dyn Fn() -> bool + Sync),
    ) -> RankRendezvous<'b> {
        let directory = self.directory.clone();
        RankRendezvous { directory, deadline: Instant::now() + time, is_stopped }
    }

    /// True once the deadline has passed.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() > self.deadline
    }

    /// Removes the directory and the files in it.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.directory);
    }

    /// Polls at this interval until something is found.
    pub(super) fn until<T>(
        &self,
        look: Duration,
        found: &dyn Fn() -> Option<T>,
    ) -> Result<T, Missing> {
        loop {
            if let Some(found) = found() {
                return Ok(found);
            }
            if (self.is_stopped)() {
                return Err(Missing::Interrupted);
            }
            if Instant::now() > self.deadline {
                return Err(Missing::Late);
            }
            thread::sleep(look);
        }
    }
}

/// Opens a regular file that only this user has: no link, because it would lead elsewhere, and
/// nothing that blocks.
fn own_file(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags.bits()).open(path)?;
    let found = file.metadata()?;
    match found.is_file() && found.uid() == getuid().as_raw() && found.nlink() == 1 {
        true => Ok(file),
        false => Err(io::Error::other("it is not a private file of this user")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::{sys::stat::Mode, unistd::mkfifo};

    use super::*;

    #[test]
    fn a_file_that_is_no_plain_one_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let never = || false;
        let rendezvous =
            RankRendezvous::open(place.path().join("m"), Duration::ZERO, &never).unwrap();
        rendezvous.put("plain", "text").unwrap();
        assert_eq!(rendezvous.bytes("plain", 4), Ok(b"text".to_vec()));
        assert!(rendezvous.bytes("plain", 3).unwrap_err().contains("larger than 3 bytes"));
        symlink(rendezvous.path("plain"), rendezvous.path("link")).unwrap();
        fs::hard_link(rendezvous.path("plain"), rendezvous.path("second")).unwrap();
        mkfifo(&rendezvous.path("fifo"), Mode::S_IRWXU).unwrap();
        for name in ["link", "second", "plain", "fifo", "none"] {
            assert!(rendezvous.bytes(name, 100).is_err(), "{name}");
            assert_eq!(rendezvous.read(name), None, "{name}");
        }
    }
}
