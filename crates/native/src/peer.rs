//! The process of the other end.

use std::fs;

use libc::pid_t;
use nix::errno::Errno;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::queue::dead_process;

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
