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
    destination::{Destination, Kind},
    replacement::{Replacement, remove_stale},
};

/// Writes a text so that whoever reads the file sees the old one or the new one, whole.
///
/// The text goes into a new file beside the target, which then takes the target's name. What
/// [`is_stream`] is written to directly, and so is a file whose directory takes no new files or
/// that is a mount of its own. A link is followed where it belongs to this user or to root.
pub fn write_text(path: &Path, text: &str) -> io::Result<()> {
    write_bytes(path, text.as_bytes())
}

/// The same of what is no text.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes).map_err(|error| explain(&format!("write {}", path.display()), &error))
}

/// True if what is written to `path` cannot be replaced later: a pipe, a terminal, a device, or a
/// descriptor such as `/dev/stdout`. A result belongs there once, when it is complete.
pub fn is_stream(path: &Path) -> bool {
    Destination::find(path).is_ok_and(|place| place.kind() == Kind::Stream)
}

/// Finds out whether a file of this user's own is at `path`: false where nothing is. What strangers have left in a
/// directory that is open to all is refused, and so is what is no file.
pub fn check_file(path: &Path) -> io::Result<bool> {
    match usable(path)?.kind() {
        Kind::Nothing => Ok(false),
        Kind::File => Ok(true),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// An error that says what was tried on which file, and what helps.
pub(crate) fn explain(what: &str, error: &io::Error) -> io::Error {
    let remedy = match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EFBIG) => "; allow larger files: ulimit -f unlimited",
        Some(Errno::ENOSPC) => "; free some space there, or name another place",
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot {what}: {error}{remedy}"))
}

/// Finds out whether a file can be written, without changing what is there. What killed runs left beside
/// it is removed.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let place = usable(path)?;
    remove_stale(&place.directory_path());
    match place.kind() {
        Kind::Nothing => Replacement::beside(&place).map(drop),
        // Opened without a thought, a FIFO would block, and its reader would see it end.
        _ => {
            Ok(faccessat(place.directory(), place.name(), AccessFlags::W_OK, AtFlags::AT_EACCESS)?)
        }
    }
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let place = usable(path)?;
    if place.kind() == Kind::Stream {
        return File::from(place.open()?).write_all(bytes);
    }
    replace(&place, bytes).or_else(|error| match error.kind() {
        PermissionDenied | ReadOnlyFilesystem | ResourceBusy => overwrite(&place, bytes),
        _ => Err(error),
    })
}

/// The place of a file that can be written.
fn usable(path: &Path) -> io::Result<Destination> {
    let place = Destination::find(path)?;
    place.refuse_strangers()?;
    match place.kind() {
        Kind::Directory => Err(io::ErrorKind::IsADirectory.into()),
        Kind::Socket => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a socket")),
        _ => Ok(place),
    }
}

/// Writes into the file that is there, as it stands.
fn overwrite(place: &Destination, bytes: &[u8]) -> io::Result<()> {
    let mut target = File::from(place.open()?);
    target.set_len(0)?;
    target.write_all(bytes)
}

/// Puts a new file in the place of the old one.
fn replace(place: &Destination, bytes: &[u8]) -> io::Result<()> {
    let mut replacement = Replacement::beside(place)?;
    replacement.fill(bytes)?;
    replacement.take_place()
}
