//! A module's file and what it answered when it was asked.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::examine::Answer;

/// A file and what it answered.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub path: PathBuf,
    pub answer: Answer,
}

impl Asked {
    /// The name of the file without its end: the folder it was made from.
    pub(crate) fn stem(&self) -> &str {
        stem(&self.path)
    }
}

/// The same of any file.
pub(crate) fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("module")
}
