//! The source files of the repository.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};

/// The extensions of the files that are read. `toml` is for manifests, which name the roots of
/// crates.
const ENDINGS: [&str; 7] = ["rs", "toml", "c", "h", "cc", "cpp", "hpp"];

/// The text of every source file, by its path from the root, with `/` as the separator.
#[derive(Debug, Default)]
pub struct Sources {
    texts: BTreeMap<String, String>,
}

impl Sources {
    /// Reads all sources below a root, except in hidden folders and build outputs.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut sources = Self::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
                if name.starts_with('.') || name == "target" {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    folders.push(path);
                } else if ENDINGS
                    .iter()
                    .any(|ending| path.extension().is_some_and(|e| e == *ending))
                {
                    sources
                        .add(path.strip_prefix(root).unwrap_or(&path), fs::read_to_string(&path)?);
                }
            }
        }
        Ok(sources)
    }

    fn add(&mut self, path: &Path, text: String) {
        self.texts.insert(normal(path), text);
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Paths of the files with one of the extensions.
    pub fn with_ending(&self, endings: &[&str]) -> impl Iterator<Item = &str> {
        let has_ending =
            move |path: &&str| endings.iter().any(|ending| path.ends_with(&format!(".{ending}")));
        self.texts.keys().map(String::as_str).filter(has_ending)
    }

    /// The file at `path`, relative to `folder`, if it is one of the sources.
    pub fn find(&self, folder: &str, path: &str) -> Option<&str> {
        let path = normal(&PathBuf::from(folder).join(path));
        self.texts.get_key_value(&path).map(|(path, _)| path.as_str())
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Sources {
    fn from(files: [(&str, &str); N]) -> Self {
        let mut sources = Self::default();
        for (path, text) in files {
            sources.add(Path::new(path), text.to_owned());
        }
        sources
    }
}

/// The folder of a file, or "".
pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_from_a_folder() {
        let sources = Sources::from([("a/b/c.h", ""), ("a/d.h", "")]);
        assert_eq!(sources.find("a/b", "c.h"), Some("a/b/c.h"));
        assert_eq!(sources.find("a/b", "../d.h"), Some("a/d.h"));
        assert_eq!(sources.find("a", "c.h"), None);
    }

    #[test]
    fn hidden_folders_and_builds_are_not_read() {
        let root = std::env::temp_dir().join(format!("ipcmark-imports-{}", std::process::id()));
        for folder in ["src", "target/debug", ".git"] {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("x.rs"), "").unwrap();
        }
        let sources = Sources::read(&root);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(sources.unwrap().with_ending(&["rs"]).collect::<Vec<_>>(), ["src/x.rs"]);
    }
}
