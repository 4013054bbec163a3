//! The file of a module, and the loaded module once this process has loaded it.

use std::{
    ffi::OsString,
    fs::{self, File},
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ipcmark_contract::c;
use ipcmark_machine::namespaces::HIDDEN;
use ipcmark_transport::Error;

use crate::library::Library;

/// The file of a module.
pub(crate) struct ModuleFile {
    path: PathBuf,
    /// The file, opened before the sandbox hides its path.
    file: Option<File>,
    /// True if the module can name the leftovers of killed sessions.
    pub names_leftovers: bool,
    library: Mutex<Option<Library>>,
}

impl ModuleFile {
    /// The file at `path`. If a sandbox would hide it, it is opened now.
    pub(crate) fn new(path: &Path, names_leftovers: bool) -> Self {
        let hidden = HIDDEN.iter().any(|place| path.starts_with(place));
        let file = hidden.then(|| File::open(path).ok()).flatten();
        Self { path: path.to_owned(), file, names_leftovers, library: Mutex::new(None) }
    }

    /// Its path outside a sandbox.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The transport called `name`; loads the module if this process has not loaded it yet.
    pub(crate) fn transport(&self, name: &str) -> Result<&'static c::Transport, Error> {
        let library = self.library()?;
        library.transport(name).map_err(|cause| self.error(cause))
    }

    /// The module, loaded: once, also if ends in threads of one process ask for it at the same time.
    pub(crate) fn library(&self) -> Result<Library, Error> {
        let mut loaded = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = *loaded {
            return Ok(library);
        }
        Ok(*loaded.insert(Library::load(&self.name_here(), &self.path)?))
    }

    /// The path by which this process can open the file: its own path, unless that path is now
    /// missing or another file. With its own path, the library's relative paths and debuggers work.
    fn name_here(&self) -> OsString {
        match &self.file {
            Some(file) if !is_at(file, &self.path) => {
                format!("/proc/self/fd/{}", file.as_raw_fd()).into()
            }
            _ => self.path.clone().into(),
        }
    }

    fn error(&self, cause: String) -> Error {
        Error::new("load", format!("the module {}", self.path.display()), cause)
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}
