//! A module's file and the module's answer about its contents.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::examine::Answer;

/// A module's file and its answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExaminedModule {
    pub path: PathBuf,
    pub answer: Answer,
}

impl ExaminedModule {
    /// The file name without its extension: the folder that the module was built from.
    pub(crate) fn stem(&self) -> &str {
        stem(&self.path)
    }
}

/// The same for any file.
pub(crate) fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("module")
}
