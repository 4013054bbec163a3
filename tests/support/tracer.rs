//! Ends processes of a run between two of their system calls: always at the same place, however busy the
//! machine is. Every process that the command starts is traced (ptrace).

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    fs, io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    ptr,
};

use libc::{c_long, c_void, pid_t, ptrace_syscall_info};

use super::watchdog::WATCHDOG;

/// Whose call it is.
pub const COMMAND: &str = "ipcmark";

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victims {
    /// The process that makes the call.
    Caller,
    /// The command and everything that it has started.
    All,
}

/// A run under a tracer.
#[derive(Debug)]
pub struct Traced {
    /// The call at which it was killed; none where it made fewer.
    pub killed_at: Option<String>,
    /// How the command ended: its exit status, or 128 and the signal.
    pub code: i32,
}

/// Runs a command, and whatever it starts, to the end of the last of them. The victims are killed at the
/// call number `nth`, from 0, by which a process of this name makes or removes a name: right after it has
/// made one, right before it removes one.
#[expect(clippy::zombie_processes, reason = "the tracer waits for it")]
pub fn run_killed(command: &mut Command, process: &str, nth: usize, victims: Victims) -> Traced {
    // SAFETY: between fork and exec, one call with numbers only.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("the command starts");
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
    tracer.traced
}

/// Whether processes can be traced here.
pub fn is_allowed() -> bool {
    run_killed(&mut Command::new("true"), "nobody", 0, Victims::Caller).code == 0
}

struct Tracer {
    command: pid_t,
    process: String,
    nth: usize,
    victims: Victims,
    /// The process of each thread.
    groups: HashMap<pid_t, pid_t>,
    /// The call that each thread is in, by which it makes a name.
    calls: HashMap<pid_t, String>,
    seen: usize,
    traced: Traced,
}

impl Tracer {
    fn follow(&mut self) {
        // A process that lives on is waited for in vain: then this one ends by SIGALRM.
        // SAFETY: a number only.
        unsafe { libc::alarm(WATCHDOG.as_secs() as u32) };
        loop {
            let mut status = 0;
            // Only what this thread traces, whatever else the test has started.
            // SAFETY: the status is a valid place.
            let thread =
                unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
            if thread < 0 {
                return;
            }
            if !libc::WIFSTOPPED(status) {
                self.note_end(thread, status);
            } else {
                let signal = self.stopped(thread, status);
                let request = match self.is_followed(thread) {
                    true => libc::PTRACE_SYSCALL,
                    false => libc::PTRACE_CONT,
                };
                // One that was killed meanwhile cannot be resumed.
                // SAFETY: numbers only.
                unsafe { libc::ptrace(request, thread, 0, signal) };
            }
        }
    }

    fn note_end(&mut self, thread: pid_t, status: i32) {
        self.groups.remove(&thread);
        if thread == self.command {
            self.traced.code = match libc::WIFEXITED(status) {
                true => libc::WEXITSTATUS(status),
                false => 128 + libc::WTERMSIG(status),
            };
        }
    }

    /// Deals with a thread that has stopped; the signal that it is to get.
    fn stopped(&mut self, thread: pid_t, status: i32) -> c_long {
        let signal = libc::WSTOPSIG(status);
        if let Entry::Vacant(entry) = self.groups.entry(thread) {
            entry.insert(group(thread));
            let options = libc::PTRACE_O_TRACESYSGOOD
                | libc::PTRACE_O_TRACEFORK
                | libc::PTRACE_O_TRACEVFORK
                | libc::PTRACE_O_TRACECLONE
                | libc::PTRACE_O_TRACEEXEC
                | libc::PTRACE_O_EXITKILL;
            // SAFETY: numbers only.
            unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, thread, 0, c_long::from(options)) };
            // The first stop is the tracer's doing.
            return 0;
        }
        if signal == libc::SIGTRAP | 0x80 {
            self.call(thread);
            return 0;
        }
        let is_event = status >> 16 != 0;
        if is_event { 0 } else { signal.into() }
    }

    /// A thread enters a system call, or leaves it.
    fn call(&mut self, thread: pid_t) {
        let Some(info) = info(thread) else { return };
        if info.op == libc::PTRACE_SYSCALL_INFO_ENTRY {
            // SAFETY: the kernel filled in this variant.
            let (number, arguments) = unsafe { (info.u.entry.nr as c_long, info.u.entry.args) };
            self.calls.remove(&thread);
            if !self.is_of_process(thread) {
                return;
            }
            match names::kind(number, &arguments) {
                Some((names::Kind::Makes, name)) => drop(self.calls.insert(thread, name.into())),
                Some((names::Kind::Removes, name)) => self.count(thread, name),
                None => {}
            }
        } else if let Some(name) = self.calls.remove(&thread) {
            // SAFETY: the kernel filled in this variant.
            let failed = unsafe { info.u.exit.is_error } != 0;
            if !failed {
                self.count(thread, &name);
            }
        }
    }

    /// Whether the calls of a thread are looked at, which takes time: those of the command, or those of
    /// sessions, whose processes have their names later.
    fn is_followed(&self, thread: pid_t) -> bool {
        let group = self.group_of(thread);
        if self.process == COMMAND || group == self.command {
            return self.process == COMMAND && group == self.command;
        }
        let words = fs::read(format!("/proc/{group}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).nth(1) == Some(b"__keeper")
    }

    fn is_of_process(&self, thread: pid_t) -> bool {
        let group = self.group_of(thread);
        let name = fs::read_to_string(format!("/proc/{group}/comm")).unwrap_or_default();
        group == self.command || name.trim_end() == self.process
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
            // SAFETY: they are traced, and so not waited for yet.
            unsafe { libc::kill(victim, libc::SIGKILL) };
        }
    }
}

/// The process that a thread belongs to.
fn group(thread: pid_t) -> pid_t {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    group.and_then(|group| group.trim().parse().ok()).unwrap_or(thread)
}

fn info(thread: pid_t) -> Option<ptrace_syscall_info> {
    // SAFETY: zeros are a value of plain data; the kernel writes no more than the size it is told.
    unsafe {
        let mut info: ptrace_syscall_info = std::mem::zeroed();
        let size = size_of::<ptrace_syscall_info>() as *mut c_void;
        let request = libc::PTRACE_GET_SYSCALL_INFO;
        (libc::ptrace(request, thread, size, ptr::from_mut(&mut info)) > 0).then_some(info)
    }
}

/// System calls that make and remove names.
mod names {
    use libc::c_long;

    #[derive(Clone, Copy)]
    pub enum Kind {
        Makes,
        Removes,
    }

    /// What a call does to names, if it does.
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

    /// Calls without a directory, which newer processors do not have.
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
