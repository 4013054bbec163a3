//! Kills processes of a run between two of their system calls: always at the same point, however busy the machine is.
//! Every process that the command starts is traced (ptrace). A filter (seccomp) stops it only at calls that can make or
//! remove a name: stopping at every call made a run ten times as long.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    fs, io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    ptr,
};

use libc::{c_long, c_void, pid_t, ptrace_syscall_info};

use super::watchdog::WATCHDOG;

/// The name of the process that makes the call.
pub const COMMAND: &str = "ipcmark";

/// The processes that are killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victims {
    /// The process that makes the call.
    Caller,
    /// The command and all processes that it has started.
    All,
}

/// A traced run.
#[derive(Debug)]
pub struct Traced {
    /// The call at which it was killed; `None` if it made fewer calls.
    pub killed_at: Option<String>,
    /// The command's exit status, or 128 plus the signal.
    pub code: i32,
}

/// Runs a command, and all processes that it starts, until the last one ends. The victims are killed at call number
/// `nth`, from 0, with which a process of this name makes or removes a name: right after it has made one, right before
/// it removes one.
pub fn run_killed(command: &mut Command, process: &str, nth: usize, victims: Victims) -> Traced {
    try_run(command, process, nth, victims).expect("the command starts")
}

fn try_run(
    command: &mut Command,
    process: &str,
    nth: usize,
    victims: Victims,
) -> io::Result<Traced> {
    let mut filter = names::filter();
    // SAFETY: only system calls between fork and exec; the filter lies in the child's copy of the parent's memory.
    unsafe { command.pre_exec(move || offer_to_trace(&mut filter)) };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn()?;
    let mut tracer = Tracer {
        command: child.id() as pid_t,
        process: process.into(),
        nth,
        victims,
        groups: HashMap::new(),
        calls: HashMap::new(),
        seen: 0,
        traced: Traced { killed_at: None, code: -1 },
    };
    tracer.follow();
    Ok(tracer.traced)
}

/// Lets the parent trace this process and all processes that it starts, and stops them at the calls of the filter.
fn offer_to_trace(filter: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel copies the program; the other arguments are numbers. The tracer sets its options at the exec
    // stop, before any of the calls is made.
    let done = unsafe {
        libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// True if processes can be traced here.
pub fn is_allowed() -> bool {
    let run = try_run(&mut Command::new("true"), "nobody", 0, Victims::Caller);
    run.is_ok_and(|traced| traced.code == 0)
}

struct Tracer {
    command: pid_t,
    process: String,
    nth: usize,
    victims: Victims,
    /// The process of each thread.
    groups: HashMap<pid_t, pid_t>,
    /// The name-making call that each thread is in.
    calls: HashMap<pid_t, String>,
    seen: usize,
    traced: Traced,
}

impl Tracer {
    fn follow(&mut self) {
        // If a process never ends, SIGALRM ends this one.
        // SAFETY: the argument is a number.
        unsafe { libc::alarm(WATCHDOG.as_secs() as u32) };
        loop {
            let mut status = 0;
            // Only this thread's tracees, whatever other processes the test has started.
            // SAFETY: the status can be written.
            let thread =
                unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
            if thread < 0 {
                return;
            }
            if !libc::WIFSTOPPED(status) {
                self.note_end(thread, status);
            } else {
                let signal = self.stopped(thread, status);
                // The end of a name-making call is a stop, too.
                let request = match self.calls.contains_key(&thread) {
                    true => libc::PTRACE_SYSCALL,
                    false => libc::PTRACE_CONT,
                };
                // A thread that was killed meanwhile cannot be resumed.
                // SAFETY: the arguments are numbers.
                unsafe { libc::ptrace(request, thread, 0, signal) };
            }
        }
    }

    fn note_end(&mut self, thread: pid_t, status: i32) {
        self.groups.remove(&thread);
        self.calls.remove(&thread);
        if thread == self.command {
            self.traced.code = match libc::WIFEXITED(status) {
                true => libc::WEXITSTATUS(status),
                false => 128 + libc::WTERMSIG(status),
            };
        }
    }

    /// Handles a stopped thread; returns the signal to deliver to it.
    fn stopped(&mut self, thread: pid_t, status: i32) -> c_long {
        let signal = libc::WSTOPSIG(status);
        if let Entry::Vacant(entry) = self.groups.entry(thread) {
            entry.insert(group(thread));
            let options = libc::PTRACE_O_TRACESYSGOOD
                | libc::PTRACE_O_TRACEFORK
                | libc::PTRACE_O_TRACEVFORK
                | libc::PTRACE_O_TRACECLONE
                | libc::PTRACE_O_TRACEEXEC
                | libc::PTRACE_O_TRACESECCOMP
                | libc::PTRACE_O_EXITKILL;
            // SAFETY: the arguments are numbers.
            unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, thread, 0, c_long::from(options)) };
            // The tracer caused the first stop.
            return 0;
        }
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => self.begin_call(thread),
            0 if signal == libc::SIGTRAP | 0x80 => self.end_call(thread),
            0 => return signal.into(),
            _ => {}
        }
        0
    }

    /// A thread enters a system call of the filter.
    fn begin_call(&mut self, thread: pid_t) {
        if !self.is_of_process(thread) {
            return;
        }
        let Some(info) = info(thread) else { return };
        // SAFETY: the kernel filled in this variant.
        let (number, arguments) = unsafe { (info.u.seccomp.nr as c_long, info.u.seccomp.args) };
        match names::kind(number, &arguments) {
            Some((names::Kind::Makes, name)) => drop(self.calls.insert(thread, name.into())),
            Some((names::Kind::Removes, name)) => self.count(thread, name),
            None => {}
        }
    }

    /// A thread leaves a name-making system call; counts it if it succeeded.
    fn end_call(&mut self, thread: pid_t) {
        let Some(info) = info(thread).filter(|info| info.op == libc::PTRACE_SYSCALL_INFO_EXIT)
        else {
            return;
        };
        let Some(name) = self.calls.remove(&thread) else { return };
        // SAFETY: the kernel filled in this variant.
        let failed = unsafe { info.u.exit.is_error } != 0;
        if !failed {
            self.count(thread, &name);
        }
    }

    fn is_of_process(&self, thread: pid_t) -> bool {
        let group = self.group_of(thread);
        if self.process == COMMAND {
            return group == self.command;
        }
        let name = fs::read_to_string(format!("/proc/{group}/comm")).unwrap_or_default();
        group != self.command && name.trim_end() == self.process
    }

    fn group_of(&self, thread: pid_t) -> pid_t {
        self.groups.get(&thread).copied().unwrap_or(thread)
    }

    fn count(&mut self, thread: pid_t, name: &str) {
        self.seen += 1;
        if self.seen != self.nth + 1 {
            return;
        }
        self.traced.killed_at = Some(name.into());
        let caller = self.group_of(thread);
        let all: BTreeSet<pid_t> = match self.victims {
            Victims::Caller => BTreeSet::from([caller]),
            Victims::All => self.groups.values().copied().chain([self.command]).collect(),
        };
        for victim in all {
            // SAFETY: they are traced, and so have not been waited for.
            unsafe { libc::kill(victim, libc::SIGKILL) };
        }
    }
}

/// The process of a thread.
fn group(thread: pid_t) -> pid_t {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    group.and_then(|group| group.trim().parse().ok()).unwrap_or(thread)
}

fn info(thread: pid_t) -> Option<ptrace_syscall_info> {
    // SAFETY: zeros are a valid value of plain data; the kernel writes at most the given size.
    unsafe {
        let mut info: ptrace_syscall_info = std::mem::zeroed();
        let size = size_of::<ptrace_syscall_info>() as *mut c_void;
        let request = libc::PTRACE_GET_SYSCALL_INFO;
        (libc::ptrace(request, thread, size, ptr::from_mut(&mut info)) > 0).then_some(info)
    }
}

/// System calls that make and remove names.
mod names {
    use libc::{c_long, sock_filter};

    /// The calls that can make or remove names.
    const CALLS: &[c_long] = &[
        libc::SYS_openat,
        libc::SYS_mq_open,
        libc::SYS_msgget,
        libc::SYS_semget,
        libc::SYS_shmget,
        libc::SYS_shmctl,
        libc::SYS_msgctl,
        libc::SYS_mkdirat,
        libc::SYS_mknodat,
        libc::SYS_linkat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_bind,
        libc::SYS_unlinkat,
        libc::SYS_mq_unlink,
    ];

    #[cfg(target_arch = "x86_64")]
    const OLDER: &[c_long] = &[
        libc::SYS_open,
        libc::SYS_mkdir,
        libc::SYS_mknod,
        libc::SYS_link,
        libc::SYS_symlink,
        libc::SYS_rename,
        libc::SYS_rmdir,
        libc::SYS_unlink,
    ];

    #[cfg(not(target_arch = "x86_64"))]
    const OLDER: &[c_long] = &[];

    /// A program for the kernel: stops at these calls, allows all others.
    pub fn filter() -> Vec<sock_filter> {
        let (load, equal, end) =
            (libc::BPF_LD | libc::BPF_W, libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_RET);
        let step = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
        // The call's description begins with its number.
        let mut program = vec![step(load | libc::BPF_ABS, 0, 0, 0)];
        for call in CALLS.iter().chain(OLDER) {
            program.push(step(equal | libc::BPF_K, 0, 1, *call as u32));
            program.push(step(end | libc::BPF_K, 0, 0, libc::SECCOMP_RET_TRACE));
        }
        program.push(step(end | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
        program
    }

    #[derive(Clone, Copy)]
    pub enum Kind {
        Makes,
        Removes,
    }

    /// The effect of a call on names, if any.
    pub fn kind(number: c_long, arguments: &[u64; 6]) -> Option<(Kind, &'static str)> {
        let flag = |argument: usize, flag: i32| arguments[argument] as i32 & flag != 0;
        match number {
            libc::SYS_openat => flag(2, libc::O_CREAT).then_some((Kind::Makes, "openat")),
            libc::SYS_mq_open => flag(1, libc::O_CREAT).then_some((Kind::Makes, "mq_open")),
            libc::SYS_msgget => flag(1, libc::IPC_CREAT).then_some((Kind::Makes, "msgget")),
            libc::SYS_semget => flag(2, libc::IPC_CREAT).then_some((Kind::Makes, "semget")),
            libc::SYS_shmget => flag(2, libc::IPC_CREAT).then_some((Kind::Makes, "shmget")),
            libc::SYS_shmctl | libc::SYS_msgctl if arguments[1] as i32 == libc::IPC_RMID => {
                Some((Kind::Removes, "IPC_RMID"))
            }
            libc::SYS_mkdirat => Some((Kind::Makes, "mkdirat")),
            libc::SYS_mknodat => Some((Kind::Makes, "mknodat")),
            libc::SYS_linkat => Some((Kind::Makes, "linkat")),
            libc::SYS_renameat | libc::SYS_renameat2 => Some((Kind::Removes, "renameat")),
            libc::SYS_bind => Some((Kind::Makes, "bind")),
            libc::SYS_unlinkat => Some((Kind::Removes, "unlinkat")),
            libc::SYS_mq_unlink => Some((Kind::Removes, "mq_unlink")),
            other => older(other, arguments),
        }
    }

    /// Calls without a directory argument, which newer processors do not have.
    #[cfg(target_arch = "x86_64")]
    fn older(number: c_long, arguments: &[u64; 6]) -> Option<(Kind, &'static str)> {
        match number {
            libc::SYS_open => {
                (arguments[1] as i32 & libc::O_CREAT != 0).then_some((Kind::Makes, "open"))
            }
            libc::SYS_mkdir => Some((Kind::Makes, "mkdir")),
            libc::SYS_mknod => Some((Kind::Makes, "mknod")),
            libc::SYS_link => Some((Kind::Makes, "link")),
            libc::SYS_symlink => Some((Kind::Makes, "symlink")),
            libc::SYS_rename => Some((Kind::Removes, "rename")),
            libc::SYS_rmdir => Some((Kind::Removes, "rmdir")),
            libc::SYS_unlink => Some((Kind::Removes, "unlink")),
            _ => None,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn older(_: c_long, _: &[u64; 6]) -> Option<(Kind, &'static str)> {
        None
    }
}
