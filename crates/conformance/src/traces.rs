//! The objects of a session in the system: files, queues, segments. After the session, none may be
//! left.

use std::{fs, path::Path};

use nix::{
    mqueue::{MQ_OFlag, mq_open},
    sched::{CloneFlags, unshare},
    sys::stat::Mode,
};

use crate::{failure::Failure, footprint::descriptors};

/// The directories that are searched for names that contain the session's.
const PLACES: [&str; 3] = ["/dev/shm", "/dev/mqueue", "/tmp"];

/// The names of the session `name` in the file system and, where mqueue is not mounted, among the
/// open descriptors of this process.
pub fn names(name: &str, directory: &Path) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for place in PLACES {
        found.extend(entries(Path::new(place)).filter(|entry| entry.contains(name)));
    }
    found.extend(entries(directory));
    found.extend(descriptors()?.into_values().filter(|target| is_name(target, name)));
    Ok(found)
}

/// The names of message queues of the session `name` that this process has open, even if unlinked.
pub fn queues(name: &str) -> Result<Vec<String>, Failure> {
    let targets = descriptors()?.into_values().filter(|target| {
        target.rfind('/') == Some(0) && target.contains(name) && !target.starts_with("/memfd:")
    });
    Ok(targets.map(|target| target.trim_end_matches(" (deleted)").to_owned()).collect())
}

/// True if a descriptor with this link points to an object of the session that still has its name.
fn is_name(target: &str, name: &str) -> bool {
    target.starts_with('/')
        && target.rfind('/') == Some(0)
        && target.contains(name)
        && !target.ends_with(" (deleted)")
}

fn entries(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().to_string_lossy().into_owned())
}

/// The tables of System V IPC, with the columns for the processes that made or last used an object.
const TABLES: [(&str, &[&str]); 3] =
    [("shm", &["cpid", "lpid"]), ("msg", &["lspid", "lrpid"]), ("sem", &[])];

/// The System V IPC objects and message queues visible to a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisibleObjects {
    /// Only its own: the thread is in a new IPC namespace.
    Own,
    /// Everybody's: a check's own objects are recognised by the ids of its processes.
    Everybody,
}

impl VisibleObjects {
    /// Moves this thread, and the processes that it starts from now on, into a new IPC namespace
    /// where the system allows it.
    pub fn narrow() -> Self {
        match unshare(CloneFlags::CLONE_NEWIPC) {
            Ok(()) => VisibleObjects::Own,
            Err(_) => VisibleObjects::Everybody,
        }
    }

    /// The System V IPC objects left by the processes `pids`.
    pub fn system_v(self, pids: &[u32]) -> Vec<String> {
        let mut found = Vec::new();
        for (table, columns) in TABLES {
            // The thread's own view: the rest of the process is in another namespace.
            let path = format!("/proc/sysvipc/{table}");
            let rows = rows(&fs::read_to_string(path).unwrap_or_default(), columns);
            let ours = |row: &TableRow| row.pids.iter().any(|pid| pids.contains(pid));
            let theirs = rows.into_iter().filter(|row| self == VisibleObjects::Own || ours(row));
            found.extend(theirs.map(|row| format!("the System V {table} object {}", row.id)));
        }
        found
    }
}

/// The message queues among `names` that can still be opened.
pub fn queues_left(names: &[String]) -> Vec<String> {
    let there =
        |name: &&String| mq_open(name.as_str(), MQ_OFlag::O_RDONLY, Mode::empty(), None).is_ok();
    names.iter().filter(there).map(|name| format!("the message queue {name}")).collect()
}

/// One object in a table.
struct TableRow {
    /// Key and id.
    id: String,
    /// The processes that made or last used it.
    pids: Vec<u32>,
}

fn rows(text: &str, columns: &[&str]) -> Vec<TableRow> {
    let mut lines = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let head = lines.next().unwrap_or_default();
    let places: Vec<usize> =
        columns.iter().filter_map(|column| head.iter().position(|word| word == column)).collect();
    let row = |words: Vec<&str>| {
        let pid = |place: &usize| words.get(*place)?.parse().ok();
        TableRow { pids: places.iter().filter_map(pid).collect(), id: words[..2].join(" ") }
    };
    lines.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_by_the_process_that_made_it() {
        let table = "  key  shmid perms size  cpid  lpid\n  0  3  600  4096  77  78\n  5  4  600  1  79  77\n";
        let rows = rows(table, &["cpid", "lpid"]);
        assert_eq!((rows[0].id.as_str(), &rows[0].pids[..]), ("0 3", &[77, 78][..]));
        assert_eq!((rows[1].id.as_str(), &rows[1].pids[..]), ("5 4", &[79, 77][..]));
    }

    #[test]
    fn a_file_in_shared_memory_is_found_by_its_name() {
        let name = format!("conformance-traces-{}", std::process::id());
        let file = format!("/dev/shm/{name}-0");
        fs::write(&file, "").unwrap();
        let found = names(&name, Path::new("/nonexistent"));
        fs::remove_file(&file).unwrap();
        assert_eq!(found.unwrap(), [file]);
        assert!(names(&name, Path::new("/nonexistent")).unwrap().is_empty());
    }

    #[test]
    fn a_queue_that_lost_its_name_is_not_one() {
        assert!(is_name("/x-1-out", "x-1"));
        assert!(!is_name("/x-1-out (deleted)", "x-1"));
        assert!(!is_name("/memfd:x-1 (deleted)", "x-1"));
        assert!(!is_name("socket:[77]", "x-1"));
    }
}
