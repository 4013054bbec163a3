//! The parts of a result as stored in the file: JSON, deflated.

use std::io::{Read, Write};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use ipcmark_results::{Case, MAX_FILE_BYTES, RunResult, parse};
use serde::Serialize;

/// A part of a result, compressed.
pub(crate) fn packed<T: Serialize>(part: &T) -> Vec<u8> {
    let text = serde_json::to_vec(part).expect("the model has text keys and plain values only");
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::default());
    packer.write_all(&text).and_then(|()| packer.finish()).expect("memory takes everything")
}

/// A result without its cases. It is checked like a result file.
pub(crate) fn head(part: &[u8]) -> Result<RunResult, String> {
    parse(&inflated(part)?)
}

/// A case, checked like those of a result file.
pub(crate) fn case(part: &[u8]) -> Result<Case, String> {
    let case: Case = serde_json::from_slice(&inflated(part)?).map_err(|e| e.to_string())?;
    case.check().map(|()| case)
}

/// The decompressed content of a part, bounded: a few bytes can decompress to any size.
fn inflated(part: &[u8]) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = DeflateDecoder::new(part).take(MAX_FILE_BYTES + 1).read_to_end(&mut text);
    match read.map_err(|e| e.to_string())? as u64 {
        0..=MAX_FILE_BYTES => Ok(text),
        _ => Err("it is larger than a result file can be".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_parts_are_rejected() {
        assert!(head(b"no deflate").is_err());
        assert!(head(&packed(&"a text")).is_err());
        assert!(case(&packed(&"a text")).is_err());
        assert!(case(&[]).is_err());
    }
}
