//! A file that replaces another, whole. While it is written it has no name, so a killed process leaves nothing. It gets
//! a recognizable name only for the moment of the replacement, and for longer on file systems without unnamed files.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Permissions},
    io::{self, ErrorKind, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    process,
};

use nix::{
    errno::Errno,
    fcntl::{AT_FDCWD, AtFlags, Flock, FlockArg, OFlag, openat, renameat},
    sys::stat::Mode,
    unistd::{UnlinkatFlags, geteuid, linkat, unlinkat},
};

use crate::destination::Destination;

/// The number of names that are tried.
const ATTEMPTS: u32 = 16;

/// A new file, in the directory of its target; removed when it is dropped.
pub(crate) struct Replacement<'a> {
    place: &'a Destination,
    /// Locked, so that it is not mistaken for a file that a killed process left.
    file: Flock<File>,
    name: Option<OsString>,
}

impl<'a> Replacement<'a> {
    /// A new, empty file beside the target, so that a rename stays in one file system.
    pub(crate) fn beside(place: &'a Destination) -> io::Result<Self> {
        match nameless(place) {
            Err(error) if has_no_nameless(&error) => Self::named(place),
            file => Ok(Self { place, file: locked(file?)?, name: None }),
        }
    }

    fn named(place: &'a Destination) -> io::Result<Self> {
        let new = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
        let (name, file) = free_name(|name| create(place, name, new))?;
        Ok(Self { place, file: locked(file)?, name: Some(name) })
    }

    /// Writes the text and applies the permissions of the existing file, if this user owns it.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        match self.place.own_mode() {
            Some(mode) => self.file.set_permissions(Permissions::from_mode(mode.bits())),
            None => Ok(()),
        }
    }

    /// Renames it to the target. Nothing is synced to disk: after a crash of the machine a result is of no use for a
    /// resumption, and disk traffic would disturb the next case.
    pub(crate) fn take_place(mut self) -> io::Result<()> {
        let target = self.place.name();
        if self.name.is_none() {
            match self.link(target) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    self.name = Some(free_name(|name| self.link(name))?.0);
                }
                linked => return linked,
            }
        }
        self.rename()
    }

    fn rename(&self) -> io::Result<()> {
        let Some(name) = &self.name else { return Ok(()) };
        let directory = self.place.directory();
        Ok(renameat(directory, name.as_os_str(), directory, self.place.name())?)
    }

    /// Links a file without a name to this name, which must not exist yet.
    fn link(&self, name: &OsStr) -> io::Result<()> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let directory = self.place.directory();
        Ok(linkat(AT_FDCWD, own.as_str(), directory, name, AtFlags::AT_SYMLINK_FOLLOW)?)
    }
}

impl Drop for Replacement<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // After the rename nothing has this name any more.
            let directory = self.place.directory();
            let _ = unlinkat(directory, name.as_os_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Removes the files that this user's killed processes left in a directory; returns their paths.
pub fn remove_stale(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_temporary));
    let stale = named.map(|entry| entry.path()).filter(|path| is_stale(path));
    stale.filter(|path| fs::remove_file(path).is_ok()).collect()
}

fn is_stale(path: &Path) -> bool {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits()).open(path);
    let is_own = |file: &File| {
        let status = file.metadata();
        status.is_ok_and(|status| status.is_file() && status.uid() == geteuid().as_raw())
    };
    file.is_ok_and(|file| is_own(&file) && locked(file).is_ok())
}

/// Takes a name that does not exist in the directory.
fn free_name<T>(take: impl Fn(&OsStr) -> io::Result<T>) -> io::Result<(OsString, T)> {
    let mut last = io::Error::from(ErrorKind::AlreadyExists);
    for attempt in 0..ATTEMPTS {
        let name = OsString::from(format!(".ipcmark-{}-{attempt}.tmp", process::id()));
        match take(&name) {
            Ok(taken) => return Ok((name, taken)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// True for a name that [`free_name`] makes.
fn is_temporary(name: &str) -> bool {
    let numbers = name.strip_prefix(".ipcmark-").and_then(|rest| rest.strip_suffix(".tmp"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers
        .and_then(|numbers| numbers.split_once('-'))
        .is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn nameless(place: &Destination) -> io::Result<File> {
    // A name can only be given if the system shows the descriptor.
    fs::metadata("/proc/self/fd")?;
    create(place, ".".as_ref(), OFlag::O_TMPFILE)
}

fn create(place: &Destination, name: &OsStr, how: OFlag) -> io::Result<File> {
    // As for any other program's file, the umask decides.
    let mode = Mode::from_bits_truncate(0o666);
    let flags = how | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
    Ok(openat(place.directory(), name, flags, mode)?.into())
}

/// True for the errors of file systems and kernels without `O_TMPFILE`.
fn has_no_nameless(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EOPNOTSUPP | Errno::EISDIR | Errno::ENOENT | Errno::EINVAL))
}

fn locked(file: File) -> io::Result<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ipcmark-{test}-{}", process::id()));
        fs::create_dir(&path).unwrap();
        path
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_new_file_is_nameless_until_it_replaces_its_target() {
        let directory = directory("replacement");
        let target = directory.join("result.json");
        for text in ["one", "two"] {
            let before = names(&directory);
            let place = Destination::find(&target).unwrap();
            let mut replacement = Replacement::beside(&place).unwrap();
            replacement.fill(text.as_bytes()).unwrap();
            if replacement.name.is_none() {
                assert_eq!(names(&directory), before, "a kill here leaves nothing");
            }
            replacement.take_place().unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
            assert_eq!(names(&directory), ["result.json"]);
        }
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_file_system_without_nameless_files_gets_a_name_that_is_removed() {
        let directory = directory("named");
        let target = directory.join("result.json");
        let place = Destination::find(&target).unwrap();
        let named = Replacement::named(&place).unwrap();
        assert_eq!(names(&directory).len(), 1);
        assert!(remove_stale(&directory).is_empty(), "it is being written");
        drop(named);
        assert!(names(&directory).is_empty());
        let mut named = Replacement::named(&place).unwrap();
        named.fill(b"text").unwrap();
        named.take_place().unwrap();
        assert_eq!(names(&directory), ["result.json"]);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn only_leftovers_of_killed_processes_are_removed() {
        let directory = directory("stale");
        let kept =
            [".ipcmark-1-2.tmp.json", ".ipcmark--1.tmp", ".ipcmark-1-x.tmp", "ipcmark-1-2.tmp"];
        for name in kept.iter().chain(&[".ipcmark-4242-0.tmp"]) {
            fs::write(directory.join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", directory.join(".ipcmark-4242-1.tmp")).unwrap();
        nix::unistd::mkfifo(&directory.join(".ipcmark-4242-2.tmp"), nix::sys::stat::Mode::S_IRWXU)
            .unwrap();
        assert_eq!(remove_stale(&directory), [directory.join(".ipcmark-4242-0.tmp")]);
        assert_eq!(names(&directory).len(), kept.len() + 2);
        fs::remove_dir_all(&directory).unwrap();
    }
}
