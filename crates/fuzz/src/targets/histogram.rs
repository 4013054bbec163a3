//! A histogram in a result file or in a worker's report: its text, its compressed form, or its plain form.

use std::io::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::{Compression, write::ZlibEncoder};

use crate::target::Target;

/// The first bytes of both forms, compressed and plain, of version 2.
const COOKIES: [u32; 2] = [0x1c84_9314, 0x1c84_9313];

fn run(data: &[u8]) {
    let Some((form, data)) = data.split_first() else { return };
    let text = match form % 4 {
        0 => String::from_utf8_lossy(data).into_owned(),
        1 => BASE64_STANDARD.encode(data),
        2 => compressed(data),
        _ => compressed(&with_head(data)),
    };
    let Ok(histogram) = ipcmark_results::decode(&text) else { return };
    let again = ipcmark_results::encode(&histogram);
    assert!(ipcmark_results::decode(&again).is_ok(), "what was read can be written");
}

fn compressed(plain: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let deflated = encoder.write_all(plain).and_then(|()| encoder.finish());
    let deflated = deflated.expect("memory takes every byte");
    let head = [COOKIES[0], deflated.len() as u32].map(u32::to_be_bytes).concat();
    BASE64_STANDARD.encode([head, deflated].concat())
}

/// Prepends a matching head to counts.
fn with_head(counts: &[u8]) -> Vec<u8> {
    let numbers = [COOKIES[1], counts.len() as u32, 0, 3].map(u32::to_be_bytes).concat();
    let bounds = [1_u64, 3_600_000_000_000].map(u64::to_be_bytes).concat();
    [&numbers[..], &bounds, &1_f64.to_be_bytes(), counts].concat()
}

pub const TARGET: Target = Target { name: "histogram", run };
