//! Commands with restrictions like those of a container, a control group or an administrator.

use std::{
    fs, io,
    os::{fd::AsRawFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, CpuSet, sched_setaffinity, unshare},
    sys::resource::{Resource, setrlimit},
    unistd::{Gid, Pid, Uid, setgroups, setresgid, setresuid},
};

use super::{Verdict, processes::await_that, processors};

/// Restricts a process between fork and exec, with system calls that are safe there.
pub type Step = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

/// The user `nobody`, and its group.
const NOBODY: u32 = 65534;

/// The command, after these steps in order.
pub fn confined(mut command: Command, steps: Vec<Step>) -> Command {
    // SAFETY: the steps only make system calls, with data prepared before the fork.
    unsafe { command.pre_exec(move || steps.iter().try_for_each(|step| step())) };
    command
}

/// The reason why these steps are impossible here, if they are.
pub fn refused(what: &str, steps: Vec<Step>) -> Option<Verdict> {
    let mut tried = confined(Command::new("true"), steps);
    let tried = tried.stdin(Stdio::null()).stdout(Stdio::null()).status();
    tried
        .err()
        .map(|error| Verdict::Skipped(format!("{what}: this system does not allow it: {error}")))
}

/// Becomes a user without privileges, who can also gain none.
pub fn ordinary_user() -> Step {
    Box::new(|| {
        let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        setgroups(&[])?;
        setresgid(group, group, group)?;
        setresuid(user, user, user)?;
        Ok(nix::sys::prctl::set_no_new_privs()?)
    })
}

/// Mounts an empty file system over a directory, for this command only.
fn hidden(place: &'static str, options: &'static str) -> Step {
    Box::new(move || {
        unshare(CloneFlags::CLONE_NEWNS)?;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(None::<&str>, "/", None::<&str>, private, None::<&str>)?;
        Ok(mount(Some("tmpfs"), place, Some("tmpfs"), MsFlags::empty(), Some(options))?)
    })
}

pub fn no_proc_sys() -> Step {
    hidden("/proc/sys", "mode=555")
}

/// One MiB of `/dev/shm`.
pub fn small_dev_shm() -> Step {
    hidden("/dev/shm", "size=1m,mode=1777")
}

pub fn few_descriptors() -> Step {
    Box::new(|| Ok(setrlimit(Resource::RLIMIT_NOFILE, 64, 64)?))
}

/// Allows hardly any locked memory.
pub fn little_locked_memory() -> Step {
    Box::new(|| Ok(setrlimit(Resource::RLIMIT_MEMLOCK, 64 << 10, 64 << 10)?))
}

pub fn one_processor() -> Step {
    let mut set = CpuSet::new();
    set.set(processors()[0] as usize).expect("a processor of this machine");
    Box::new(move || Ok(sched_setaffinity(Pid::from_raw(0), &set)?))
}

/// Refuses namespaces, as the default seccomp profiles of containers do.
pub fn no_namespaces() -> Step {
    filtered(filter())
}

/// Refuses one system call, as a seccomp profile can.
pub fn no_call(number: i64) -> Step {
    no_call_as(number, libc::EPERM)
}

/// Refuses one system call with this error.
pub fn no_call_as(number: i64, errno: i32) -> Step {
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    filtered(vec![
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(equal, number as u32, 0, 1),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32, 0, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ])
}

/// Applies a filter to every system call.
fn filtered(filter: Vec<libc::sock_filter>) -> Step {
    Box::new(move || {
        nix::sys::prctl::set_no_new_privs()?;
        let program =
            libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        let mode = libc::SECCOMP_MODE_FILTER;
        // SAFETY: the program is valid for the call; the kernel copies it.
        match unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    })
}

/// `unshare`, `setns` and a `clone` that asks for a namespace are not permitted. `clone3`, whose flags a filter cannot
/// see, is reported as unknown, so that callers fall back to `clone`.
fn filter() -> Vec<libc::sock_filter> {
    let spaces = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS;
    // The offsets of the call's number and of the low half of its first argument in the filter's input.
    let (number, argument) = (0, 16);
    let load = |at| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0);
    let equal = |to: i64, then, otherwise| {
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, to as u32, then, otherwise)
    };
    let any_of = |bits: i32, then, otherwise| {
        statement(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits as u32, then, otherwise)
    };
    let end = |action| statement(libc::BPF_RET | libc::BPF_K, action, 0, 0);
    let fail = |errno: i32| end(libc::SECCOMP_RET_ERRNO | errno as u32);
    vec![
        load(number),
        equal(libc::SYS_unshare, 6, 0),
        equal(libc::SYS_setns, 5, 0),
        equal(libc::SYS_clone3, 5, 0),
        equal(libc::SYS_clone, 0, 2),
        load(argument),
        any_of(spaces, 1, 0),
        end(libc::SECCOMP_RET_ALLOW),
        fail(libc::EPERM),
        fail(libc::ENOSYS),
    ]
}

fn statement(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// A control group with this memory limit, removed when this is dropped.
pub struct MemoryGroup {
    directory: PathBuf,
    members: fs::File,
}

impl MemoryGroup {
    /// A group below that of this process.
    pub fn new(bytes: u64) -> io::Result<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let own = |controller: &str| {
            let mut lines =
                groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
            lines
                .find(|(names, _)| *names == controller)
                .map(|(_, path)| path.trim_start_matches('/'))
        };
        let (root, own, limit) = match (own("memory"), own("")) {
            (Some(own), _) => ("/sys/fs/cgroup/memory", own, "memory.limit_in_bytes"),
            (None, Some(own)) => ("/sys/fs/cgroup", own, "memory.max"),
            (None, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        // Tests in separate namespaces have equal process ids.
        let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let name = format!("ipcmark-test-{}", started.map_or(0, |time| time.as_nanos()));
        let directory = Path::new(root).join(own).join(name);
        fs::create_dir(&directory)?;
        let limited = fs::write(directory.join(limit), bytes.to_string());
        let members = fs::File::options().write(true).open(directory.join("cgroup.procs"));
        match limited.and(members) {
            Ok(members) => Ok(Self { directory, members }),
            Err(error) => {
                let _ = fs::remove_dir(&directory);
                Err(error)
            }
        }
    }

    /// Moves a process into it.
    pub fn step(&self) -> Step {
        let descriptor = self.members.as_raw_fd();
        Box::new(move || {
            // SAFETY: the buffer is valid for its length; 0 means the process that writes.
            match unsafe { libc::write(descriptor, c"0".as_ptr().cast(), 1) } {
                1 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        })
    }
}

impl Drop for MemoryGroup {
    /// A killed process may take a moment to leave the group.
    fn drop(&mut self) {
        await_that("the control group is empty", || fs::remove_dir(&self.directory).ok());
    }
}
