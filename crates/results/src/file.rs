//! The result file: written whole or not at all, and read with care.

use std::{
    fs::{self, File, OpenOptions},
    io::{
        self,
        ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy},
        Read, Write,
    },
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    process,
};

use nix::unistd::{AccessFlags, access};
use serde::Deserialize;
use serde_json::Value;

use crate::{Case, Figures, RunResult, SCHEMA, Status};

/// The largest result file that [`read`] takes: 1 GiB.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// The result as the file holds it: JSON, indented, with a line feed at its end. No figure in it is
/// anything but a number: see [`RunResult::settled`].
pub fn to_json(result: &RunResult) -> String {
    let mut text = serde_json::to_string_pretty(&*result.settled())
        .expect("the model has text keys and plain values only");
    text.push('\n');
    text
}

/// Writes a result file so that whoever reads it sees the old one or the new one, whole.
///
/// The text goes into a temporary file beside the target, which then takes the target's name. What
/// [`is_stream`] is written to directly, and so is a file whose directory takes no new files or
/// that is a mount of its own.
pub fn write_atomically(path: &Path, result: &RunResult) -> io::Result<()> {
    put(path, &to_json(result)).map_err(|error| explain("write", path, &error))
}

/// Writes any other text in the same way.
pub fn write_text(path: &Path, text: &str) -> io::Result<()> {
    put(path, text).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
    })
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    if is_stream(path) {
        return write_directly(path, text);
    }
    replace(path, text).or_else(|error| match error.kind() {
        PermissionDenied | ReadOnlyFilesystem | ResourceBusy => write_directly(path, text),
        _ => Err(error),
    })
}

/// Whether what is written to `path` cannot be replaced later: a pipe, a terminal, a device, or a
/// descriptor such as `/dev/stdout`. A result belongs there once, when it is complete.
pub fn is_stream(path: &Path) -> bool {
    let descriptor = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];
    descriptor.iter().any(|stream| path.starts_with(stream))
        || fs::metadata(path).is_ok_and(|target| !target.is_file() && !target.is_dir())
}

/// Finds out whether a result can be written to `path`, without changing what is there: the
/// question to ask before measuring.
pub fn check_writable(path: &Path) -> io::Result<()> {
    probe(path).map_err(|error| explain("write", path, &error))
}

/// Reads a result file. The error is a sentence with the path and what is wrong.
pub fn read(path: &Path) -> Result<RunResult, String> {
    let bytes =
        load(path, MAX_FILE_BYTES).map_err(|error| explain("read", path, &error).to_string())?;
    parse(&bytes)
        .map_err(|cause| format!("cannot read the result file {}: {cause}", path.display()))
}

/// An error that says what was tried on which file.
fn explain(verb: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("cannot {verb} the result file {}: {error}", path.display()),
    )
}

fn probe(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(target) if target.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(target) if target.file_type().is_socket() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a socket"))
        }
        // Opened without a thought, a FIFO would block, and its reader would see it end.
        Ok(_) => Ok(access(path, AccessFlags::W_OK)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Temporary::beside(path).map(drop),
        Err(error) => Err(error),
    }
}

/// Writes into what is there, for as long as it stands.
fn write_directly(path: &Path, text: &str) -> io::Result<()> {
    let mut target = OpenOptions::new().write(true).open(path)?;
    if !is_stream(path) {
        target.set_len(0)?;
    }
    target.write_all(text.as_bytes())
}

/// Puts a new file in the place of the old one. Nothing is forced to the disk: after a crash of the
/// machine there is nothing to go on with, and disk traffic would disturb the next case.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // Through a symbolic link to the file it stands for, which the rename would replace otherwise.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let mut temporary = Temporary::beside(&target)?;
    temporary.file.write_all(text.as_bytes())?;
    if let Ok(old) = fs::metadata(&target) {
        temporary.file.set_permissions(old.permissions())?;
    }
    temporary.take_place_of(&target)
}

/// A file that is removed when it is dropped, unless it took its place.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    /// A new, empty file in the same directory as `target`, so that a rename stays in one file
    /// system.
    fn beside(target: &Path) -> io::Result<Self> {
        if target.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
        }
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for attempt in 0..16 {
            let path = target.with_file_name(format!(".ipcmark-{}-{attempt}.tmp", process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn take_place_of(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename there is nothing of this name any more.
        let _ = fs::remove_file(&self.path);
    }
}

/// The content of a file of at most `limit` bytes. A pipe does not tell its length beforehand.
fn load(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    if file.metadata()?.len() <= limit {
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= limit {
            return Ok(bytes);
        }
    }
    Err(io::Error::other(format!("it is larger than {limit} bytes")))
}

/// The one field that tells what a file is.
#[derive(Deserialize)]
struct Word {
    schema: Option<String>,
}

fn parse(bytes: &[u8]) -> Result<RunResult, String> {
    let word: Word = serde_json::from_slice(bytes).map_err(|error| describe(&error))?;
    match word.schema.as_deref() {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("its schema is `{other}`, not `{SCHEMA}`")),
        None => return Err("it has no field `schema`, so it is no result of ipcmark".into()),
    }
    let result: RunResult = serde_json::from_slice(bytes).map_err(|error| describe(&error))?;
    result.check().map_err(|cause| missing_figure(bytes, &result).unwrap_or(cause))?;
    Ok(result)
}

/// Which figure the first measured case without its figures lacks.
fn missing_figure(bytes: &[u8], result: &RunResult) -> Option<String> {
    let bare = |case: &Case| case.status == Status::Ok && case.figures.is_none();
    let at = result.cases.iter().position(bare)?;
    let file: Value = serde_json::from_slice(bytes).ok()?;
    let error = Figures::deserialize(file["cases"].get(at)?).err()?;
    Some(format!("case {} ({}): {error}", at + 1, result.cases[at].transport))
}

fn describe(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Eof => format!("it is cut short: {error}"),
        serde_json::error::Category::Data => format!("it is not of the form `{SCHEMA}`: {error}"),
        _ => format!("it is not JSON: {error}"),
    }
}
