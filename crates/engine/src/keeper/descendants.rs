//! The end of everything that a session has started.

use std::fs;

use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    sys::{
        prctl,
        signal::{Signal, kill},
        wait::waitpid,
    },
    unistd::{Pid, getpid},
};

/// Makes this process the parent of whatever its descendants leave behind.
pub(crate) fn adopt() -> Result<(), Error> {
    prctl::set_child_subreaper(true).map_err(|e| Error::os("adopt", "orphans", e))
}

/// Kills every descendant of this process, which must have called [`adopt`] or be the first of its
/// PID namespace, and waits until they are gone. What a killed child leaves becomes a child itself,
/// so in the end there is none.
pub(crate) fn end() {
    loop {
        for child in children() {
            let _ = kill(child, Signal::SIGKILL);
        }
        if waitpid(None, None) == Err(Errno::ECHILD) {
            return;
        }
    }
}

fn children() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes =
        entries.filter_map(|entry| Some(Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)));
    processes.filter(|process| parent(*process) == Some(getpid())).collect()
}

/// The second field behind the name, which stands in parentheses and can hold anything.
fn parent(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let number = stat.rsplit_once(") ")?.1.split(' ').nth(1)?;
    number.parse().ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_is_found_by_its_parent() {
        let mut child = Command::new("sleep")
            .arg("1000")
            .stdout(Stdio::null())
            .spawn()
            .expect("sleep is there");
        let process = Pid::from_raw(child.id() as i32);
        assert_eq!(parent(process), Some(getpid()));
        assert!(children().contains(&process));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children().contains(&process));
    }
}
