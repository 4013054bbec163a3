//! The resources that processes and their threads used, from `/proc`. A process that ends while it is read is left out.

use std::collections::{BTreeMap, BTreeSet};

use nix::{time::clock_getcpuclockid, unistd::Pid};

use super::{
    processors::tick_ns,
    threads::{Thread, ThreadTime},
};
use crate::{clock::now_ns, files::Files};

/// The most threads of one process that are read.
const MOST_THREADS: usize = 4_096;

/// The counters of some processes at one moment.
#[derive(Clone, Debug)]
pub struct Processes {
    at_ns: u64,
    processes: BTreeMap<ProcessIdentity, Process>,
}

/// Identifies a process: a process number can be reused, but not within the same tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ProcessIdentity {
    pid: i32,
    started: u64,
}

#[derive(Clone, Debug)]
struct Process {
    name: String,
    cpu_ns: u64,
    minor_faults: u64,
    major_faults: u64,
    threads: BTreeMap<i32, (String, ThreadTime)>,
}

/// The resources that processes used between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessesUse {
    /// The time between the two moments.
    pub elapsed_ns: u64,
    /// Every process, by its number.
    pub processes: Vec<ProcessUse>,
}

/// The resources that a process used between two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessUse {
    /// Its number.
    pub pid: i32,
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// CPU time of all its threads, including those that have ended.
    pub cpu_ns: u64,
    /// Page faults that needed no disk read.
    pub minor_faults: u64,
    /// Page faults that needed one.
    pub major_faults: u64,
    /// Its threads that are still running.
    pub threads: Vec<ThreadUse>,
}

/// The resources that a thread used between two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadUse {
    /// Its number.
    pub tid: i32,
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// Its times.
    pub time: ThreadTime,
}

/// Fields of `/proc/PID/stat`.
struct Stat {
    identity: ProcessIdentity,
    parent: i32,
    name: String,
    minor_faults: u64,
    major_faults: u64,
    cpu_ticks: u64,
}

impl Processes {
    /// A process and all its descendants.
    pub fn tree(root: i32) -> Self {
        let files = Files::of_system();
        let all = all(&files);
        let tree = descendants(root, &all);
        Self::read(&files, all.into_iter().filter(|stat| tree.contains(&stat.identity.pid)))
    }

    /// All processes that are visible to this one.
    pub fn all() -> Self {
        let files = Files::of_system();
        Self::read(&files, all(&files).into_iter())
    }

    /// Their numbers and names.
    pub(super) fn names(&self) -> impl Iterator<Item = (i32, &str)> {
        self.processes.iter().map(|(identity, process)| (identity.pid, &*process.name))
    }

    fn read(files: &Files, stats: impl Iterator<Item = Stat>) -> Self {
        let processes = stats.map(|stat| (stat.identity, Process::read(files, stat))).collect();
        Self { at_ns: now_ns(), processes }
    }

    /// The use of these processes since `earlier`; for processes that did not exist then, since their start.
    pub fn since(&self, earlier: &Self) -> ProcessesUse {
        let processes = self.processes.iter().map(|(identity, process)| {
            process.since(identity.pid, earlier.processes.get(identity))
        });
        let elapsed_ns = self.at_ns.saturating_sub(earlier.at_ns);
        ProcessesUse { elapsed_ns, processes: processes.collect() }
    }
}

impl Process {
    fn read(files: &Files, stat: Stat) -> Self {
        let pid = stat.identity.pid;
        let tids = files.names(&format!("proc/{pid}/task"));
        let threads = tids.iter().take(MOST_THREADS).filter_map(|tid| {
            let tid = tid.parse().ok()?;
            let name = files.text(&format!("proc/{pid}/task/{tid}/comm"))?;
            Some((tid, (one_line(&name), Thread { pid, tid }.time(files)?)))
        });
        Self {
            threads: threads.collect(),
            cpu_ns: cpu_ns(pid).unwrap_or(stat.cpu_ticks.saturating_mul(tick_ns())),
            name: stat.name,
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
        }
    }

    fn since(&self, pid: i32, earlier: Option<&Self>) -> ProcessUse {
        let before = |part: fn(&Self) -> u64| earlier.map_or(0, part);
        let threads = self.threads.iter().map(|(tid, (name, time))| {
            let then = earlier.and_then(|process| process.threads.get(tid)).map(|(_, time)| *time);
            let time = time.since(&then.unwrap_or_default());
            ThreadUse { tid: *tid, name: name.clone(), time }
        });
        ProcessUse {
            pid,
            name: self.name.clone(),
            cpu_ns: self.cpu_ns.saturating_sub(before(|process| process.cpu_ns)),
            minor_faults: self.minor_faults.saturating_sub(before(|process| process.minor_faults)),
            major_faults: self.major_faults.saturating_sub(before(|process| process.major_faults)),
            threads: threads.collect(),
        }
    }
}

impl ProcessesUse {
    /// CPU time of all of them.
    pub fn cpu_ns(&self) -> u64 {
        self.processes.iter().map(|process| process.cpu_ns).sum()
    }

    /// The threads that used at least this share of a processor, each with its process.
    pub fn busy_threads(&self, share: f64) -> Vec<(&ProcessUse, &ThreadUse)> {
        let least = share * self.elapsed_ns as f64;
        let all = self
            .processes
            .iter()
            .flat_map(|process| process.threads.iter().map(move |thread| (process, thread)));
        all.filter(|(_, thread)| thread.time.cpu_ns as f64 >= least).collect()
    }
}

fn all(files: &Files) -> Vec<Stat> {
    let pids = files.names("proc").into_iter().filter_map(|name| name.parse::<i32>().ok());
    pids.filter_map(|pid| stat(pid, &files.text(&format!("proc/{pid}/stat"))?)).collect()
}

/// The name is in parentheses and can contain any character.
fn stat(pid: i32, text: &str) -> Option<Stat> {
    let (start, rest) = text.rsplit_once(')')?;
    let name = one_line(start.split_once('(')?.1);
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // proc(5) counts from 1, and the first field here is its third.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        identity: ProcessIdentity { pid, started: number(22)? },
        parent: fields.get(1)?.parse().ok()?,
        name,
        minor_faults: number(10)?,
        major_faults: number(12)?,
        cpu_ticks: number(14)?.saturating_add(number(15)?),
    })
}

/// A process can give itself a name with several lines.
fn one_line(name: &str) -> String {
    name.replace(['\n', '\t'], "?")
}

/// The numbers of a process and all its descendants.
pub(crate) fn tree_of(root: i32) -> BTreeSet<i32> {
    descendants(root, &all(&Files::of_system()))
}

/// The numbers of a process and all its descendants, among these processes.
fn descendants(root: i32, all: &[Stat]) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    all.iter().for_each(|stat| children.entry(stat.parent).or_default().push(stat.identity.pid));
    let (mut tree, mut open) = (BTreeSet::new(), vec![root]);
    while let Some(pid) = open.pop() {
        if tree.insert(pid) {
            open.extend(children.get(&pid).into_iter().flatten());
        }
    }
    tree
}

/// CPU time to the nanosecond, including threads that have ended.
pub(super) fn cpu_ns(pid: i32) -> Option<u64> {
    let time = clock_getcpuclockid(Pid::from_raw(pid)).ok()?.now().ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A child that is killed when the test ends.
    struct Shell(Child);

    impl Shell {
        fn start(script: &str) -> Self {
            let child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn();
            Self(child.unwrap())
        }

        fn pid(&self) -> i32 {
            self.0.id() as i32
        }

        fn line(&mut self) -> String {
            let mut line = String::new();
            let output = self.0.stdout.as_mut().unwrap();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
            line.trim().to_owned()
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_tree_is_counted_by_process() {
        let mut shell = Shell::start("while :; do :; done & echo $!; trap 'kill $!' EXIT; wait");
        let spinning: i32 = shell.line().parse().unwrap();
        let earlier = Processes::tree(shell.pid());
        let used = loop {
            let used = Processes::tree(shell.pid()).since(&earlier);
            if used.cpu_ns() > 30_000_000 {
                break used;
            }
        };
        // SAFETY: the shell's own child, which the shell would kill otherwise.
        unsafe { libc::kill(spinning, libc::SIGKILL) };
        let pids: Vec<i32> = used.processes.iter().map(|process| process.pid).collect();
        assert!(pids.contains(&shell.pid()) && pids.contains(&spinning), "{pids:?}");
        let process = used.processes.iter().find(|process| process.pid == spinning).unwrap();
        assert_eq!(process.name, "sh");
        assert!(process.cpu_ns > 20_000_000, "{process:?}");
        let busy = used.busy_threads(1e-6);
        assert!(busy.iter().any(|(process, _)| process.pid == spinning), "{busy:?}");
    }

    #[test]
    fn new_processes_are_counted_from_their_start_and_exited_ones_left_out() {
        let earlier = Processes::tree(std::process::id() as i32);
        let shell = Shell::start("while :; do :; done");
        let pid = shell.pid();
        let find = || {
            let used = Processes::tree(std::process::id() as i32).since(&earlier);
            used.processes.into_iter().find(|process| process.pid == pid)
        };
        while find().is_none_or(|process| process.cpu_ns == 0) {}
        drop(shell);
        assert_eq!(find(), None);
    }

    #[test]
    fn this_process_is_among_all_and_faults_are_counted() {
        let pid = std::process::id() as i32;
        let earlier = Processes::all();
        let pages = vec![1_u8; 8 << 20];
        std::hint::black_box(&pages);
        let used = Processes::all().since(&earlier);
        let own = used.processes.iter().find(|process| process.pid == pid).unwrap();
        assert!(own.minor_faults > 0, "{own:?}");
        assert!(used.elapsed_ns > 0);
    }

    #[test]
    fn process_names_that_look_like_fields_are_parsed() {
        let text = "7 (a) R 1 (b c) S 3 7 7 0 -1 4194560 11 0 2 0 13 14 0 0 20 0 1 0 99 0 0";
        let stat = stat(7, text).unwrap();
        assert_eq!(
            (stat.name.as_str(), stat.parent, stat.identity.started),
            ("a) R 1 (b c", 3, 99)
        );
        assert_eq!((stat.minor_faults, stat.major_faults, stat.cpu_ticks), (11, 2, 27));
        assert_eq!(super::stat(7, &text.replace("b c", "b\nc")).unwrap().name, "a) R 1 (b?c");
        for odd in ["", "7", "7 (a)", "7 a) (R 1", "7 (a) R 1 2 3", ") ("] {
            assert!(super::stat(7, odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn parents_in_a_circle_end() {
        let of = |pid, parent| Stat {
            identity: ProcessIdentity { pid, started: 0 },
            parent,
            name: String::new(),
            minor_faults: 0,
            major_faults: 0,
            cpu_ticks: 0,
        };
        let all = [of(1, 3), of(2, 1), of(3, 2), of(9, 8)];
        assert_eq!(descendants(1, &all), BTreeSet::from([1, 2, 3]));
    }
}
