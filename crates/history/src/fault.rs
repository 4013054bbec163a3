//! Errors of the database as sentences: operation, file, cause, remedy.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

/// An error of an operation on the file, as a sentence.
pub(crate) fn sentence(operation: &str, path: &Path, error: &Error) -> String {
    let (cause, remedy) = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            ("it is not a SQLite database".into(), "name another file with --file")
        }
        Some(ErrorCode::DatabaseCorrupt) => (
            "the database is damaged".into(),
            "move it away and add the results again, or save what it still has with `sqlite3 FILE .recover`",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ("another program has locked it".into(), "try again when that is done")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            (plain(error), "check the permissions of the file and its directory, or use --file")
        }
        Some(ErrorCode::DiskFull) => {
            (plain(error), "free some space there, or name another place with --file")
        }
        _ => (plain(error), "if this happens again, move the file away and add the results again"),
    };
    told(operation, path, &cause, remedy)
}

/// A sentence: `cannot read the history /x: it is not a SQLite database; name another file with --file`.
pub(crate) fn told(operation: &str, path: &Path, cause: &str, remedy: &str) -> String {
    format!("cannot {operation} the history {}: {cause}; {remedy}", path.display())
}

/// SQLite's message, on one line.
fn plain(error: &Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
