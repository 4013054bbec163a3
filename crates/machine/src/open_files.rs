//! The files that processes have open, as far as they are visible to this user.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use nix::unistd::Pid;

use crate::process;

/// The paths of files that processes have open or mapped, and of sockets that are bound.
pub struct OpenFiles(BTreeSet<PathBuf>);

impl OpenFiles {
    /// The current files below `places`. A process that creates a file has it open from the first moment, and maps it
    /// before it closes it; so descriptors are read before mappings.
    pub fn below(places: &[&str]) -> Self {
        let is_there = |path: &PathBuf| places.iter().any(|place| path.starts_with(place));
        let paths = process::all().flat_map(|process| {
            let opened = opened(process);
            opened.into_iter().chain(mapped(process))
        });
        Self(paths.chain(bound()).filter(is_there).collect())
    }

    /// True if a process has the file at `path` open or mapped.
    pub fn contains(&self, path: &Path) -> bool {
        self.0.contains(path)
    }
}

fn opened(process: Pid) -> Vec<PathBuf> {
    let fds = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    // The link is read, not followed: a descriptor's file system may not respond.
    fds.filter_map(|fd| fs::read_link(fd.path()).ok()).collect()
}

fn mapped(process: Pid) -> Vec<PathBuf> {
    let maps = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    maps.lines().filter_map(|line| Some(line[line.find('/')?..].into())).collect()
}

/// The sockets that are bound to a path, which their descriptors do not show.
fn bound() -> Vec<PathBuf> {
    let table = fs::read("/proc/self/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    table.lines().filter_map(|line| Some(line[line.find('/')?..].into())).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::net::UnixListener};

    use super::*;

    #[test]
    fn a_file_is_in_use_while_it_is_open_and_a_socket_while_it_is_bound() {
        let directory = std::env::temp_dir().join(format!("ipcmark-test-{}", Pid::this()));
        fs::create_dir(&directory).unwrap();
        let (file, socket) = (directory.join("file"), directory.join("socket"));
        let open = File::create(&file).unwrap();
        let bound = UnixListener::bind(&socket).unwrap();
        let place = [directory.to_str().unwrap()];
        let now = OpenFiles::below(&place);
        assert!(now.contains(&file) && now.contains(&socket));
        drop((open, bound));
        let later = OpenFiles::below(&place);
        assert!(!later.contains(&file) && !later.contains(&socket));
        assert!(!OpenFiles::below(&["/nonexistent"]).contains(&file));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_mapped_file_is_in_use() {
        let program = std::env::current_exe().unwrap();
        assert!(OpenFiles::below(&["/"]).contains(&program));
    }
}
