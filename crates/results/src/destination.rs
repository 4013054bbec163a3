//! The place of a file to write. It is resolved component by component and held by a descriptor, so that nobody can
//! replace it and no link of another user can redirect it.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    io::{self, ErrorKind},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::{Component, Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{AT_FDCWD, OFlag, openat, readlinkat},
    sys::{
        stat::{FileStat, Mode, SFlag, fstat},
        statfs::{PROC_SUPER_MAGIC, fstatfs},
    },
    unistd::geteuid,
};

/// The kernel's own limit of links in a path.
const MOST_LINKS: usize = 40;

/// The place of a file: a directory, and a name in it that is not a symbolic link.
pub(crate) struct Destination {
    directory: OwnedFd,
    name: OsString,
    found: Option<FileStat>,
    /// True if the name is under `/proc` and stands for an open file of a process.
    is_descriptor: bool,
}

/// The kind of object at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Nothing,
    File,
    Directory,
    Socket,
    /// A pipe, a terminal, a device or an open descriptor: data written there cannot be replaced.
    Stream,
}

impl Destination {
    /// The place that a path leads to. A link is followed only if it belongs to this user or to root: a link that
    /// another user planted, in `/tmp` say, would choose which file is written.
    pub(crate) fn find(path: &Path) -> io::Result<Self> {
        Search::new(path)?.run()
    }

    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// A path of the directory, valid while this value lives.
    pub(crate) fn directory_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd()))
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    pub(crate) fn kind(&self) -> ObjectKind {
        match self.found.as_ref().map(file_type) {
            _ if self.is_descriptor => ObjectKind::Stream,
            None => ObjectKind::Nothing,
            Some(SFlag::S_IFREG) => ObjectKind::File,
            Some(SFlag::S_IFDIR) => ObjectKind::Directory,
            Some(SFlag::S_IFSOCK) => ObjectKind::Socket,
            Some(_) => ObjectKind::Stream,
        }
    }

    /// The permissions of the file at this place, if this user owns it.
    pub(crate) fn own_mode(&self) -> Option<Mode> {
        let own = self.found.as_ref().filter(|found| found.st_uid == geteuid().as_raw())?;
        Some(Mode::from_bits_truncate(own.st_mode) & Mode::from_bits_truncate(0o777))
    }

    /// Opens the object at this place for writing.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        // Only a descriptor's name is a link, and the kernel maintains it.
        let follow = if self.is_descriptor { OFlag::empty() } else { OFlag::O_NOFOLLOW };
        let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC | OFlag::O_NOCTTY | follow;
        Ok(openat(&self.directory, self.name.as_os_str(), flags, Mode::empty())?)
    }

    /// Fails if another user left a FIFO, which would block the run, or a file in a world-writable directory.
    pub(crate) fn reject_foreign_owners(&self) -> io::Result<()> {
        let Some(found) = &self.found else { return Ok(()) };
        let is_shared = fstat(&self.directory)?.st_mode & 0o1002 == 0o1002;
        let what = match file_type(found) {
            SFlag::S_IFIFO if !self.is_descriptor => "a FIFO",
            SFlag::S_IFREG if is_shared => "a file",
            _ => return Ok(()),
        };
        reject_foreign_owner(found, what)
    }
}

fn file_type(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

fn reject_foreign_owner(stat: &FileStat, what: &str) -> io::Result<()> {
    let (owner, own) = (stat.st_uid, geteuid().as_raw());
    if owner == own || owner == 0 {
        return Ok(());
    }
    let cause =
        format!("{what} of another user (uid {owner}) is there; remove it, or name another place");
    Err(io::Error::new(ErrorKind::PermissionDenied, cause))
}

/// A path that is being resolved.
struct Search {
    directory: OwnedFd,
    rest: VecDeque<OsString>,
    links: usize,
}

impl Search {
    fn new(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it names no file"));
        }
        let start = if path.is_absolute() { "/" } else { "." };
        let directory = openat(AT_FDCWD, start, directory_flags(), Mode::empty())?;
        let mut search = Self { directory, rest: VecDeque::new(), links: 0 };
        search.put_in_front(path);
        Ok(search)
    }

    fn put_in_front(&mut self, path: &Path) {
        for component in path.components().rev() {
            match component {
                Component::Normal(name) => self.rest.push_front(name.into()),
                Component::ParentDir => self.rest.push_front("..".into()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
    }

    fn run(mut self) -> io::Result<Destination> {
        while let Some(name) = self.rest.pop_front() {
            let is_last = self.rest.is_empty();
            let entry = match self.entry(&name) {
                Err(Errno::ENOENT) if is_last => return Ok(self.end(name, None)),
                entry => entry?,
            };
            let stat = fstat(&entry)?;
            match file_type(&stat) {
                SFlag::S_IFLNK if is_last && is_in_proc(&entry)? => {
                    return Ok(Destination { is_descriptor: true, ..self.end(name, Some(stat)) });
                }
                SFlag::S_IFLNK => self.follow(&entry, &stat)?,
                _ if is_last && name != ".." => return Ok(self.end(name, Some(stat))),
                _ => self.directory = entry,
            }
        }
        Err(ErrorKind::IsADirectory.into())
    }

    /// An `O_PATH` descriptor of an entry; it does not open the file.
    fn entry(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        openat(&self.directory, name, flags, Mode::empty())
    }

    fn follow(&mut self, link: &OwnedFd, stat: &FileStat) -> io::Result<()> {
        reject_foreign_owner(stat, "a link")?;
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::ELOOP.into());
        }
        let target = readlinkat(link, "")?;
        let target = Path::new(&target);
        if target.is_absolute() {
            self.directory = openat(AT_FDCWD, "/", directory_flags(), Mode::empty())?;
        }
        self.put_in_front(target);
        Ok(())
    }

    fn end(self, name: OsString, found: Option<FileStat>) -> Destination {
        Destination { directory: self.directory, name, found, is_descriptor: false }
    }
}

fn directory_flags() -> OFlag {
    OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC
}

fn is_in_proc(entry: &OwnedFd) -> io::Result<bool> {
    Ok(fstatfs(entry)?.filesystem_type() == PROC_SUPER_MAGIC)
}
