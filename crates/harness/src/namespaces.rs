//! The namespaces of a test, and the mounts in them.

use std::{
    env,
    fs::{self, File},
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    process,
};

use ipcmark_machine::loopback;
use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    sys::{
        prctl,
        signal::Signal,
        wait::{WaitStatus, wait, waitpid},
    },
    unistd::{ForkResult, Gid, Pid, Uid, fork},
};

use crate::visible::HIDDEN;

/// The environment variable that is set inside.
const INSIDE: &str = "IPCMARK_TEST_NAMESPACES";

/// True if this process is in namespaces of a test.
pub fn is_inside() -> bool {
    env::var_os(INSIDE).is_some()
}

/// Returns in a new process in new namespaces. This process, which must have only one thread, waits
/// for it and exits with its status. If the namespaces cannot be made, the error is returned in the
/// calling process.
///
/// `visible` are paths in hidden places that remain accessible.
pub fn enter(visible: &[PathBuf]) -> Result<(), String> {
    separate().map_err(|e| format!("cannot make namespaces: {e}"))?;
    let (told, tell) = io::pipe().map_err(|e| format!("cannot make a pipe: {e}"))?;
    // SAFETY: this process has one thread.
    match unsafe { fork() }.map_err(|e| format!("cannot fork: {e}"))? {
        ForkResult::Parent { child } => {
            drop(tell);
            let refusal = io::read_to_string(told).unwrap_or_default();
            let status = waitpid(child, None);
            if refusal.is_empty() { process::exit(code(status)) } else { Err(refusal) }
        }
        ForkResult::Child => {
            drop(told);
            if let Err(error) = die_with_parent().and_then(|()| mount_private(visible)) {
                let _ = io::Write::write_all(&mut &tell, error.to_string().as_bytes());
                process::exit(1);
            }
            drop(tell);
            hold();
            Ok(())
        }
    }
}

/// Makes the namespaces; the PID namespace applies to future children.
fn separate() -> io::Result<()> {
    let spaces = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWPID;
    if unshare(spaces).is_ok() {
        return Ok(());
    }
    let (uid, gid) = (Uid::current(), Gid::current());
    unshare(spaces | CloneFlags::CLONE_NEWUSER)?;
    // An ordinary user keeps its user and group id.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

pub fn die_with_parent() -> io::Result<()> {
    Ok(prctl::set_pdeathsig(Some(Signal::SIGKILL))?)
}

/// Mounts the test's own file systems.
fn mount_private(visible: &[PathBuf]) -> io::Result<()> {
    attach("none", "/", "", MsFlags::MS_REC | MsFlags::MS_PRIVATE)?;
    let shown: Vec<(&PathBuf, File)> =
        visible.iter().map(|path| Ok((path, reach(path)?))).collect::<io::Result<_>>()?;
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    for place in HIDDEN.into_iter().filter(|place| Path::new(place).is_dir()) {
        attach("tmpfs", place, "tmpfs", safe)?;
    }
    attach("proc", "/proc", "proc", safe)?;
    if Path::new("/dev/mqueue").is_dir() {
        attach("mqueue", "/dev/mqueue", "mqueue", safe)?;
    }
    shown.iter().try_for_each(|(path, file)| show(path, file))?;
    loopback::raise()
}

fn attach(source: &str, target: &str, kind: &str, flags: MsFlags) -> io::Result<()> {
    let (kind, data) =
        ((!kind.is_empty()).then_some(kind), (kind == "tmpfs").then_some("mode=1777"));
    mount(Some(source), target, kind, flags, data).map_err(|e| {
        io::Error::other(format!("cannot mount a {source} of its own on {target}: {e}"))
    })
}

/// Opens a path, so that it stays reachable by its descriptor once the path is hidden.
fn reach(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(path)
}

/// Mounts a hidden directory at its original path again.
fn show(path: &Path, directory: &File) -> io::Result<()> {
    fs::create_dir_all(path)?;
    let source = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    Ok(mount(Some(source.as_str()), path, None::<&str>, flags, None::<&str>)?)
}

/// Returns in a child. This process, the first of its PID namespace, reaps orphans until that child
/// ends; its own end then kills all others.
fn hold() {
    // SAFETY: this process has one thread, so nothing reads the environment meanwhile.
    unsafe { env::set_var(INSIDE, "1") };
    // SAFETY: this process has one thread.
    match unsafe { fork() } {
        Ok(ForkResult::Parent { child }) => process::exit(code(reap(child))),
        Ok(ForkResult::Child) => die_with_parent().expect("the system knows the call"),
        Err(error) => panic!("cannot fork: {error}"),
    }
}

fn reap(child: Pid) -> nix::Result<WaitStatus> {
    loop {
        match wait() {
            Err(Errno::EINTR) => {}
            Ok(status) if status.pid() != Some(child) => {}
            ended => return ended,
        }
    }
}

/// The exit status for `status`, as in a shell.
fn code(status: nix::Result<WaitStatus>) -> i32 {
    match status {
        Ok(WaitStatus::Exited(_, code)) => code,
        Ok(WaitStatus::Signaled(_, signal, _)) => {
            eprintln!("killed by signal {} ({signal})", signal as i32);
            128 + signal as i32
        }
        other => panic!("cannot wait for a test: {other:?}"),
    }
}
