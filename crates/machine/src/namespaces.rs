//! The sandbox of a session: its own namespaces, so that nothing conflicts with programs on the
//! machine and nothing can be left behind.

use std::{
    fs::{self, File},
    io,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use ipcmark_transport::Error;
use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    unistd::{Gid, Uid},
};

use crate::loopback;

/// Moves this process, which must have one thread, into its own namespaces. The PID namespace
/// applies to its future children; the first of them must call [`mount_private`].
///
/// # Errors
/// The system refuses namespaces.
pub fn enter() -> Result<(), Error> {
    let spaces = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWPID;
    // Try without a user namespace first: this way root keeps its exemptions from limits.
    if unshare(spaces).is_ok() {
        return Ok(());
    }
    let (uid, gid) = (Uid::current(), Gid::current());
    unshare(spaces | CloneFlags::CLONE_NEWUSER)
        .map_err(|e| Error::os("make", "namespaces", e).remedy(REMEDY))?;
    map_user(uid, gid).map_err(|e| Error::os("map", "the user into the namespace", e))
}

const REMEDY: &str = "allow user namespaces (sysctl user.max_user_namespaces, \
     kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0), run as \
     root, or take --sandbox off";

/// The user keeps its number, so that files and permission checks look as outside.
fn map_user(uid: Uid, gid: Gid) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

/// Mounts private `/dev/shm`, `/tmp` and queues, and a `/proc` with only the session's processes;
/// sets the loopback interface up. Called by the first process of the PID namespace.
///
/// `visible` are files and directories that the session reads, in any location.
///
/// # Errors
/// The system refuses a mount, or a path of `visible` does not exist.
pub fn mount_private(visible: &[PathBuf]) -> Result<(), Error> {
    attach("none", "/", "", MsFlags::MS_REC | MsFlags::MS_PRIVATE, None)?;
    let hidden = hidden(visible)?.into_iter().map(|path| Ok((path, reach(path)?)));
    let hidden: Vec<(&Path, File)> = hidden.collect::<Result<_, Error>>()?;
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    attach("tmpfs", "/dev/shm", "tmpfs", safe, Some("mode=1777"))?;
    attach("tmpfs", "/tmp", "tmpfs", safe, Some("mode=1777"))?;
    attach("proc", "/proc", "proc", safe | MsFlags::MS_NOEXEC, None)?;
    if fs::exists("/dev/mqueue").unwrap_or(false) {
        attach("mqueue", "/dev/mqueue", "mqueue", safe, None)?;
    }
    hidden.iter().try_for_each(|(path, file)| uncover(path, file))?;
    loopback::raise().map_err(|e| Error::os("set up", "the loopback interface", e))
}

/// The directories over which a sandbox mounts its own: their outside content is hidden inside.
pub const HIDDEN: [&str; 2] = ["/tmp", "/dev/shm"];

/// The paths that a sandbox hides. None lies within another, which shows it as well.
fn hidden(visible: &[PathBuf]) -> Result<Vec<&Path>, Error> {
    let is_hidden = |path: &&Path| HIDDEN.iter().any(|place| path.starts_with(place));
    let mut hidden: Vec<&Path> = visible.iter().map(PathBuf::as_path).filter(is_hidden).collect();
    hidden.sort();
    hidden.dedup_by(|inner, outer| inner.starts_with(outer));
    match hidden.iter().find(|path| HIDDEN.iter().any(|place| path.as_os_str() == *place)) {
        None => Ok(hidden),
        Some(whole) => {
            let cause = "a session has a directory of its own there";
            Err(Error::new("show a sandbox all of", whole.display().to_string(), cause)
                .remedy("give a directory below it"))
        }
    }
}

/// Holds a file or a directory by a descriptor, without opening it for reading.
fn reach(path: &Path) -> Result<File, Error> {
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(path);
    file.map_err(|e| Error::os("open", path.display().to_string(), e))
}

/// Makes a hidden file or directory visible again at its path.
fn uncover(path: &Path, file: &File) -> Result<(), Error> {
    let fail = |e: io::Error| Error::os("show the sandbox", path.display().to_string(), e);
    make_mount_point(path, file.metadata().map_err(fail)?.is_dir()).map_err(fail)?;
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    mount(Some(source.as_str()), path, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .map_err(|e| fail(e.into()))
}

/// Makes an empty directory or file at `path`. What is there stays as it is.
fn make_mount_point(path: &Path, is_directory: bool) -> io::Result<()> {
    if is_directory {
        return fs::create_dir_all(path);
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    match File::create_new(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn attach(
    source: &str,
    target: &str,
    kind: &str,
    flags: MsFlags,
    data: Option<&str>,
) -> Result<(), Error> {
    let kind = (!kind.is_empty()).then_some(kind);
    mount(Some(source), target, kind, flags, data).map_err(|e| match kind {
        Some(_) => Error::os("mount", format!("a {source} of its own on {target}"), e),
        // For example in a chroot whose root is not a mount point.
        None => Error::os("part from the system's", "mounts", e),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a file that was named twice, as the profile of each row of a family is, was mounted over itself, and
    /// truncated.
    #[test]
    fn what_is_visible_is_shown_once_and_stays_as_it_is() {
        let visible = ["/tmp/c/p.xml", "/tmp/p.xml", "/home/u/p.xml", "/tmp/c", "/tmp/p.xml"];
        let visible = visible.map(PathBuf::from);
        let shown = ["/tmp/c", "/tmp/p.xml"].map(Path::new);
        assert_eq!(hidden(&visible).unwrap(), shown);
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("profile");
        fs::write(&file, "of the user").unwrap();
        make_mount_point(&file, false).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "of the user");
        make_mount_point(&place.path().join("new/profile"), false).unwrap();
        assert!(place.path().join("new/profile").is_file());
    }

    #[test]
    fn a_whole_directory_that_a_session_has_of_its_own_is_refused() {
        let error = hidden(&["/tmp".into()]).unwrap_err().to_string();
        assert!(error.contains("all of /tmp") && error.contains("below it"), "{error}");
    }
}
