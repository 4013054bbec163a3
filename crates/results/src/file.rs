//! The result file: written whole or not at all, and read defensively.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use serde::Deserialize;

use crate::{
    model::{RunResult, SCHEMA},
    output,
};

/// The largest result file that [`read`] takes: 1 GiB.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// The result as the file holds it: JSON, indented, with a line feed at its end. Every figure in it is a number: see
/// [`RunResult::settled`].
pub fn to_json(result: &RunResult) -> String {
    let mut text = serde_json::to_string_pretty(&*result.settled())
        .expect("the model has text keys and plain values only");
    text.push('\n');
    text
}

/// Writes a result file, as [`write_text`](crate::write_text) writes any text.
pub fn write_atomically(path: &Path, result: &RunResult) -> io::Result<()> {
    output::write(path, to_json(result).as_bytes()).map_err(|error| explain("write", path, &error))
}

/// Checks that a result can be written to `path`, without changing what is there. Called before measuring.
pub fn check_writable(path: &Path) -> io::Result<()> {
    output::check(path).map_err(|error| explain("write", path, &error))
}

/// Reads a result file. The error is a sentence with the path and the cause.
pub fn read(path: &Path) -> Result<RunResult, String> {
    let bytes =
        load(path, MAX_FILE_BYTES).map_err(|error| explain("read", path, &error).to_string())?;
    parse(&bytes)
        .map_err(|cause| format!("cannot read the result file {}: {cause}", path.display()))
}

fn explain(verb: &str, path: &Path, error: &io::Error) -> io::Error {
    output::explain(&format!("{verb} the result file {}", path.display()), error)
}

/// The content of a file of at most `limit` bytes. A pipe does not know its length beforehand.
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

/// The field that identifies the file's form.
#[derive(Deserialize)]
struct Form {
    schema: Option<String>,
}

/// The form before this one; no release used it.
const OLD_SCHEMA: &str = "ipcmark/1";

/// Reads the content of a result file. The error states the cause.
pub fn parse(bytes: &[u8]) -> Result<RunResult, String> {
    let form: Form = serde_json::from_slice(bytes).map_err(|error| describe(&error, bytes))?;
    match form.schema.as_deref() {
        Some(SCHEMA) => {}
        Some(OLD_SCHEMA) => {
            return Err(format!(
                "it is of the form `{OLD_SCHEMA}`, in which a trial was a case; this version reads \
             `{SCHEMA}` only: measure again, or show it with the ipcmark that wrote it"
            ));
        }
        Some(other) => return Err(format!("its schema is `{other}`, not `{SCHEMA}`")),
        None => return Err("it has no field `schema`, so it is no result of ipcmark".into()),
    }
    let result = model(bytes)?;
    result.check()?;
    Ok(result)
}

/// The result; an error names the position in the file.
fn model(bytes: &[u8]) -> Result<RunResult, String> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let result = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        format!("{}, at {path}", describe(error.inner(), bytes))
    })?;
    json.end().map_err(|error| describe(&error, bytes))?;
    Ok(result)
}

fn describe(error: &serde_json::Error, bytes: &[u8]) -> String {
    match error.classify() {
        _ if ends_within_number(error, bytes) => format!("it is cut short: {error}"),
        serde_json::error::Category::Eof => format!("it is cut short: {error}"),
        serde_json::error::Category::Data => format!("it is not of the form `{SCHEMA}`: {error}"),
        _ => format!("it is not JSON: {error}"),
    }
}

/// True if the text ends within a number such as `4.5`: the rest is not a number, and the parser does not report this
/// as an early end.
fn ends_within_number(error: &serde_json::Error, bytes: &[u8]) -> bool {
    let last = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
    let is_at_end = (error.line(), error.column()) == (line, last.len());
    is_at_end && bytes.ends_with(b".") | bytes.ends_with(b"e") | bytes.ends_with(b"-")
}
