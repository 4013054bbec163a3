//! The counting process: a child of the counted process, and its tracer until that process ends.

use std::{
    collections::BTreeMap, fs::File, io::Read, mem, os::fd::AsRawFd, ptr, sync::atomic::Ordering,
};

use ipcmark_transport::Error;
use libc::{c_int, pid_t};
use nix::{
    errno::Errno,
    unistd::{ForkResult, Pid, fork, getpid, pipe},
};

use super::counts::CallTable;
use crate::process::die_with_parent;

/// Marks stops at calls with this bit, and traces started threads too.
const OPTIONS: c_int = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE;
const AT_CALL: c_int = libc::SIGTRAP | 0x80;

/// The message of a tracer that has started.
const BEGUN: u8 = 0;

/// Starts a process that traces this one, and waits until it does.
pub(super) fn start() -> Result<&'static CallTable, Error> {
    let counts = shared()?;
    let (ours, theirs) = pipe().map_err(|e| Error::scarce("make", "a pipe", e))?;
    let counted = getpid();
    // SAFETY: this process has one thread, as the caller promises.
    match unsafe { fork() }.map_err(|e| Error::scarce("fork", "the counter of calls", e))? {
        ForkResult::Child => {
            drop(ours);
            let word = trace(counted, counts, &theirs);
            // No code of the parent process runs at its end.
            // SAFETY: ends this process.
            unsafe { libc::_exit(c_int::from(word)) }
        }
        ForkResult::Parent { child } => {
            drop(theirs);
            // Required by Yama. Other kernels do not know the option.
            // SAFETY: names the process that may trace this one.
            unsafe { libc::prctl(libc::PR_SET_PTRACER, child.as_raw()) };
            begun(File::from(ours))?;
            Ok(counts)
        }
    }
}

/// Waits for the tracer's message.
fn begun(mut word: File) -> Result<(), Error> {
    let mut bytes = [0; 1];
    let refused = match word.read_exact(&mut bytes) {
        Ok(()) if bytes[0] == BEGUN => return Ok(()),
        Ok(()) => Errno::from_raw(bytes[0].into()).to_string(),
        Err(_) => "the process that traces has ended".into(),
    };
    Err(Error::new("count", "system calls", format!("the system allows no tracing ({refused})"))
        .remedy("allow ptrace: kernel.yama.ptrace_scope below 2, or --cap-add SYS_PTRACE for a container"))
}

/// Zeroed memory that stays shared across a fork.
fn shared() -> Result<&'static CallTable, Error> {
    // SAFETY: new memory of the right size; page boundaries satisfy any alignment; zeros are valid counts. It is never
    // unmapped.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let page = libc::mmap(ptr::null_mut(), size_of::<CallTable>(), protection, flags, -1, 0);
        match page == libc::MAP_FAILED {
            true => Err(Error::last_os("map", "the counts of system calls")),
            false => Ok(&*page.cast::<CallTable>()),
        }
    }
}

/// Traces the process until it ends; returns the number of the error that prevented it.
fn trace(counted: Pid, counts: &CallTable, word: &impl AsRawFd) -> u8 {
    let _ = die_with_parent();
    let word = word.as_raw_fd();
    // Descriptors of the counted process must close when that process closes them.
    close_all_but(word);
    let begun = seize(counted.as_raw());
    let number = begun.err().map_or(BEGUN, |error| error as i32 as u8);
    // SAFETY: writes one byte of ours into our pipe, and closes it.
    unsafe {
        libc::write(word, ptr::from_ref(&number).cast(), 1);
        libc::close(word);
    }
    if number == BEGUN {
        follow(counts);
    }
    number
}

fn close_all_but(kept: c_int) {
    // SAFETY: closes descriptors of this process, which uses none except the kept one.
    unsafe {
        libc::syscall(libc::SYS_close_range, 0, kept - 1, 0);
        libc::syscall(libc::SYS_close_range, kept + 1, c_int::MAX, 0);
    }
}

/// Attaches to the process and makes it stop at its next call.
fn seize(counted: pid_t) -> Result<(), Errno> {
    // With Yama, the process permits the tracing shortly after the fork.
    let mut attempts = 0;
    while let Err(error) = ptrace(libc::PTRACE_SEIZE, counted, OPTIONS as usize) {
        attempts += 1;
        if attempts == 1000 {
            return Err(error);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    ptrace(libc::PTRACE_INTERRUPT, counted, 0)
}

/// The current call of a thread: its number, and its third argument.
type InCall = BTreeMap<pid_t, (usize, u64)>;

/// Lets every thread run to its next call, until none remains.
fn follow(counts: &CallTable) {
    let mut in_call = InCall::new();
    loop {
        let mut status = 0;
        // SAFETY: fills in the status of any traced thread.
        let thread = unsafe { libc::waitpid(-1, &mut status, libc::__WALL) };
        if thread < 0 {
            match Errno::last() {
                Errno::EINTR => continue,
                _ => return,
            }
        }
        if !libc::WIFSTOPPED(status) {
            in_call.remove(&thread);
            continue;
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let (how, passed_on) = match (signal, event) {
            (AT_CALL, _) => {
                note(thread, counts, &mut in_call);
                (libc::PTRACE_SYSCALL, 0)
            }
            // Stopped by a signal; it must stay stopped.
            (
                libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU,
                libc::PTRACE_EVENT_STOP,
            ) => (libc::PTRACE_LISTEN, 0),
            (_, event) if event != 0 => (libc::PTRACE_SYSCALL, 0),
            (signal, _) => (libc::PTRACE_SYSCALL, signal),
        };
        // If a thread was killed meanwhile, the next wait reports it.
        let _ = ptrace(how, thread, passed_on as usize);
    }
}

/// Records the start of a call, and counts the call at its end.
fn note(thread: pid_t, counts: &CallTable, in_call: &mut InCall) {
    let Some(info) = info(thread) else { return };
    // SAFETY: `op` determines which part of the union is filled in.
    unsafe {
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                in_call.insert(thread, (info.u.entry.nr as usize, info.u.entry.args[2]));
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => {
                let Some((number, len)) = in_call.remove(&thread) else { return };
                let returned = (info.u.exit.is_error == 0).then_some(info.u.exit.sval);
                count(counts, number, len, returned);
            }
            _ => {}
        }
    }
}

fn info(thread: pid_t) -> Option<libc::ptrace_syscall_info> {
    // SAFETY: zeros are a valid value, and the kernel fills in at most its size.
    unsafe {
        let mut info: libc::ptrace_syscall_info = mem::zeroed();
        let size = size_of_val(&info);
        let filled = libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, thread, size, &mut info);
        (filled > 0).then_some(info)
    }
}

fn count(counts: &CallTable, number: usize, len: u64, returned: Option<i64>) {
    let Some(count) = counts.0.get(number) else { return };
    count.made.fetch_add(1, Ordering::Relaxed);
    let bytes = match (number as i64, returned) {
        (_, None) => {
            count.failed.fetch_add(1, Ordering::Relaxed);
            0
        }
        (call, Some(returned)) if CARRYING.contains(&call) => returned.max(0) as u64,
        (call, _) if SENDING.contains(&call) => len,
        _ => 0,
    };
    count.bytes.fetch_add(bytes, Ordering::Relaxed);
}

/// Calls whose third argument is the length of the message that they have copied.
const SENDING: [i64; 2] = [libc::SYS_mq_timedsend, libc::SYS_msgsnd];

/// Calls that return the number of bytes they copied. `vmsplice` is not among them: it puts references to pages into a
/// pipe.
const CARRYING: [i64; 15] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_mq_timedreceive,
    libc::SYS_msgrcv,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_splice,
];

fn ptrace(request: libc::c_uint, thread: pid_t, data: usize) -> Result<(), Errno> {
    // SAFETY: none of the requests reads or writes memory through the numbers given.
    Errno::result(unsafe { libc::ptrace(request, thread, 0_usize, data) }).map(drop)
}
