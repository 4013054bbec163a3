//! The files in which Linux describes itself, read with a limit: in a container, /proc and /sys can have anything
//! mounted.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The longest file that is read. `/proc/stat` of a thousand processors has about 200 KiB.
const LONGEST: u64 = 4 << 20;

/// The largest number of names that are read from a directory. `/proc` has one a process.
const MOST_NAMES: usize = 1 << 20;

/// A tree of files with `proc`, `sys` and `dev` in it.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// The files of the running system.
    pub fn of_system() -> Self {
        Self::below("/")
    }

    /// The files below a directory.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The path of a file in this tree.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a file, trimmed, with `?` instead of control characters except tabs and line feeds, because it can
    /// be shown on a terminal. `None` if it cannot be read, is not a regular file, or is too long.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = read(&self.path(path))?;
        let is_odd = |c: char| c.is_control() && c != '\n' && c != '\t';
        Some(text.trim().replace(is_odd, "?"))
    }

    /// The number at the start of a file.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.split_whitespace().next()?.parse().ok()
    }

    /// The text after a key at the beginning of a line: `Seccomp:` in `/proc/self/status`, `nr_throttled` in
    /// `cpu.stat`.
    pub fn field(&self, path: &str, key: &str) -> Option<String> {
        field(&self.text(path)?, key).map(str::to_owned)
    }

    /// The names in a directory, sorted; none if it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(MOST_NAMES).collect();
        names.sort();
        names
    }
}

/// The text after `key` at the beginning of a line, separated by a colon or blanks.
pub(crate) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        let is_whole = rest.starts_with([':', ' ', '\t']);
        is_whole.then(|| rest.trim_start_matches([':', ' ', '\t']).trim())
    })
}

/// A pipe in place of the file must not block, and an endless one must not fill the memory.
fn read(path: &Path) -> Option<String> {
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LONGEST).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::{sys::stat::Mode, unistd::mkfifo};

    use super::*;

    fn files() -> (tempfile::TempDir, Files) {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::below(directory.path());
        (directory, files)
    }

    #[test]
    fn text_numbers_and_fields_are_read() {
        let (directory, files) = files();
        fs::write(directory.path().join("a"), "  12 kB\nSeccomp:\t2\nSeccomp_filters: 7\nb 3\n")
            .unwrap();
        assert_eq!(files.number("/a"), Some(12));
        assert_eq!(files.field("a", "Seccomp").as_deref(), Some("2"));
        assert_eq!(files.field("a", "b").as_deref(), Some("3"));
        assert_eq!(files.field("a", "Sec"), None);
        assert_eq!(files.text("nothing"), None);
        assert_eq!(files.names(""), ["a"]);
        assert!(files.names("nothing").is_empty());
    }

    #[test]
    fn odd_files_are_absent_and_neither_block_nor_fill_the_memory() {
        let (directory, files) = files();
        mkfifo(&directory.path().join("pipe"), Mode::S_IRWXU).unwrap();
        symlink("/dev/zero", directory.path().join("endless")).unwrap();
        symlink("loop", directory.path().join("loop")).unwrap();
        fs::create_dir(directory.path().join("directory")).unwrap();
        File::create(directory.path().join("long")).unwrap().set_len(LONGEST + 1).unwrap();
        for name in ["pipe", "endless", "loop", "directory", "long"] {
            assert_eq!(files.text(name), None, "{name}");
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        let (directory, files) = files();
        fs::write(directory.path().join("a"), b"\x1b[31mred\xff\x07\n").unwrap();
        assert_eq!(files.text("a").as_deref(), Some("?[31mred\u{fffd}?"));
    }
}
