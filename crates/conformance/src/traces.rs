//! What a session has in the tables of the system: files, queues, segments. After it, nothing.

use std::{fs, path::Path};

use nix::{
    mqueue::{MQ_OFlag, mq_open},
    sched::{CloneFlags, unshare},
    sys::stat::Mode,
};

use crate::{failure::Failure, footprint::descriptors};

/// Where names that start with the session's are looked for.
const PLACES: [&str; 3] = ["/dev/shm", "/dev/mqueue", "/tmp"];

/// The names that the session `name` has in the file system and, where the queues of the system are
/// not mounted, among what this process has open.
pub fn names(name: &str, directory: &Path) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for place in PLACES {
        found.extend(entries(Path::new(place)).filter(|entry| entry.contains(name)));
    }
    found.extend(entries(directory));
    found.extend(descriptors()?.into_values().filter(|target| is_name(target, name)));
    Ok(found)
}

/// The names of message queues of the session `name` that this process has open, unlinked or not.
pub fn queues(name: &str) -> Result<Vec<String>, Failure> {
    let targets = descriptors()?.into_values().filter(|target| {
        target.rfind('/') == Some(0) && target.contains(name) && !target.starts_with("/memfd:")
    });
    Ok(targets.map(|target| target.trim_end_matches(" (deleted)").to_owned()).collect())
}

/// Whether a descriptor with this link leads to something of the session that still has its name.
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

/// The tables of System V IPC, with the columns that tell which process made or last used an object.
const TABLES: [(&str, &[&str]); 3] =
    [("shm", &["cpid", "lpid"]), ("msg", &["lspid", "lrpid"]), ("sem", &[])];

/// Whose objects of System V IPC and message queues a check can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Horizon {
    /// Only its own: the thread is in an IPC namespace that is new.
    Own,
    /// Everybody's: those of a check are known by the numbers of its processes.
    Everybody,
}

impl Horizon {
    /// Puts this thread, and what it starts from now on, into an IPC namespace of its own where the
    /// system allows it.
    pub fn narrow() -> Self {
        match unshare(CloneFlags::CLONE_NEWIPC) {
            Ok(()) => Horizon::Own,
            Err(_) => Horizon::Everybody,
        }
    }

    /// The objects of System V IPC that the processes `pids` left.
    pub fn system_v(self, pids: &[u32]) -> Vec<String> {
        let mut found = Vec::new();
        for (table, columns) in TABLES {
            // The thread's own view: the namespace is not that of the whole process.
            let path = format!("/proc/sysvipc/{table}");
            let rows = rows(&fs::read_to_string(path).unwrap_or_default(), columns);
            let ours = |row: &Row| row.pids.iter().any(|pid| pids.contains(pid));
            let theirs = rows.into_iter().filter(|row| self == Horizon::Own || ours(row));
            found.extend(theirs.map(|row| format!("the System V {table} object {}", row.id)));
        }
        found
    }
}

/// Those of the message queues `names` that can still be opened.
pub fn queues_left(names: &[String]) -> Vec<String> {
    let there =
        |name: &&String| mq_open(name.as_str(), MQ_OFlag::O_RDONLY, Mode::empty(), None).is_ok();
    names.iter().filter(there).map(|name| format!("the message queue {name}")).collect()
}

/// One object in a table.
struct Row {
    /// Key and number.
    id: String,
    /// The processes that had to do with it.
    pids: Vec<u32>,
}

fn rows(text: &str, columns: &[&str]) -> Vec<Row> {
    let mut lines = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let head = lines.next().unwrap_or_default();
    let places: Vec<usize> =
        columns.iter().filter_map(|column| head.iter().position(|word| word == column)).collect();
    let row = |words: Vec<&str>| {
        let pid = |place: &usize| words.get(*place)?.parse().ok();
        Row { pids: places.iter().filter_map(pid).collect(), id: words[..2].join(" ") }
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
