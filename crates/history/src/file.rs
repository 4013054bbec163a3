//! The history file: located, opened and checked.

use std::{
    env, fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::Duration,
};

use ipcmark_results::check_file;
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::{
    fault::{sentence, told},
    tables,
};

/// The time to wait for another program that is writing.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// An open history.
pub struct History {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
}

/// The default file: in `$XDG_DATA_HOME`, or `~/.local/share`. None if neither is known.
pub fn default_path() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data =
        absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("ipcmark/history.sqlite"))
}

impl History {
    /// Opens a history to read it. The error is a sentence.
    pub fn read(path: &Path) -> Result<Self, String> {
        if !is_there(path, "read")? {
            let remedy = "`ipcmark history add RESULT.json` makes it";
            return Err(told("read", path, "there is none yet", remedy));
        }
        let history = Self::open(path, "read", OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        tables::check(&history.connection, "read", path)?;
        Ok(history)
    }

    /// Opens a history to add to it, and creates it if there is none. The error is a sentence.
    pub fn write(path: &Path) -> Result<Self, String> {
        if !is_there(path, "write")? {
            make_directory(path)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let history = Self::open(path, "write", flags)?;
        let connection = &history.connection;
        let failed = |error| sentence("write", path, &error);
        if tables::is_empty(connection).map_err(failed)? {
            // Another program may have created the tables meanwhile: then they are checked.
            let made = tables::create(connection);
            if made.is_err() && tables::is_empty(connection).map_err(failed)? {
                made.map_err(failed)?;
            }
        }
        tables::check(connection, "write", path)?;
        Ok(history)
    }

    fn open(path: &Path, operation: &str, flags: OpenFlags) -> Result<Self, String> {
        let failed = |error| sentence(operation, path, &error);
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(LOCK_TIMEOUT).map_err(failed)?;
        for (setting, on) in [
            // The file may come from an untrusted source.
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
        ] {
            connection.set_db_config(setting, on).map_err(failed)?;
        }
        Ok(Self { connection, path: path.into() })
    }

    /// An error of an operation on this file, as a sentence.
    pub(crate) fn failed(&self, operation: &str) -> impl Fn(rusqlite::Error) -> String + use<> {
        let (path, operation) = (self.path.clone(), operation.to_owned());
        move |error| sentence(&operation, &path, &error)
    }
}

/// True if a file exists that may be opened: for a FIFO, SQLite would wait for a writer.
fn is_there(path: &Path, operation: &str) -> Result<bool, String> {
    match check_file(path) {
        // Not even its directory exists.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        found => found.map_err(|e| told(operation, path, &e.to_string(), "or use another --file")),
    }
}

fn make_directory(path: &Path) -> Result<(), String> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Some(directory) = directory else { return Ok(()) };
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| {
        let cause = format!("cannot make the directory {}: {error}", directory.display());
        told("write", path, &cause, "name another place with --file")
    })
}
