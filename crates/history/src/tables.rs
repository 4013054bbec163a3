//! The tables of the file, and the check that a file has exactly these.

use std::path::Path;

use rusqlite::{Connection, Result};

use crate::fault::{sentence, told};

/// Marks a database as a history: "ipcm".
const APPLICATION: i32 = 0x6970_636d;

/// The version of the tables. A file of another version is refused.
const VERSION: i32 = 1;

/// The tables. A file's schema is checked against these texts.
const TABLES: [(&str, &str); 3] = [
    (
        "runs",
        "CREATE TABLE runs (
    run INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    started_at TEXT NOT NULL,
    hash TEXT NOT NULL,
    complete INTEGER NOT NULL,
    machine TEXT NOT NULL,
    commit_id TEXT,
    label TEXT,
    version TEXT NOT NULL,
    head BLOB NOT NULL,
    UNIQUE (id, started_at)
) STRICT",
    ),
    (
        "cases",
        "CREATE TABLE cases (
    run INTEGER NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    transport TEXT NOT NULL,
    family TEXT NOT NULL,
    library_version TEXT,
    status TEXT NOT NULL,
    time_ns REAL,
    low_ns REAL,
    high_ns REAL,
    content BLOB NOT NULL,
    PRIMARY KEY (run, place)
) STRICT",
    ),
    ("cases_by_name", "CREATE INDEX cases_by_name ON cases (name)"),
];

/// Creates the tables in a file that has none; in one transaction, so that no reader sees half of
/// them.
pub(crate) fn create(connection: &Connection) -> Result<()> {
    let texts = TABLES.map(|(_, text)| text).join(";\n");
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         {texts};
         PRAGMA application_id = {APPLICATION};
         PRAGMA user_version = {VERSION};
         COMMIT"
    ))
}

/// True if a database is empty.
pub(crate) fn is_empty(connection: &Connection) -> Result<bool> {
    let count: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(count == 0 && number(connection, "application_id")? == 0)
}

/// Refuses a database that is not a history of this version, in a sentence. A view or a trigger in it could do
/// anything, or run for ever: everything in it must be as [`create`] makes it.
pub(crate) fn check(connection: &Connection, operation: &str, path: &Path) -> Result<(), String> {
    let failed = |error| sentence(operation, path, &error);
    let refused = |cause: String, remedy| Err(told(operation, path, &cause, remedy));
    if number(connection, "application_id").map_err(failed)? != APPLICATION {
        return refused(
            "it is a database of another program".into(),
            "name another file with --file",
        );
    }
    match number(connection, "user_version").map_err(failed)? {
        VERSION => {}
        newer if newer > VERSION => {
            let cause = format!("it has the form {newer}, and this ipcmark knows {VERSION}");
            return refused(cause, "use the newer ipcmark that wrote it, or another --file");
        }
        older => {
            let cause = format!("it has the form {older}, and this ipcmark knows only {VERSION}");
            return refused(
                cause,
                "move it away and add the results again, or use the ipcmark that wrote it",
            );
        }
    }
    if !is_whole(connection).map_err(failed)? {
        return refused(
            "its tables are not those that ipcmark makes".into(),
            "move it away and add the results again",
        );
    }
    Ok(())
}

fn number(connection: &Connection, pragma: &str) -> Result<i32> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn is_whole(connection: &Connection) -> Result<bool> {
    // Indexes that SQLite creates itself have no text.
    let mut found = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")?;
    let mut rows = found.query([])?;
    for (name, text) in TABLES {
        let Some(row) = rows.next()? else { return Ok(false) };
        if row.get::<_, String>(0)? != name || row.get::<_, String>(1)? != text {
            return Ok(false);
        }
    }
    Ok(rows.next()?.is_none())
}
