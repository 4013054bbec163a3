//! The process at the other end.

use std::{fs, os::unix::fs::MetadataExt};

use ipcmark_transport::Error;
use libc::pid_t;
use nix::errno::Errno;

/// The kernel's numbers for the thread at the other end.
#[derive(Clone, Copy)]
pub struct PeerId {
    /// Its process.
    pub pid: pid_t,
    /// The thread that opened the end.
    pub tid: pid_t,
    /// The PID namespace in which these numbers are valid; 0 if unknown.
    pub namespace: u64,
}

impl PeerId {
    /// The address of the calling thread.
    pub fn own() -> Self {
        let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |file| file.ino());
        // SAFETY: these calls only return a number.
        let (pid, tid) = unsafe { (libc::getpid(), libc::gettid()) };
        Self { pid, tid, namespace }
    }

    /// Encodes the address as a frame.
    pub fn to_bytes(self) -> [u8; 16] {
        let thread = u64::from(self.pid as u32) | u64::from(self.tid as u32) << 32;
        (u128::from(thread) | u128::from(self.namespace) << 64).to_ne_bytes()
    }

    /// Decodes the address from a frame.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let bytes = bytes.try_into().map_err(|_| {
            Error::new("receive", "the number of the other thread", "the frame has a wrong length")
        })?;
        let all = u128::from_ne_bytes(bytes);
        Ok(Self { pid: all as pid_t, tid: (all >> 32) as pid_t, namespace: (all >> 64) as u64 })
    }

    /// Refuses a peer in another PID namespace: here, its numbers would identify an unrelated process.
    pub fn check_namespace(&self, peer: &PeerId, operation: &str) -> Result<(), Error> {
        if self.namespace == peer.namespace {
            return Ok(());
        }
        let cause = "it is in another PID namespace, where its number means another process";
        Err(Error::new(operation, "the other process", cause)
            .remedy("run both ends in one PID namespace"))
    }

    /// True if its process runs this executable, as every end does.
    pub fn is_this_program(&self) -> Result<bool, Error> {
        let failed = |e| Error::os("look at", format!("process {}", self.pid), e);
        let (own, its) = (fs::metadata("/proc/self/exe"), format!("/proc/{}/exe", self.pid));
        let (own, its) = (own.map_err(failed)?, fs::metadata(its).map_err(failed)?);
        Ok((own.dev(), own.ino()) == (its.dev(), its.ino()))
    }
}

/// True if a process runs; false if it is exiting, or has ended and is not yet waited for.
pub fn is_alive(process: pid_t) -> bool {
    // SAFETY: signal 0 only checks for existence.
    let found = unsafe { libc::kill(process, 0) } == 0 || Errno::last() == Errno::EPERM;
    let stat = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    process > 0 && found && !has_ended(&stat())
}

/// True if a line of `/proc/<process>/stat` belongs to a process that is exiting or has ended.
fn has_ended(stat: &str) -> bool {
    // `PF_EXITING` in the kernel: set before the process closes its files.
    const EXITING: u64 = 4;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let mut fields = fields.split_whitespace();
    let state = fields.next();
    let flags = fields.nth(5).and_then(|flags| flags.parse().ok()).unwrap_or(0);
    state == Some("Z") || flags & EXITING != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::queue::dead_process;

    #[test]
    fn an_address_reads_back_as_it_was_written() {
        let own = PeerId::own();
        let read = PeerId::from_bytes(&own.to_bytes()).unwrap();
        assert_eq!((read.pid, read.tid, read.namespace), (own.pid, own.tid, own.namespace));
        assert!(read.is_this_program().unwrap());
        assert!(PeerId::from_bytes(&[0; 15]).is_err());
    }

    #[test]
    fn a_number_in_another_namespace_is_refused() {
        let own = PeerId::own();
        own.check_namespace(&own, "read").unwrap();
        let other = PeerId { namespace: own.namespace + 1, ..own };
        let error = own.check_namespace(&other, "read").unwrap_err().to_string();
        assert!(
            error.starts_with("cannot read the other process: it is in another PID"),
            "{error}"
        );
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
