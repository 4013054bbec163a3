//! The file of a leader's Unix socket: it has its permissions from the beginning, replaces only the socket of a dead
//! process of this user, and is removed only while it belongs to this leader.

use std::{
    ffi::{OsStr, OsString},
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    process,
    sync::{Mutex, PoisonError},
};

use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    fcntl::{AtFlags, OFlag, open, renameat},
    sys::{
        socket::{
            AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, listen, socket,
        },
        stat::{FileStat, Mode, SFlag, fchmod, fstatat, umask},
    },
    unistd::{UnlinkatFlags, geteuid, linkat, unlinkat},
};

/// The file of a listening socket.
pub(crate) struct SocketFile {
    directory: OwnedFd,
    name: OsString,
    /// Device and inode.
    identity: (u64, u64),
}

impl SocketFile {
    /// Listens at a path for the users that the permissions allow. Called while this process has one thread, because
    /// the umask belongs to the whole process.
    ///
    /// # Errors
    /// The path exists and is not the socket of a dead process of this user.
    pub(crate) fn listen(path: &Path, mode: Mode) -> Result<(OwnedFd, Self), Error> {
        let object = format!("the socket {}", path.display());
        DirectoryEntry::of(path)
            .and_then(|entry| entry.listen(path, mode))
            .map_err(|fault| fault.error(&object))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if look(&self.directory, &self.name).is_ok_and(|found| identity(&found) == self.identity) {
            let _ = unlinkat(&self.directory, &*self.name, UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Connects without sleeping; a listener with a full queue gives `EAGAIN`.
pub(crate) fn connect_now(path: &Path) -> Result<OwnedFd, Errno> {
    let fd = seqpacket()?;
    connect(fd.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(fd)
}

/// A non-blocking socket.
fn seqpacket() -> Result<OwnedFd, Errno> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)
}

fn look(directory: &OwnedFd, name: &OsStr) -> Result<FileStat, Errno> {
    fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)
}

fn identity(stat: &FileStat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// The reason why a socket cannot use its path.
enum PathProblem {
    System(Errno),
    Taken(&'static str),
}

impl From<Errno> for PathProblem {
    fn from(errno: Errno) -> Self {
        PathProblem::System(errno)
    }
}

impl PathProblem {
    fn error(self, object: &str) -> Error {
        match self {
            PathProblem::System(errno) => Error::os("listen at", object, errno),
            PathProblem::Taken(by) => Error::new("listen at", object, format!("there is {by}"))
                .remedy("choose another path with --socket, for the follower too"),
        }
    }
}

/// A name in a directory, which a descriptor keeps open.
struct DirectoryEntry {
    directory: OwnedFd,
    name: OsString,
}

impl DirectoryEntry {
    fn of(path: &Path) -> Result<Self, PathProblem> {
        let name = path.file_name().ok_or(Errno::EINVAL)?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let directory = open(parent.unwrap_or(Path::new(".")), flags, Mode::empty())?;
        Ok(Self { directory, name })
    }

    /// Starts to listen. Between `bind` and `listen` another leader would take the socket for stale: it moves the file
    /// away before it checks again, and the check here finds it gone.
    fn listen(self, path: &Path, mode: Mode) -> Result<(OwnedFd, SocketFile), PathProblem> {
        let address = UnixAddr::new(path)?;
        let socket = seqpacket()?;
        match bind_with(&socket, &address, mode) {
            Err(Errno::EADDRINUSE) => {
                self.remove_stale()?;
                bind_with(&socket, &address, mode)?;
            }
            bound => bound?,
        }
        let identity = identity(&look(&self.directory, &self.name)?);
        let Self { directory, name } = self;
        let file = SocketFile { directory, name, identity };
        listen(&socket, Backlog::MAXCONN)?;
        match look(&file.directory, &file.name) {
            Ok(found) if self::identity(&found) == file.identity => Ok((socket, file)),
            _ => Err(PathProblem::Taken("another leader that starts at the same time")),
        }
    }

    /// Removes the socket of a dead process. It is first moved to a name where no process binds, and put back if
    /// somebody listens after all.
    fn remove_stale(&self) -> Result<(), PathProblem> {
        self.check_stale(&self.name)?;
        let aside = OsString::from(format!(".ipcmark-{}", process::id()));
        renameat(&self.directory, &*self.name, &self.directory, &*aside)?;
        let checked = self.check_stale(&aside);
        if checked.is_err() {
            let (directory, flags) = (&self.directory, AtFlags::empty());
            linkat(directory, &*aside, directory, &*self.name, flags)?;
        }
        unlinkat(&self.directory, &*aside, UnlinkatFlags::NoRemoveDir)?;
        checked
    }

    /// Succeeds if the file is a socket of this user at which nobody listens.
    fn check_stale(&self, name: &OsStr) -> Result<(), PathProblem> {
        let found = look(&self.directory, name)?;
        if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT != SFlag::S_IFSOCK {
            return Err(PathProblem::Taken("something that is no socket"));
        }
        if found.st_uid != geteuid().as_raw() {
            return Err(PathProblem::Taken("a socket of another user"));
        }
        match connect_now(&self.path(name)) {
            Err(Errno::ECONNREFUSED) => Ok(()),
            // With any other result, the process that bound it may still be alive.
            _ => Err(PathProblem::Taken("a socket in use by another process")),
        }
    }

    /// A path to a name in the directory, whatever path the directory has now.
    fn path(&self, name: &OsStr) -> PathBuf {
        Path::new("/proc/self/fd").join(self.directory.as_raw_fd().to_string()).join(name)
    }
}

/// Binds a socket whose file gets the permissions of the socket, whatever the umask is. Changing them afterwards by
/// name could change another file's.
fn bind_with(socket: &OwnedFd, address: &UnixAddr, mode: Mode) -> Result<(), Errno> {
    static UMASK: Mutex<()> = Mutex::new(());
    fchmod(socket, mode)?;
    let _one_at_a_time = UMASK.lock().unwrap_or_else(PoisonError::into_inner);
    let before = umask(Mode::empty());
    let bound = bind(socket.as_raw_fd(), address);
    umask(before);
    bound
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::{
            fs::{PermissionsExt, symlink},
            net::{UnixDatagram, UnixListener},
        },
    };

    use super::*;

    const OWN: Mode = Mode::from_bits_truncate(0o600);

    fn fault(path: &Path) -> String {
        SocketFile::listen(path, OWN).err().unwrap().to_string()
    }

    #[test]
    fn the_file_has_its_permissions_and_is_removed_with_the_listener() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        for mode in [0o600, 0o666] {
            let listening = SocketFile::listen(&path, Mode::from_bits_truncate(mode)).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
            assert!(connect_now(&path).is_ok());
            drop(listening);
            assert!(!path.exists());
        }
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }

    #[test]
    fn only_the_socket_of_a_dead_process_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        drop(UnixListener::bind(&path).unwrap());
        let (_listener, _file) = SocketFile::listen(&path, OWN).unwrap();
        assert!(connect_now(&path).is_ok(), "it replaced the dead one's");
        assert!(fault(&path).contains("in use by another process"), "{}", fault(&path));
        assert!(connect_now(&path).is_ok(), "it lives on");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }

    /// Regression: a service of another socket type refuses the connection with a different error, and lost its socket.
    #[test]
    fn a_live_socket_of_another_service_stays() {
        let directory = tempfile::tempdir().unwrap();
        let [stream, datagram] = ["stream", "datagram"].map(|name| directory.path().join(name));
        let _services =
            (UnixListener::bind(&stream).unwrap(), UnixDatagram::bind(&datagram).unwrap());
        for path in [&stream, &datagram] {
            assert!(fault(path).contains("in use by another process"), "{}", fault(path));
            assert!(path.exists());
        }
    }

    #[test]
    fn files_that_are_not_sockets_stay() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, socket] =
            ["file", "link", "socket"].map(|name| directory.path().join(name));
        fs::write(&file, "precious").unwrap();
        drop(UnixListener::bind(&socket).unwrap());
        symlink(&socket, &link).unwrap();
        for path in [&file, &link, &directory.path().to_owned()] {
            assert!(fault(path).contains("no socket"), "{}", fault(path));
            assert!(path.exists());
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }

    /// Regression: the file was removed even if it was no longer this leader's.
    #[test]
    fn the_file_of_another_leader_stays_when_this_one_ends() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let first = SocketFile::listen(&path, OWN).unwrap();
        fs::remove_file(&path).unwrap();
        let _second = UnixListener::bind(&path).unwrap();
        drop(first);
        assert!(path.exists());
    }
}
