//! Files that are written whole or not at all.

use std::{
    fs::File,
    io::{
        self,
        ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy},
        Write,
    },
    path::Path,
};

use nix::{
    errno::Errno,
    fcntl::AtFlags,
    unistd::{AccessFlags, faccessat},
};

use crate::{
    destination::{Destination, ObjectKind},
    replacement::{Replacement, remove_stale},
};

/// Writes a text so that a reader of the file sees the old content or the new content, whole.
///
/// The text goes into a new file beside the target, which is then renamed to the target. It is written directly if the
/// target [`is_stream`], is a mount point, or lies in a directory that takes no new files. A link is followed if it
/// belongs to this user or to root.
pub fn write_text(path: &Path, text: &str) -> io::Result<()> {
    write_bytes(path, text.as_bytes())
}

/// As [`write_text`], for bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes).map_err(|error| explain(&format!("write {}", path.display()), &error))
}

/// True if data written to `path` cannot be replaced later: a pipe, a terminal, a device, or a descriptor such as
/// `/dev/stdout`. A result must be written there once, when it is complete.
pub fn is_stream(path: &Path) -> bool {
    Destination::find(path).is_ok_and(|place| place.kind() == ObjectKind::Stream)
}

/// Checks for a regular file at `path`: false if nothing is there. Refuses a file that another user left in a
/// world-writable directory, and anything that is not a regular file.
pub fn check_file(path: &Path) -> io::Result<bool> {
    match usable(path)?.kind() {
        ObjectKind::Nothing => Ok(false),
        ObjectKind::File => Ok(true),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// An error with the operation, its object and a remedy.
pub(crate) fn explain(what: &str, error: &io::Error) -> io::Error {
    let remedy = match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EFBIG) => "; allow larger files: ulimit -f unlimited",
        Some(Errno::ENOSPC) => "; free some space there, or name another place",
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot {what}: {error}{remedy}"))
}

/// Checks that a file can be written, without changing what is there. Removes the files that killed runs left beside
/// it.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let place = usable(path)?;
    remove_stale(&place.directory_path());
    match place.kind() {
        ObjectKind::Nothing => Replacement::beside(&place).map(drop),
        // Opening a FIFO would block, and its reader would see end of file.
        _ => {
            Ok(faccessat(place.directory(), place.name(), AccessFlags::W_OK, AtFlags::AT_EACCESS)?)
        }
    }
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let place = usable(path)?;
    if place.kind() == ObjectKind::Stream {
        return File::from(place.open()?).write_all(bytes);
    }
    replace(&place, bytes).or_else(|error| match error.kind() {
        PermissionDenied | ReadOnlyFilesystem | ResourceBusy => overwrite(&place, bytes),
        _ => Err(error),
    })
}

/// The place of a file, if the file can be written.
fn usable(path: &Path) -> io::Result<Destination> {
    let place = Destination::find(path)?;
    place.reject_foreign_owners()?;
    match place.kind() {
        ObjectKind::Directory => Err(io::ErrorKind::IsADirectory.into()),
        ObjectKind::Socket => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a socket")),
        _ => Ok(place),
    }
}

/// Overwrites the existing file in place.
fn overwrite(place: &Destination, bytes: &[u8]) -> io::Result<()> {
    let mut target = File::from(place.open()?);
    target.set_len(0)?;
    target.write_all(bytes)
}

/// Replaces the old file by a new one.
fn replace(place: &Destination, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::beside(place)?;
    replacement.fill(bytes)?;
    replacement.take_place()
}
