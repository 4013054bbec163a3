//! An untrusted result file: read, written again, and shown in one of the formats. Each input uses only one format,
//! because formatting takes time.

use std::sync::LazyLock;

use ipcmark_report::{FORMATS, Terminal};
use serde_json::Value;

use crate::{edits, target::Target};

static RESULT: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../documents/result.json")).expect("it is JSON")
});

fn run(data: &[u8]) {
    let Some(([format, width], data)) = data.split_first_chunk() else { return };
    let Ok(result) = ipcmark_results::parse(&edits::document(&RESULT, data)) else { return };
    let terminal =
        Terminal { width: usize::from(*width), color: width % 2 == 0, ascii: width % 3 == 0 };
    let _ = FORMATS[usize::from(*format) % FORMATS.len()].render(&result, terminal);
    let text = ipcmark_results::to_json(&result);
    assert!(ipcmark_results::parse(text.as_bytes()).is_ok(), "what was read can be written");
}

pub const TARGET: Target = Target { name: "result", run };
