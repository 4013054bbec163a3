//! Removal in directories where any user can create names, such as `/tmp`.
//!
//! Only objects that this user owns are removed. Every step uses the descriptor of the directory that the step before
//! opened: no link is followed, no mount point is crossed, and only directories are opened, so that no FIFO or device
//! is opened.

use std::{
    ffi::{CStr, CString, OsStr, OsString},
    fmt,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

use ipcmark_transport::Error;
use nix::{
    dir::Dir,
    errno::Errno,
    fcntl::{AtFlags, Flock, FlockArg, OFlag, OpenHow, ResolveFlag, open, openat, openat2},
    sys::stat::{FileStat, Mode, SFlag, fstat, fstatat},
    unistd::{UnlinkatFlags, geteuid, unlinkat},
};

/// The maximum depth of directories; no session's are deeper.
const MOST_DEPTH: usize = 32;

/// The result of a removal.
#[derive(Debug, Default)]
pub struct RemovalOutcome {
    /// The removals, a sentence each: `removed /tmp/x (directory)`.
    pub done: Vec<String>,
    /// The reasons why something could not be removed.
    pub faults: Vec<Error>,
}

impl RemovalOutcome {
    /// Records that something was removed.
    pub fn removed(&mut self, object: impl fmt::Display) {
        self.done.push(format!("removed {object}"));
    }

    /// Records why something could not be removed; a missing object is no fault.
    pub fn fault(&mut self, error: Error) {
        if error.os_error() != Some(Errno::ENOENT as i32) {
            self.faults.push(error);
        }
    }

    /// Adds the result of another removal.
    pub fn extend(&mut self, other: RemovalOutcome) {
        self.done.extend(other.done);
        self.faults.extend(other.faults);
    }
}

/// A directory in which names are removed.
pub struct RemovalDirectory {
    path: PathBuf,
    directory: OwnedFd,
}

impl RemovalDirectory {
    /// Opens the directory at `path`, which must not be a link.
    ///
    /// # Errors
    /// It does not exist, or this user may not read it.
    pub fn open(path: &Path) -> nix::Result<Self> {
        let directory = open(path, DIRECTORY, Mode::empty())?;
        Ok(Self { path: path.to_owned(), directory })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names in it that this user owns.
    pub fn own_names(&self) -> Vec<OsString> {
        let names = names(&self.directory).unwrap_or_default();
        names
            .into_iter()
            .filter(|name| status(self.directory.as_fd(), name).is_ok_and(|status| is_own(&status)))
            .map(|name| OsString::from_vec(name.into_bytes()))
            .collect()
    }

    /// A directory in it that this user owns.
    ///
    /// # Errors
    /// It does not exist, is a link or a mount point, or belongs to another user.
    pub fn below(&self, name: &OsStr) -> nix::Result<Self> {
        let one = CString::new(name.as_bytes()).map_err(|_| Errno::EINVAL)?;
        let directory = open_own_below(self.directory.as_fd(), &one)?;
        Ok(Self { path: self.path.join(name), directory })
    }

    /// Takes the lock on the directory, which is held until the result is dropped; none if it is locked already.
    ///
    /// # Errors
    /// Its file system does not support locks, or no descriptor is left.
    pub fn lock(&self) -> nix::Result<Option<Flock<OwnedFd>>> {
        let directory = self.directory.try_clone().map_err(|_| Errno::EMFILE)?;
        match Flock::lock(directory, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Some(lock)),
            Err((_, Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, errno)) => Err(errno),
        }
    }

    /// True if it still has a name.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn has_name(&self) -> nix::Result<bool> {
        Ok(fstat(&self.directory)?.st_nlink > 0)
    }

    /// Removes `name`, and its content if it is a directory.
    pub fn remove(&self, name: &OsStr) -> RemovalOutcome {
        let mut outcome = RemovalOutcome::default();
        let path = self.path.join(name);
        match CString::new(name.as_bytes()) {
            Ok(name) if is_one_name(&name) => {
                remove(self.directory.as_fd(), &name, &path, 0, &mut outcome);
            }
            _ => outcome.fault(failed(&path, "it is a path, not a name")),
        }
        outcome
    }
}

impl AsFd for RemovalDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

const DIRECTORY: OFlag = OFlag::O_RDONLY
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_NONBLOCK)
    .union(OFlag::O_CLOEXEC);

/// True if it is the name of an entry, not a path to another directory.
fn is_one_name(name: &CStr) -> bool {
    !matches!(name.to_bytes(), b"" | b"." | b"..") && !name.to_bytes().contains(&b'/')
}

fn is_own(status: &FileStat) -> bool {
    status.st_uid == geteuid().as_raw()
}

fn status(directory: BorrowedFd<'_>, name: &CStr) -> nix::Result<FileStat> {
    fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)
}

fn kind(status: &FileStat) -> &'static str {
    match SFlag::from_bits_truncate(status.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFDIR => "directory",
        SFlag::S_IFLNK => "link",
        SFlag::S_IFSOCK => "socket",
        SFlag::S_IFIFO => "FIFO",
        _ => "file",
    }
}

fn names(directory: &OwnedFd) -> nix::Result<Vec<CString>> {
    // A separate descriptor, because reading moves its position.
    let mut reader = Dir::openat(directory, ".", DIRECTORY, Mode::empty())?;
    let names = reader.iter().map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    names.filter(|name| name.as_ref().map_or(true, |name| is_one_name(name))).collect()
}

/// Opens the directory `name` in `directory`, without following a link or crossing a mount point.
fn open_own_below(directory: BorrowedFd<'_>, name: &CStr) -> nix::Result<OwnedFd> {
    let how = OpenHow::new().flags(DIRECTORY).resolve(
        ResolveFlag::RESOLVE_BENEATH
            | ResolveFlag::RESOLVE_NO_SYMLINKS
            | ResolveFlag::RESOLVE_NO_XDEV,
    );
    let opened = match openat2(directory, name, how) {
        // Before Linux 5.6, or under a seccomp profile without this call: then a mount of the same file system is not
        // detected.
        Err(Errno::ENOSYS | Errno::EPERM) => open_by_device(directory, name)?,
        opened => opened?,
    };
    match is_own(&fstat(&opened)?) {
        true => Ok(opened),
        false => Err(Errno::EPERM),
    }
}

fn open_by_device(directory: BorrowedFd<'_>, name: &CStr) -> nix::Result<OwnedFd> {
    let opened = openat(directory, name, DIRECTORY, Mode::empty())?;
    match fstat(&opened)?.st_dev == fstat(directory)?.st_dev {
        true => Ok(opened),
        false => Err(Errno::EXDEV),
    }
}

fn failed(path: &Path, cause: impl fmt::Display) -> Error {
    Error::new("remove", path.display().to_string(), cause)
}

fn explained(path: &Path, errno: Errno) -> Error {
    match errno {
        Errno::EXDEV => failed(path, "another file system is mounted there"),
        errno => Error::os("remove", path.display().to_string(), errno),
    }
}

/// Removes one entry, after its content. A directory that is not empty by then is not tried.
fn remove(
    directory: BorrowedFd<'_>,
    name: &CStr,
    path: &Path,
    depth: usize,
    outcome: &mut RemovalOutcome,
) {
    let status = match status(directory, name) {
        Ok(status) if is_own(&status) => status,
        Ok(_) => return outcome.fault(failed(path, "another user owns it")),
        Err(errno) => return outcome.fault(explained(path, errno)),
    };
    let kind = kind(&status);
    let before = outcome.faults.len();
    if kind == "directory" {
        empty(directory, name, path, depth, outcome);
    }
    if outcome.faults.len() > before {
        return;
    }
    let flag = match kind {
        "directory" => UnlinkatFlags::RemoveDir,
        _ => UnlinkatFlags::NoRemoveDir,
    };
    match unlinkat(directory, name, flag) {
        Ok(()) => outcome.removed(format_args!("{} ({kind})", path.display())),
        Err(errno) => outcome.fault(explained(path, errno)),
    }
}

/// Removes the content of a directory.
fn empty(
    directory: BorrowedFd<'_>,
    name: &CStr,
    path: &Path,
    depth: usize,
    outcome: &mut RemovalOutcome,
) {
    if depth == MOST_DEPTH {
        return outcome.fault(failed(path, "it lies too deep"));
    }
    let inside = open_own_below(directory, name);
    match inside.and_then(|inside| Ok((names(&inside)?, inside))) {
        Err(errno) => outcome.fault(explained(path, errno)),
        Ok((names, inside)) => names.iter().for_each(|entry| {
            let path = path.join(OsStr::from_bytes(entry.to_bytes()));
            remove(inside.as_fd(), entry, &path, depth + 1, outcome);
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        os::unix::fs::symlink,
    };

    use nix::{
        mount::{MntFlags, MsFlags, mount, umount2},
        unistd::{Uid, chown, mkfifo},
    };

    use super::*;

    /// The test's own directory, and its place.
    fn scene(name: &str) -> (PathBuf, RemovalDirectory) {
        let path = std::env::temp_dir()
            .join(format!("ipcmark-removal-{name}-{}", nix::unistd::Pid::this()));
        fs::create_dir(&path).unwrap();
        let place = RemovalDirectory::open(&path).unwrap();
        (path, place)
    }

    fn remove(place: &RemovalDirectory, name: &str) -> RemovalOutcome {
        place.remove(OsStr::new(name))
    }

    #[test]
    fn a_tree_is_removed_and_every_entry_listed() {
        let (path, place) = scene("tree");
        fs::create_dir_all(path.join("run/7")).unwrap();
        File::create(path.join("run/7/data")).unwrap();
        mkfifo(&path.join("run/lock"), Mode::S_IRUSR).unwrap();
        let outcome = remove(&place, "run");
        let told: Vec<String> =
            outcome.done.iter().map(|line| line.replace(path.to_str().unwrap(), "")).collect();
        let mut sorted = told.clone();
        sorted.sort();
        let all = [
            "removed /run (directory)",
            "removed /run/7 (directory)",
            "removed /run/7/data (file)",
            "removed /run/lock (FIFO)",
        ];
        assert_eq!(sorted, all);
        assert_eq!(told.last().unwrap(), all[0], "what lies in it goes first");
        assert!(outcome.faults.is_empty() && place.own_names().is_empty());
        assert!(remove(&place, "run").faults.is_empty(), "what is gone is no fault");
        fs::remove_dir(&path).unwrap();
    }

    #[test]
    fn a_link_is_removed_and_not_followed() {
        let (path, place) = scene("link");
        fs::create_dir_all(path.join("target/inside")).unwrap();
        fs::create_dir(path.join("run")).unwrap();
        symlink(path.join("target"), path.join("link")).unwrap();
        symlink(path.join("target"), path.join("run/link")).unwrap();
        let error = place.below(OsStr::new("link")).err();
        assert!(matches!(error, Some(Errno::ELOOP | Errno::ENOTDIR)), "{error:?}");
        assert!(RemovalDirectory::open(&path.join("link")).is_err());
        assert!(remove(&place, "link").faults.is_empty());
        assert!(remove(&place, "run").faults.is_empty());
        assert!(path.join("target/inside").exists());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_path_is_no_name() {
        let (path, place) = scene("path");
        fs::create_dir_all(path.join("a/b")).unwrap();
        for name in ["a/b", "..", ".", "", "../x", "a\0b"] {
            let outcome = remove(&place, name);
            assert_eq!(outcome.faults.len(), 1, "{name:?}: {outcome:?}");
        }
        assert!(path.join("a/b").exists());
        fs::remove_dir_all(&path).unwrap();
    }

    /// Only root can create objects of another user.
    #[test]
    fn files_of_another_user_stay() {
        if !geteuid().is_root() {
            return;
        }
        let (path, place) = scene("others");
        let nobody = Some(Uid::from_raw(65534));
        fs::create_dir_all(path.join("run/theirs")).unwrap();
        File::create(path.join("run/file")).unwrap();
        File::create(path.join("run/own")).unwrap();
        fs::create_dir(path.join("whole")).unwrap();
        for name in ["run/theirs", "run/file", "whole"] {
            chown(&path.join(name), nobody, None).unwrap();
        }
        assert_eq!(place.own_names(), ["run"]);
        assert_eq!(place.below(OsStr::new("whole")).err().unwrap(), Errno::EPERM);
        let outcome = remove(&place, "run");
        assert_eq!(outcome.done.len(), 1, "{outcome:?}");
        assert_eq!(outcome.faults.len(), 2, "{outcome:?}");
        assert!(outcome.faults[0].to_string().contains("another user owns it"));
        assert!(path.join("run/theirs").exists() && path.join("run/file").exists());
        assert_eq!(remove(&place, "whole").faults.len(), 1);
        fs::remove_dir_all(&path).unwrap();
    }

    /// A mount of the same file system is a mount point too. Only root can create one.
    #[test]
    fn a_mount_point_is_not_crossed() {
        let (path, place) = scene("mount");
        fs::create_dir_all(path.join("elsewhere/kept")).unwrap();
        fs::create_dir_all(path.join("run/mounted")).unwrap();
        let mounted = path.join("run/mounted");
        let (source, none) = (path.join("elsewhere"), None::<&str>);
        if mount(Some(&source), &mounted, none, MsFlags::MS_BIND, none).is_ok() {
            let outcome = remove(&place, "run");
            umount2(&mounted, MntFlags::MNT_DETACH).unwrap();
            assert_eq!(outcome.faults.len(), 1, "{outcome:?}");
            assert!(outcome.faults[0].to_string().contains("is mounted there"), "{outcome:?}");
        }
        assert!(path.join("elsewhere/kept").exists());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn directories_that_are_too_deep_stay() {
        let (path, place) = scene("deep");
        let deep: PathBuf = (0..MOST_DEPTH + 2).map(|_| "d").collect();
        fs::create_dir_all(path.join(&deep)).unwrap();
        let outcome = remove(&place, "d");
        assert_eq!((outcome.done.len(), outcome.faults.len()), (0, 1), "{outcome:?}");
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_lock_is_exclusive_and_a_removed_directory_has_no_name() {
        let (path, place) = scene("lock");
        fs::create_dir(path.join("run")).unwrap();
        let [one, other] = [0, 1].map(|_| place.below(OsStr::new("run")).unwrap());
        let lock = one.lock().unwrap();
        assert!(lock.is_some() && other.lock().unwrap().is_none());
        drop(lock);
        assert!(other.lock().unwrap().is_some());
        assert!(one.has_name().unwrap());
        remove(&place, "run");
        assert!(!one.has_name().unwrap());
        fs::remove_dir(&path).unwrap();
    }
}
