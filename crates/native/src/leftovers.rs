//! System V objects that outlived the processes that made them.
//!
//! Such an object has no name, only a key. Ours have keys that begin with the letters `ip`, so that
//! one can be told from a stranger's. An object is a leftover if it has our key, belongs to this
//! user, and the system's table names processes that used it and that are all dead. An object for
//! which the table names none may be in use by a process of another PID namespace; it is left.

use std::fs;

use ipcmark_transport::Error;
use libc::{c_int, key_t, pid_t};
use nix::{errno::Errno, unistd::geteuid};

/// The letters `ip`, in the upper half of a key.
const PREFIX: key_t = 0x6970_0000;

/// A key of ours whose lower half is random.
pub fn key(random: u64) -> key_t {
    PREFIX | key_t::from(random as u16)
}

/// Removes the message queues, segments and semaphores that dead processes of this user left;
/// returns how many.
pub fn remove() -> Result<usize, Error> {
    let mut count = 0;
    for kind in [Kind::Queue, Kind::Segment, Kind::Semaphores] {
        // A kernel without System V objects has no such table.
        let table = fs::read_to_string(kind.table()).unwrap_or_default();
        for id in kind.leftovers(&table, geteuid().as_raw()) {
            count += usize::from(kind.remove(id)?);
        }
    }
    Ok(count)
}

/// Whether a process runs; one that is on its way out, or that has ended and is not waited for, does
/// not.
pub fn is_alive(process: pid_t) -> bool {
    // SAFETY: signal 0 only asks.
    let found = unsafe { libc::kill(process, 0) } == 0 || Errno::last() == Errno::EPERM;
    let stat = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    process > 0 && found && !has_ended(&stat())
}

/// Whether a line of `/proc/<process>/stat` is that of a process that will do nothing more.
fn has_ended(stat: &str) -> bool {
    // As the kernel calls it in `PF_EXITING`: set before the process gives up its files.
    const EXITING: u64 = 4;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let mut fields = fields.split_whitespace();
    let state = fields.next();
    let flags = fields.nth(5).and_then(|flags| flags.parse().ok()).unwrap_or(0);
    state == Some("Z") || flags & EXITING != 0
}

/// A kind of System V object.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Queue,
    Segment,
    Semaphores,
}

impl Kind {
    fn table(self) -> &'static str {
        match self {
            Self::Queue => "/proc/sysvipc/msg",
            Self::Segment => "/proc/sysvipc/shm",
            Self::Semaphores => "/proc/sysvipc/sem",
        }
    }

    /// The objects of a table that nobody uses any more.
    fn leftovers(self, table: &str, user: u32) -> Vec<c_int> {
        let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let Some(names) = lines.next() else { return vec![] };
        let rows = lines.map(|words| Row { names: &names, words });
        rows.filter(|row| row.is_ours(user)).filter_map(|row| self.leftover(&row)).collect()
    }

    /// The object of a row, if nobody uses it any more.
    fn leftover(self, row: &Row<'_>) -> Option<c_int> {
        let (id, users) = match self {
            Self::Queue => (row.number("msqid")?, [row.number("lspid")?, row.number("lrpid")?]),
            Self::Segment if row.number("nattch")? > 0 => return None,
            Self::Segment => (row.number("shmid")?, [row.number("cpid")?, row.number("lpid")?]),
            Self::Semaphores => {
                let id = row.number("semid")?;
                // SAFETY: asking for the last process takes no argument.
                (id, [i64::from(unsafe { libc::semctl(id as c_int, 0, libc::GETPID) }), 0])
            }
        };
        let known = users.iter().any(|process| *process > 0);
        let used = users.iter().any(|process| *process > 0 && is_alive(*process as pid_t));
        (known && !used).then_some(id as c_int)
    }

    /// Removes an object; false if it is gone already.
    fn remove(self, id: c_int) -> Result<bool, Error> {
        // SAFETY: removing takes no argument.
        let result = unsafe {
            match self {
                Self::Queue => libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut()),
                Self::Segment => libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()),
                Self::Semaphores => libc::semctl(id, 0, libc::IPC_RMID),
            }
        };
        match Errno::result(result) {
            Ok(_) => Ok(true),
            Err(Errno::EINVAL | Errno::EIDRM) => Ok(false),
            Err(errno) => Err(Error::os("remove", format!("the System V object {id}"), errno)),
        }
    }
}

/// One object of a table, its columns named in the table's first line.
struct Row<'a> {
    names: &'a [&'a str],
    words: Vec<&'a str>,
}

impl Row<'_> {
    fn number(&self, name: &str) -> Option<i64> {
        let column = self.names.iter().position(|known| *known == name)?;
        self.words.get(column)?.parse().ok()
    }

    fn is_ours(&self, user: u32) -> bool {
        let ours = |key| key & 0xFFFF_0000 == i64::from(PREFIX);
        self.number("key").is_some_and(ours) && self.number("uid") == Some(i64::from(user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::queue::dead_process;

    const HEADER: &str = "       key      msqid perms      cbytes       qnum lspid lrpid   uid \
                          gid  cuid  cgid      stime      rtime      ctime\n";

    fn row(key: key_t, id: i32, senders: [pid_t; 2], user: u32) -> String {
        let [last, read] = senders;
        format!("{key:>10} {id:>10}   600  0  0 {last:>5} {read:>5} {user:>5} 0 0 0 0 0 0\n")
    }

    #[test]
    fn a_key_has_our_letters_and_a_random_rest() {
        assert_eq!(key(0x1234_5678_9ABC_DEF0), 0x6970_DEF0);
        assert_eq!(key(0), PREFIX);
    }

    #[test]
    fn only_our_own_objects_of_dead_processes_are_leftovers() {
        let (dead, alive) = (dead_process(), std::process::id() as pid_t);
        let table = [
            HEADER.to_owned(),
            row(key(1), 10, [dead, dead], 7),
            row(key(2), 11, [dead, 0], 7),
            row(key(3), 12, [dead, alive], 7),
            row(key(4), 13, [alive, dead], 7),
            row(key(5), 14, [0, 0], 7),
            row(key(6), 15, [dead, dead], 8),
            row(0x6971_0001, 16, [dead, dead], 7),
            row(0, 17, [dead, dead], 7),
        ];
        assert_eq!(Kind::Queue.leftovers(&table.concat(), 7), [10, 11]);
    }

    #[test]
    fn a_table_that_is_absent_or_strange_has_no_leftovers() {
        for table in ["", "\n\n", "key\n1768946689\n", "a b\nc d\n"] {
            assert_eq!(Kind::Segment.leftovers(table, 0), [] as [i32; 0]);
        }
    }

    #[test]
    fn a_process_on_its_way_out_has_ended() {
        assert!(!has_ended("7 (a) b) S 1 7 7 0 -1 4194304 77 0"));
        assert!(has_ended("7 (a) b) Z 1 7 7 0 -1 4194304 77 0"));
        assert!(has_ended("7 (a) b) R 1 7 7 0 -1 4194308 77 0"));
        assert!(!has_ended("7 (a)") && !has_ended(""));
    }

    #[test]
    fn a_process_lives_until_it_ends() {
        assert!(is_alive(std::process::id() as pid_t));
        assert!(!is_alive(dead_process()));
        assert!(!is_alive(0) && !is_alive(-1));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while is_alive(child.id() as pid_t) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }
}
