//! Removes leftovers of killed sessions whose names do not begin with the session's own.

use std::{collections::BTreeMap, ffi::OsStr, os::fd::AsFd, path::Path};

use ipcmark_transport::{Error, Leftover};
use nix::{
    errno::Errno,
    mqueue::{MQ_OFlag, mq_open, mq_unlink},
    sys::stat::{Mode, fstat},
    unistd::geteuid,
};

use crate::{
    open_files::OpenFiles,
    removal::{RemovalDirectory, RemovalOutcome},
};

/// The directories in which names of sessions can appear.
pub const PLACES: [&str; 4] = ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"];

/// The places that exist.
pub fn places() -> impl Iterator<Item = RemovalDirectory> {
    PLACES.iter().filter_map(|place| RemovalDirectory::open(Path::new(place)).ok())
}

/// Removes everything in the places that this user owns and whose name begins with that of a session or a run, followed
/// by a word boundary.
pub fn remove_named(start: &str) -> RemovalOutcome {
    let mut outcome = RemovalOutcome::default();
    for place in places() {
        let names = place.own_names().into_iter().filter(|name| begins_with(name, start));
        names.for_each(|name| outcome.extend(place.remove(&name)));
    }
    outcome
}

/// True if a name begins like this, and no letter or digit follows, which would belong to another session.
pub fn begins_with(name: &OsStr, start: &str) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(start.as_bytes());
    rest.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
}

/// Removes those leftovers that this user owns and nobody uses.
pub fn remove(leftovers: &[Leftover]) -> RemovalOutcome {
    let mut outcome = RemovalOutcome::default();
    remove_files(leftovers, &mut outcome);
    for leftover in leftovers {
        match leftover {
            Leftover::File(_) => {}
            Leftover::MessageQueue(name) => remove_message_queue(name, leftover, &mut outcome),
            Leftover::SystemVQueue(key) => note(remove_queue(*key), leftover, &mut outcome),
            Leftover::SystemVSegment(key) => note(remove_segment(*key), leftover, &mut outcome),
        }
    }
    outcome
}

fn note(removed: nix::Result<bool>, leftover: &Leftover, outcome: &mut RemovalOutcome) {
    match removed {
        Ok(true) => outcome.removed(leftover),
        Ok(false) | Err(Errno::ENOENT | Errno::EINVAL | Errno::EIDRM | Errno::ENOSYS) => {}
        Err(errno) => outcome.fault(Error::os("remove", leftover.to_string(), errno)),
    }
}

/// Files must be directly in one of the places: their names come from an untrusted source, so paths are not allowed.
fn remove_files(leftovers: &[Leftover], outcome: &mut RemovalOutcome) {
    let mut files: BTreeMap<&Path, Vec<&OsStr>> = BTreeMap::new();
    for leftover in leftovers {
        let Leftover::File(path) = leftover else { continue };
        match path.parent().zip(path.file_name()).filter(|(place, _)| is_place(place)) {
            Some((place, name)) => files.entry(place).or_default().push(name),
            None => outcome.fault(Error::new(
                "remove",
                leftover.to_string(),
                "it lies in no place for temporary files",
            )),
        }
    }
    if files.is_empty() {
        return;
    }
    let open = OpenFiles::below(&PLACES);
    for (place, names) in files {
        let Ok(place) = RemovalDirectory::open(place) else { continue };
        let own = place.own_names();
        let unused = names.into_iter().filter(|name| {
            own.iter().any(|own| own == name) && !open.contains(&place.path().join(name))
        });
        unused.for_each(|name| outcome.extend(place.remove(name)));
    }
}

fn is_place(path: &Path) -> bool {
    PLACES.iter().any(|place| path == Path::new(place))
}

/// Another user's queue is opened for a moment at most, and stays.
fn remove_message_queue(name: &str, leftover: &Leftover, outcome: &mut RemovalOutcome) {
    let flags = MQ_OFlag::O_RDONLY | MQ_OFlag::O_NONBLOCK | MQ_OFlag::O_CLOEXEC;
    let removed = mq_open(name, flags, Mode::empty(), None).and_then(|queue| {
        let own = fstat(queue.as_fd())?.st_uid == geteuid().as_raw();
        if own { mq_unlink(name).map(|()| true) } else { Ok(false) }
    });
    note(removed, leftover, outcome);
}

fn remove_queue(key: i32) -> nix::Result<bool> {
    // SAFETY: numbers only; the description is zeroed, which is valid, and filled in by the kernel.
    unsafe {
        let id = Errno::result(libc::msgget(key, 0))?;
        let mut description: libc::msqid_ds = std::mem::zeroed();
        Errno::result(libc::msgctl(id, libc::IPC_STAT, &mut description))?;
        if !is_own(&description.msg_perm) {
            return Ok(false);
        }
        Errno::result(libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut())).map(|_| true)
    }
}

fn remove_segment(key: i32) -> nix::Result<bool> {
    // SAFETY: as for a queue.
    unsafe {
        let id = Errno::result(libc::shmget(key, 0, 0))?;
        let mut description: libc::shmid_ds = std::mem::zeroed();
        Errno::result(libc::shmctl(id, libc::IPC_STAT, &mut description))?;
        if !is_own(&description.shm_perm) {
            return Ok(false);
        }
        Errno::result(libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut())).map(|_| true)
    }
}

/// True if this user created it and still owns it.
fn is_own(permissions: &libc::ipc_perm) -> bool {
    let own = geteuid().as_raw();
    permissions.uid == own && permissions.cuid == own
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        os::unix::fs::symlink,
        path::PathBuf,
    };

    use nix::{
        mqueue::MqAttr,
        unistd::{Pid, Uid, chown},
    };
    use tempfile::TempPath;

    use super::*;

    /// The path of a file that is removed at the end of the test, even if the test fails.
    fn file(name: &str) -> TempPath {
        let path = Path::new("/dev/shm").join(format!("ipcmark-leftovers-{name}-{}", Pid::this()));
        TempPath::try_from_path(path).unwrap()
    }

    #[test]
    fn a_session_name_matches_whole_words_only() {
        let begins = |name: &str| begins_with(OsStr::new(name), "ipcmark-01234567-1");
        assert!(begins("ipcmark-01234567-1") && begins("ipcmark-01234567-1-memory"));
        assert!(begins("ipcmark-01234567-1__IPC"));
        assert!(!begins("ipcmark-01234567-12") && !begins("ipcmark-01234567-1x"));
        assert!(!begins("ipcmark-01234567") && !begins("x-ipcmark-01234567-1"));
    }

    #[test]
    fn names_of_a_session_are_removed_everywhere_and_those_of_another_stay() {
        let session = format!("ipcmark-named-{}", Pid::this());
        let neighbour = Path::new("/dev/shm").join(format!("{session}1"));
        let (memory, directory) = (
            Path::new("/dev/shm").join(format!("{session}-memory")),
            Path::new("/tmp").join(format!("{session}-dir")),
        );
        File::create(&neighbour).unwrap();
        File::create(&memory).unwrap();
        fs::create_dir_all(directory.join("inside")).unwrap();
        let outcome = remove_named(&session);
        assert_eq!(outcome.done.len(), 3, "{outcome:?}");
        assert!(!memory.exists() && !directory.exists() && neighbour.exists());
        fs::remove_file(&neighbour).unwrap();
    }

    #[test]
    fn an_open_file_is_removed_only_after_it_is_closed() {
        let path = file("open");
        let open = File::create(&path).unwrap();
        let leftover = [Leftover::File(path.to_path_buf())];
        let outcome = remove(&leftover);
        assert!(path.exists() && outcome.done.is_empty() && outcome.faults.is_empty());
        drop(open);
        let outcome = remove(&leftover);
        assert_eq!(outcome.done, [format!("removed {} (file)", path.display())]);
        assert!(!path.exists());
        assert!(remove(&leftover).done.is_empty());
    }

    #[test]
    fn a_path_to_elsewhere_is_refused() {
        let link = file("link");
        symlink("/dev/shm", &link).unwrap();
        for path in [
            PathBuf::from("/etc/passwd"),
            "/tmp/../etc/passwd".into(),
            "/dev/shm/..".into(),
            "/tmp/a/b".into(),
            "relative".into(),
            "/".into(),
            link.join("x"),
        ] {
            let outcome = remove(&[Leftover::File(path.clone())]);
            assert!(outcome.done.is_empty(), "{}: {outcome:?}", path.display());
            assert_eq!(outcome.faults.len(), 1, "{}: {outcome:?}", path.display());
        }
    }

    /// Only root can create objects of another user.
    #[test]
    fn objects_of_another_user_stay() {
        if !geteuid().is_root() {
            return;
        }
        let path = file("others");
        File::create(&path).unwrap();
        chown(&*path, Some(Uid::from_raw(65534)), None).unwrap();
        let outcome = remove(&[Leftover::File(path.to_path_buf())]);
        assert!(path.exists() && outcome.done.is_empty() && outcome.faults.is_empty());
    }

    #[test]
    fn a_message_queue_is_removed_by_its_name() {
        let name = format!("/ipcmark-leftovers-{}", Pid::this());
        let flags = MQ_OFlag::O_CREAT | MQ_OFlag::O_EXCL | MQ_OFlag::O_RDWR;
        let leftover = [Leftover::MessageQueue(name.clone())];
        let attributes = MqAttr::new(0, 1, 64, 0);
        match mq_open(name.as_str(), flags, Mode::S_IRUSR, Some(&attributes)) {
            Err(Errno::ENOSYS) => return,
            queue => drop(queue.unwrap()),
        }
        assert_eq!(remove(&leftover).done, [format!("removed the message queue {name}")]);
        assert_eq!(mq_unlink(name.as_str()), Err(Errno::ENOENT));
        let again = remove(&leftover);
        assert!(again.done.is_empty() && again.faults.is_empty(), "{again:?}");
    }

    #[test]
    fn system_v_objects_are_removed_by_their_keys() {
        let key = 0x6900_0000 | Pid::this().as_raw();
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
        let leftovers = [Leftover::SystemVQueue(key), Leftover::SystemVSegment(key)];
        // SAFETY: numbers only.
        let made = unsafe { [libc::msgget(key, flags), libc::shmget(key, 4096, flags)] };
        assert!(made.iter().all(|id| *id >= 0), "{}", Errno::last());
        let outcome = remove(&leftovers);
        assert_eq!(outcome.done.len(), 2, "{outcome:?}");
        assert!(outcome.done[0].starts_with("removed the System V queue with the key 0x69"));
        // SAFETY: numbers only.
        let found = unsafe { [libc::msgget(key, 0), libc::shmget(key, 0, 0)] };
        assert_eq!(found, [-1, -1]);
        assert!(remove(&leftovers).faults.is_empty());
    }
}
