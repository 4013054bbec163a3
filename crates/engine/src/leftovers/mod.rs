//! The host resources of a run without a sandbox, and their removal.
//!
//! Every name begins with `ipcmark-` and the run's id. A killed run's own [`crate::keeper`]s clean up after it;
//! `ipcmark clean` removes the rest.

mod directory;

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::PathBuf,
    time::Duration,
};

use ipcmark_machine::{
    leftovers::{self, PLACES, begins_with, places},
    mark,
    open_files::OpenFiles,
    removal::RemovalOutcome,
};

use ipcmark_transport::{RunId, SessionName};

pub use directory::RunDirectory;
use directory::{DirectoryState, find, sessions};

use crate::registry::{AnyTransport, Registry};

/// The time limit for killed processes to end.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Ends and removes what killed runs without a sandbox left: everything that belongs to this user and to no live
/// run.
pub fn clean(registry: &Registry) -> RemovalOutcome {
    let mut outcome = RemovalOutcome::default();
    for process in mark::end_orphans(ENDS_WITHIN) {
        outcome.done.push(format!("ended process {} ({})", process.pid, process.name));
    }
    let runs = dead_runs(&mut outcome);
    let names: Vec<SessionName> = runs.keys().flat_map(|run| sessions(*run)).collect();
    outcome.extend(remove_leftovers(all(registry), &names));
    for place in places() {
        let names = place.own_names().into_iter();
        names
            .filter(|name| run_of(name).is_some_and(|run| runs.contains_key(&run)))
            .for_each(|name| outcome.extend(place.remove(&name)));
    }
    outcome
}

/// Removes the leftovers of a session of this transport, which has no live process any more.
pub(crate) fn clean_session(transport: Option<&dyn AnyTransport>, name: &SessionName) {
    let named = transport.and_then(|one| one.leftovers(std::slice::from_ref(name)).ok());
    leftovers::remove(&named.unwrap_or_default());
    leftovers::remove_named(name);
}

/// Removes the leftovers of a run, which has no live process any more.
pub(crate) fn clean_run(registry: &Registry, run: RunId) -> RemovalOutcome {
    let mut outcome = clean_sessions(all(registry), run);
    outcome.extend(leftovers::remove_named(&run.prefix()));
    outcome
}

/// Removes a run's leftovers of these transports that are not named after the run. No process of its sessions is
/// alive.
pub(crate) fn clean_sessions<'t>(
    transports: impl Iterator<Item = &'t dyn AnyTransport>,
    run: RunId,
) -> RemovalOutcome {
    remove_leftovers(transports, &sessions(run))
}

fn all(registry: &Registry) -> impl Iterator<Item = &dyn AnyTransport> {
    registry.iter().map(|transport| transport.as_ref())
}

/// Asks every library once for the leftovers of these sessions, and removes them.
fn remove_leftovers<'t>(
    transports: impl Iterator<Item = &'t dyn AnyTransport>,
    sessions: &[SessionName],
) -> RemovalOutcome {
    let (mut asked, mut outcome) = (BTreeSet::new(), RemovalOutcome::default());
    for candidate in transports.filter(|candidate| asked.insert(candidate.library())) {
        match candidate.leftovers(sessions) {
            Ok(named) => outcome.extend(leftovers::remove(&named)),
            Err(error) => outcome.fault(error),
        }
    }
    outcome
}

/// The dead runs among those that this user has names of. Their directories stay locked as long as the result
/// lives.
fn dead_runs(outcome: &mut RemovalOutcome) -> BTreeMap<RunId, DirectoryState> {
    let open = LazyCell::new(|| OpenFiles::below(&PLACES));
    let is_in_use = |paths: &[PathBuf]| paths.iter().any(|path| open.contains(path));
    let mut dead = BTreeMap::new();
    for (run, paths) in runs() {
        match find(run) {
            Ok(DirectoryState::Alive) => {}
            // A run in another container can share `/dev/shm` and have its own `/tmp`.
            Ok(DirectoryState::Absent) if is_in_use(&paths) => {}
            Ok(directory) => drop(dead.insert(run, directory)),
            Err(error) => outcome.fault(error),
        }
    }
    dead
}

/// The paths with this user's names, by run.
fn runs() -> BTreeMap<RunId, Vec<PathBuf>> {
    let mut runs: BTreeMap<RunId, Vec<PathBuf>> = BTreeMap::new();
    for place in places() {
        for name in place.own_names() {
            if let Some(run) = run_of(&name) {
                runs.entry(run).or_default().push(place.path().join(&name));
            }
        }
    }
    runs
}

/// The run of a name: `ipcmark-0123abcd`, or that followed by `-` and more.
fn run_of(name: &OsStr) -> Option<RunId> {
    let id = name.to_str()?.split('-').nth(1)?.get(..8)?.parse::<RunId>().ok()?;
    begins_with(name, &id.prefix()).then_some(id)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, path::Path};

    use ipcmark_machine::removal::RemovalDirectory;
    use nix::{
        sys::stat::Mode,
        unistd::{Uid, chown, geteuid, mkfifo},
    };

    use super::*;

    /// A run id that no other test uses.
    fn run(salt: u32) -> RunId {
        RunId::new(std::process::id() ^ salt)
    }

    fn path(place: &str, run: RunId, rest: &str) -> PathBuf {
        Path::new(place).join(format!("{}{rest}", run.prefix()))
    }

    #[test]
    fn clean_removes_leftovers_of_a_dead_run_and_lists_every_name() {
        let run = run(0xa5a5_0000);
        let (stray, directory) = (path("/dev/shm", run, "-7-memory"), path("/tmp", run, ""));
        fs::create_dir_all(directory.join("7")).unwrap();
        fs::create_dir(directory.join("lock")).unwrap();
        fs::write(&stray, "x").unwrap();
        assert_eq!(sessions(run), [run.session(7)]);
        let outcome = clean_run(&Registry::new(), run);
        assert!(!stray.exists() && !directory.exists());
        let session = format!("removed {} (directory)", directory.join("7").display());
        assert!(outcome.done.contains(&session), "{outcome:?}");
        assert_eq!(outcome.done.len(), 4, "{outcome:?}");
    }

    #[test]
    fn a_run_without_its_directory_is_dead_once_nothing_of_it_is_open() {
        let run = run(0x5a5a_0000);
        let stray = path("/dev/shm", run, "-1");
        let open = fs::File::create(&stray).unwrap();
        let is_dead = || dead_runs(&mut RemovalOutcome::default()).contains_key(&run);
        assert!(!is_dead(), "it is open");
        drop(open);
        assert!(is_dead());
        fs::remove_file(&stray).unwrap();
    }

    /// A FIFO named `lock` in another user's directory once made `clean` hang, and a link was followed.
    #[test]
    fn foreign_objects_in_tmp_are_neither_opened_nor_followed() {
        let runs = [1, 2, 3].map(|n| run(0x3c3c_0000 + n));
        let [fifo, link, theirs] = runs.map(|run| path("/tmp", run, ""));
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        symlink("/etc", &link).unwrap();
        fs::create_dir(&theirs).unwrap();
        mkfifo(&theirs.join("lock"), Mode::S_IRWXU).unwrap();
        for run in &runs[..2] {
            assert!(matches!(find(*run).unwrap(), DirectoryState::Absent));
            assert!(sessions(*run).is_empty());
        }
        if geteuid().is_root() {
            chown(&theirs, Some(Uid::from_raw(65534)), None).unwrap();
            assert!(matches!(find(runs[2]).unwrap(), DirectoryState::Absent));
            assert!(!dead_runs(&mut RemovalOutcome::default()).contains_key(&runs[2]));
        }
        let tmp = RemovalDirectory::open(Path::new("/tmp")).unwrap();
        for stranger in [&fifo, &link] {
            assert!(tmp.remove(stranger.file_name().unwrap()).faults.is_empty());
        }
        assert!(Path::new("/etc/passwd").exists());
        fs::remove_dir_all(&theirs).unwrap();
    }

    #[test]
    fn only_names_of_ours_belong_to_a_run() {
        for name in ["ipcmark-0123abcd", "ipcmark-0123abcd-1", "ipcmark-0123abcd-1__IPC"] {
            assert_eq!(run_of(OsStr::new(name)), Some(RunId::new(0x0123_abcd)), "{name}");
        }
        for name in [
            "ipcmark-notes",
            "other-0123abcd",
            "ipcmark-0123ABCD",
            "ipcmark-0123é",
            "ipcmark-",
            "",
            "-",
            "ipcmark-0123abcde",
        ] {
            assert_eq!(run_of(OsStr::new(name)), None, "{name}");
        }
    }
}
