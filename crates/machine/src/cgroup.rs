//! The control groups of this process: the paths of their files, and the tightest limits.

use std::path::{Path, PathBuf};

use crate::files::Files;

/// The largest number of groups that are considered from a process's own group to the root.
const DEEPEST: usize = 64;

/// The groups of this process for one controller, its own first. Each of them limits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    directories: Vec<String>,
    /// True for version 2, in which all controllers share one hierarchy.
    pub unified: bool,
}

/// The fields of a line of `/proc/self/mountinfo` that matter for control groups.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl Groups {
    /// The groups of a controller: `cpu`, `memory`, `pids`, `cpuset`. If it has a hierarchy of version 1, that one is
    /// used: a controller is in one hierarchy only. `None` if there is none, or the system does not report it.
    pub fn of(files: &Files, controller: &str) -> Option<Self> {
        let (memberships, mounts) =
            (files.text("proc/self/cgroup")?, files.text("proc/self/mountinfo")?);
        let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(mount).collect();
        let find = |unified: bool| {
            let path = membership(&memberships, controller, unified)?;
            let mount = mounts.iter().find(|mount| mount.has(controller, unified))?;
            Some(Self { directories: directories(mount, path), unified })
        };
        let here = |groups: &Self| groups.has(files, controller);
        find(false).filter(here).or_else(|| find(true).filter(here))
    }

    /// The content of this file in each group that has it, the process's own group first.
    pub fn texts(&self, files: &Files, name: &str) -> Vec<String> {
        let paths = self.directories.iter().map(|directory| format!("{directory}/{name}"));
        paths.filter_map(|path| files.text(&path)).collect()
    }

    /// The least number in this file of any group; `None` if none has one: `max` is not a number.
    pub fn least(&self, files: &Files, name: &str) -> Option<u64> {
        self.texts(files, name).iter().filter_map(|text| text.parse().ok()).min()
    }

    /// True if the process's own group has files of this controller.
    fn has(&self, files: &Files, controller: &str) -> bool {
        let start = format!("{controller}.");
        let mut directories = self.directories.iter();
        directories.any(|group| files.names(group).iter().any(|name| name.starts_with(&start)))
    }
}

impl Mount<'_> {
    fn has(&self, controller: &str, unified: bool) -> bool {
        match unified {
            true => self.kind == "cgroup2",
            false => {
                self.kind == "cgroup" && self.options.split(',').any(|word| word == controller)
            }
        }
    }
}

/// `36 35 98:0 /root /point options - kind source options`, with any number of fields before the dash.
fn mount(line: &str) -> Option<Mount<'_>> {
    let (place, system) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let mut system = system.split(' ');
    Some(Mount {
        root: place.next()?,
        point: place.next()?,
        kind: system.next()?,
        options: system.nth(1).unwrap_or(""),
    })
}

/// The process's group in `4:cpu,cpuacct:/path`, or in `0::/path` of version 2.
fn membership<'a>(memberships: &'a str, controller: &str, unified: bool) -> Option<&'a str> {
    memberships.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = match unified {
            true => id == "0" && controllers.is_empty(),
            false => controllers.split(',').any(|word| word == controller),
        };
        is_it.then_some(path)
    })
}

/// A container sees the mount's root, not the host's: the part of the path above it is left out.
fn directories(mount: &Mount<'_>, path: &str) -> Vec<String> {
    let path = Path::new(path);
    let below = path.strip_prefix(mount.root).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let own: PathBuf = Path::new(mount.point).join(below);
    let groups = own.ancestors().take(DEEPEST).take_while(|group| group.starts_with(mount.point));
    groups.map(|group| group.display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Files) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let files = Files::below(directory.path());
        (directory, files)
    }

    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_least_limit_of_all_groups_counts() {
        let (_directory, files) = tree(&[
            ("proc/self/mountinfo", UNIFIED),
            ("proc/self/cgroup", "0::/a.slice/b.scope\n"),
            ("sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n"),
            ("sys/fs/cgroup/a.slice/memory.max", "4096\n"),
            ("sys/fs/cgroup/memory.stat", "anon 0\n"),
        ]);
        let groups = Groups::of(&files, "memory").unwrap();
        assert!(groups.unified);
        assert_eq!(groups.texts(&files, "memory.max"), ["max", "4096"]);
        assert_eq!(groups.least(&files, "memory.max"), Some(4096));
        assert_eq!(groups.least(&files, "memory.swap.max"), None);
        assert_eq!(Groups::of(&files, "pids"), None);
    }

    #[test]
    fn a_controller_of_version_1_is_found_beside_version_2() {
        let (_directory, files) = tree(&[
            (
                "proc/self/mountinfo",
                "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                 32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/unified/cgroup.procs", ""),
        ]);
        let groups = Groups::of(&files, "cpu").unwrap();
        assert!(!groups.unified);
        assert_eq!(groups.least(&files, "cpu.cfs_quota_us"), Some(50_000));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let (_directory, files) = tree(&[
            (
                "proc/self/mountinfo",
                "32 23 0:28 /docker/abc /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n",
            ),
            ("proc/self/cgroup", "8:pids:/docker/abc\n"),
            ("sys/fs/cgroup/pids/pids.max", "100\n"),
        ]);
        let groups = Groups::of(&files, "pids").unwrap();
        assert_eq!(groups.least(&files, "pids.max"), Some(100));
    }

    #[test]
    fn odd_files_are_no_groups() {
        for (mounts, memberships) in
            [("", ""), ("a b", "0"), (UNIFIED, "x:y"), (UNIFIED, "0::/../../.."), ("- - -", "0::/")]
        {
            let (_directory, files) =
                tree(&[("proc/self/mountinfo", mounts), ("proc/self/cgroup", memberships)]);
            assert_eq!(Groups::of(&files, "cpu"), None, "{mounts} {memberships}");
        }
    }
}
