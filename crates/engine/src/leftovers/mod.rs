//! Names that a run without a sandbox makes in the host's own places, and their removal.
//!
//! Every name starts with `ipcmark-` and the run's id. While a run lives it holds a lock on a file
//! in its directory, so that `ipcmark clean` beside it takes nothing away.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
};

use crate::registry::Registry;

/// The start of every name.
pub(crate) const PREFIX: &str = "ipcmark-";

/// Where names of ours can appear.
const PLACES: [&str; 4] = ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"];

/// The directory of a run without a sandbox, locked while the run lives and removed with it.
pub(crate) struct RunDirectory {
    path: PathBuf,
    id: String,
    _lock: Flock<File>,
}

impl RunDirectory {
    /// Makes the directory of the run `id`, for this user alone.
    pub(crate) fn create(id: &str) -> Result<Self, Error> {
        use std::os::unix::fs::DirBuilderExt;
        let path = Path::new("/tmp").join(format!("{PREFIX}{id}"));
        let error = |e| Error::os("create", path.display().to_string(), e);
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(error)?;
        let lock = File::create(path.join("lock")).map_err(error)?;
        let lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, e)| error(e.into()))?;
        Ok(Self { path, id: id.into(), _lock: lock })
    }

    /// A fresh directory of one session.
    pub(crate) fn session(&self, number: u64) -> Result<PathBuf, Error> {
        let path = self.path.join(number.to_string());
        let created = fs::create_dir(&path);
        created.map_err(|e| Error::os("create", path.display().to_string(), e))?;
        Ok(path)
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        remove_names(&self.id);
    }
}

/// Removes what runs without a sandbox left when they were killed; returns what it removed.
pub fn clean(registry: &Registry) -> Result<Vec<String>, Error> {
    let mut removed = Vec::new();
    for id in dead_runs() {
        removed.extend(clean_run(registry, &id)?);
    }
    let before = system_v_objects();
    for candidate in registry {
        candidate.remove("")?;
    }
    let after = system_v_objects();
    removed.extend(before.into_iter().filter(|object| !after.contains(object)));
    Ok(removed)
}

/// Removes what a dead run left; returns the names.
pub(crate) fn clean_run(registry: &Registry, id: &str) -> Result<Vec<String>, Error> {
    for name in sessions(id) {
        registry.iter().try_for_each(|candidate| candidate.remove(&name))?;
    }
    Ok(remove_names(id))
}

/// Removes every name that starts with `id`, which is a run's id or what follows the prefix in the
/// name of one of its sessions; what is gone already is no error.
pub(crate) fn remove_names(id: &str) -> Vec<String> {
    let prefix = format!("{PREFIX}{id}");
    let ours = |name: &str| {
        name.strip_prefix(&prefix)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    let paths = names().into_iter().filter(|path| file_name(path).is_some_and(|name| ours(&name)));
    let removed = paths.filter(|path| remove(path).is_ok());
    removed.map(|path| path.display().to_string()).collect()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

/// Every name of ours in the places where names can appear.
fn names() -> Vec<PathBuf> {
    let entries = PLACES.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| file_name(path).is_some_and(|name| name.starts_with(PREFIX))).collect()
}

/// The ids of runs that have names but no life.
fn dead_runs() -> Vec<String> {
    let mut ids: Vec<String> =
        names().iter().filter_map(|path| run_id(&file_name(path)?)).collect();
    ids.sort();
    ids.dedup();
    ids.retain(|id| !is_alive(id));
    ids
}

/// The id in a name: eight hexadecimal digits behind the prefix.
fn run_id(name: &str) -> Option<String> {
    let id = name.strip_prefix(PREFIX)?.get(..8)?;
    id.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| id.into())
}

/// The names that the sessions of a dead run had, by their directories: what a transport has under
/// such a name may stand in a table that cannot be listed.
fn sessions(id: &str) -> Vec<String> {
    let entries = fs::read_dir(format!("/tmp/{PREFIX}{id}")).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let numbers = directories.filter_map(|entry| entry.file_name().into_string().ok());
    numbers.map(|number| format!("{PREFIX}{id}-{number}")).collect()
}

fn is_alive(id: &str) -> bool {
    match File::open(format!("/tmp/{PREFIX}{id}/lock")) {
        Ok(lock) => {
            let tried = Flock::lock(lock, FlockArg::LockExclusiveNonblock);
            matches!(tried, Err((_, Errno::EWOULDBLOCK)))
        }
        // A lock that another user holds cannot even be opened: not ours to judge.
        Err(e) => e.kind() == ErrorKind::PermissionDenied,
    }
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

/// The System V objects of the machine, as the kernel lists them.
fn system_v_objects() -> Vec<String> {
    let mut objects = Vec::new();
    for kind in ["msg", "shm", "sem"] {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let ids = table.lines().skip(1).filter_map(|line| {
            let mut fields = line.split_whitespace();
            Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
        });
        objects.extend(ids.map(|(key, id)| format!("System V {kind} {id} (key {key})")));
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of a run, removed however the test ends.
    struct Names<'a>(&'a str);

    impl Drop for Names<'_> {
        fn drop(&mut self) {
            remove_names(self.0);
        }
    }

    #[test]
    fn a_living_run_is_left_alone_and_a_dead_one_is_cleaned() {
        let id = format!("{:08x}", std::process::id() ^ 0xa5a5_0000);
        let stray = PathBuf::from(format!("/dev/shm/{PREFIX}{id}-1-2"));
        let path = PathBuf::from(format!("/tmp/{PREFIX}{id}"));
        let _names = Names(&id);
        let directory = RunDirectory::create(&id).unwrap();
        fs::write(&stray, "x").unwrap();
        assert!(!dead_runs().contains(&id), "it holds its lock");
        drop(directory);
        assert!(!stray.exists() && !path.exists());

        fs::create_dir_all(path.join("7")).unwrap();
        fs::write(path.join("lock"), "").unwrap();
        assert!(dead_runs().contains(&id), "nobody holds its lock");
        assert_eq!(sessions(&id), [format!("{PREFIX}{id}-7")]);
        remove_names(&id);
        assert!(!path.exists());
    }

    #[test]
    fn only_names_of_ours_have_an_id() {
        assert_eq!(run_id("ipcmark-0123abcd-1").as_deref(), Some("0123abcd"));
        assert_eq!(run_id("ipcmark-notes"), None);
        assert_eq!(run_id("other-0123abcd"), None);
    }
}
