//! The histogram that holds samples: its bounds and its text form.

use std::io::Read;

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2DeflateSerializer},
};

/// The least time that is distinguished from 0, in ns.
const LOW: u64 = 1;

/// The longest time that can be recorded: one hour, in ns.
const HIGH: u64 = 3_600_000_000_000;

/// Significant digits: a value is known to one part in a thousand.
const DIGITS: u8 = 3;

/// More samples than a trial has: one per 20 ns for two days. The trials that the largest file has room for have fewer
/// than 2^64 together.
pub const MAX_SAMPLES: u64 = 1 << 43;

/// Cookie and length before the compressed form.
const COMPRESSED_HEAD: usize = 8;

/// Cookie, length, offset, digits, bounds and ratio before the counts of the plain form.
const PLAIN_HEAD: usize = 40;

/// The first four bytes of the compressed form, version 2.
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;

/// An empty histogram for times in ns: 1 ns to 1 hour, 3 significant digits. Its size does not
/// depend on how much is recorded.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(LOW, HIGH, DIGITS).expect("the bounds are constants that fit")
}

/// The histogram as text: HdrHistogram V2 compressed, in base64.
///
/// # Panics
///
/// When one value was counted more than `i64::MAX` times.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("counts fit the format and memory takes every byte");
    BASE64_STANDARD.encode(bytes)
}

/// Reads what [`encode`] wrote. The memory that it takes is bounded for any text; text that is not
/// a histogram with the bounds of [`new_histogram`] is an error.
pub fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = BASE64_STANDARD.decode(text).map_err(|error| format!("not base64: {error}"))?;
    let plain = inflate(&bytes)?;
    check_counts(check_head(&plain)?)?;
    Deserializer::new()
        .deserialize(&mut plain.as_slice())
        .map_err(|error| format!("not a histogram: {error}"))
}

/// The plain form within the compressed one.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let (head, compressed) =
        bytes.split_at_checked(COMPRESSED_HEAD).ok_or("not a histogram: too short")?;
    if head[..4] != COMPRESSED_COOKIE.to_be_bytes() {
        return Err("not a histogram in HdrHistogram's compressed form V2".into());
    }
    if number(head, 4) != compressed.len() as u64 {
        return Err("not a histogram: its length is wrong".into());
    }
    let limit = PLAIN_HEAD + 9 * new_histogram().distinct_values();
    let mut plain = Vec::new();
    ZlibDecoder::new(compressed)
        .take(limit as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|error| format!("not a histogram: {error}"))?;
    if plain.len() > limit { Err("not a histogram: too long".into()) } else { Ok(plain) }
}

/// The counts of a plain form, if its head is as [`encode`] writes it.
fn check_head(plain: &[u8]) -> Result<&[u8], String> {
    let (head, counts) =
        plain.split_at_checked(PLAIN_HEAD).ok_or("not a histogram: its head is cut short")?;
    if number(head, 4) != counts.len() as u64 {
        return Err("not a histogram: its counts are cut short".into());
    }
    let bounds = (number(head, 12), wide(head, 16), wide(head, 24));
    if bounds != (DIGITS.into(), LOW, HIGH) {
        let (digits, low, high) = bounds;
        return Err(format!(
            "a histogram from {low} to {high} with {digits} digits, not from {LOW} to {HIGH} with {DIGITS}"
        ));
    }
    Ok(counts)
}

/// Checks that the counts stay within the histogram and that sums of them cannot overflow: the library relies on both.
fn check_counts(mut bytes: &[u8]) -> Result<(), String> {
    let room = new_histogram().distinct_values() as u64;
    let (mut index, mut total) = (0_u64, 0_u64);
    while let Some(entry) = next_entry(&mut bytes)? {
        index = index.saturating_add(if entry < 0 { entry.unsigned_abs() } else { 1 });
        total = total.saturating_add(entry.max(0) as u64);
        if total > MAX_SAMPLES {
            return Err("a histogram of more samples than a trial has".into());
        }
        if index > room {
            return Err("not a histogram: it has too many counts".into());
        }
    }
    Ok(())
}

/// The next entry of the counts: a count, or, if negative, the number of zero counts. Each is a
/// zigzag integer of 7 bits a byte, except a ninth byte, which has 8.
fn next_entry(bytes: &mut &[u8]) -> Result<Option<i64>, String> {
    let mut value = 0_u64;
    for at in 0..9 {
        let Some((byte, rest)) = bytes.split_first() else {
            return if at == 0 { Ok(None) } else { Err("not a histogram: a count is cut".into()) };
        };
        *bytes = rest;
        let last = at == 8 || byte & 0x80 == 0;
        let part = if at == 8 { *byte } else { byte & 0x7f };
        value |= u64::from(part) << (7 * at);
        if last {
            break;
        }
    }
    Ok(Some((value >> 1) as i64 ^ -((value & 1) as i64)))
}

/// Four bytes at `at`, most significant first.
fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 4].iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Eight bytes at `at`, most significant first.
fn wide(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at) << 32 | number(bytes, at + 4)
}
