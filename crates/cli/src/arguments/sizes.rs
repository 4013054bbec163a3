//! Payload sizes as people write them.

use std::{collections::BTreeSet, path::Path};

use ipcmark_transport::{MAX_PAYLOAD, MIN_PAYLOAD};

use super::text_file;

/// Payloads in bytes, in the order given, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub Vec<usize>);

impl Sizes {
    /// Parses a list: `64`, `4k`, `4KiB`, `1M`, `16..4M` (powers of two), the seeds' presets, and
    /// `@FILE`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix('@') {
            Some(path) => Self::read(path),
            None => Self::of(text.split(',')),
        }
    }

    /// Reads a file of payloads in the form of Fast DDS's LatencyTest: `16;32;64`.
    fn read(path: &str) -> Result<Self, String> {
        let text = text_file::read(Path::new(path))
            .map_err(|e| format!("cannot read the payloads in {path}: {e}"))?;
        Self::of_list(&text).map_err(|why| format!("in {path}: {why}"))
    }

    /// Parses the content of such a file.
    pub(crate) fn of_list(text: &str) -> Result<Self, String> {
        // LatencyTest's own lists can end in a separator and a line break.
        let list = text.trim().trim_end_matches(';');
        if list.is_empty() {
            return Err("there is no payload; write it as 16;32;64".into());
        }
        Self::of(list.split(';'))
    }

    fn of<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let (mut sizes, mut known) = (Vec::new(), BTreeSet::new());
        for part in parts {
            for size in part_sizes(part.trim())? {
                if known.insert(size) {
                    sizes.push(size);
                }
            }
        }
        Ok(Self(sizes))
    }
}

fn part_sizes(part: &str) -> Result<Vec<usize>, String> {
    match part {
        "iceperf" => Ok(powers_of_two(16, 4 << 20)),
        "ipc-bench" => Ok(vec![100, 1000]),
        "fastdds" => Ok(vec![16, 1024, 64512, 1 << 20]),
        _ => match part.split_once("..") {
            Some((first, last)) => range(size(first)?, size(last)?),
            None => Ok(vec![size(part)?]),
        },
    }
}

fn range(first: usize, last: usize) -> Result<Vec<usize>, String> {
    let sizes = powers_of_two(first, last);
    if sizes.is_empty() {
        return Err(format!("there is no power of two from {first} to {last}"));
    }
    Ok(sizes)
}

fn powers_of_two(first: usize, last: usize) -> Vec<usize> {
    (0..usize::BITS - 1).map(|bit| 1 << bit).filter(|size| (first..=last).contains(size)).collect()
}

fn size(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: usize = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        _ => return Err(format!("'{text}' is not a size; write 64, 4k, 1MiB or 16..4M")),
    };
    if number.is_empty() {
        return Err(format!("'{text}' is not a size; write 64, 4k, 1MiB or 16..4M"));
    }
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(factor));
    match bytes {
        Some(bytes) if bytes < MIN_PAYLOAD => Err(format!(
            "{text} is too small: a message holds at least {MIN_PAYLOAD} bytes, its head"
        )),
        Some(bytes) if bytes <= MAX_PAYLOAD => Ok(bytes),
        _ => Err(format!("{text} is beyond the limit of {} MiB", MAX_PAYLOAD >> 20)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sizes(text: &str) -> Vec<usize> {
        Sizes::parse(text).unwrap().0
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        assert_eq!(sizes("64,4k,4KiB,1M,1MiB,17 B"), [64, 4096, 1 << 20, 17]);
        assert_eq!(sizes("16..128"), [16, 32, 64, 128]);
        assert_eq!(sizes("100..300"), [128, 256]);
        assert_eq!(sizes("iceperf").len(), 19);
        assert_eq!(sizes("fastdds"), [16, 1024, 64512, 1 << 20]);
    }

    #[test]
    fn a_file_holds_sizes_as_latency_test_writes_them() {
        let directory = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let path = directory.path().join("payloads.csv");
            fs::write(&path, text).unwrap();
            Sizes::parse(&format!("@{}", path.display())).map(|sizes| sizes.0)
        };
        assert_eq!(read("16;32;64").unwrap(), [16, 32, 64]);
        assert_eq!(read("16;1024;\n").unwrap(), [16, 1024]);
        assert_eq!(read("2097152\n").unwrap(), [2 << 20]);
        for (text, reason) in [
            ("", "no payload"),
            (" \n", "no payload"),
            ("16;x;64", "not a size"),
            ("16;0", "too small"),
            ("16;;64", "not a size"),
            ("15", "at least 16"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(reason) && error.contains("payloads.csv"), "{text}: {error}");
        }
        assert!(Sizes::parse("@/nowhere").unwrap_err().contains("cannot read"));
    }

    /// Each size was searched for among all before it: a file of 1 MiB took half a minute.
    #[test]
    fn a_long_list_is_read_at_once() {
        let list: Vec<String> = (16..150_016).chain(16..32).map(|size| size.to_string()).collect();
        assert_eq!(sizes(&list.join(",")), (16..150_016).collect::<Vec<_>>());
    }

    #[test]
    fn invalid_sizes_are_rejected_with_the_reason() {
        for (text, reason) in [
            ("0", "too small"),
            ("8", "at least 16"),
            ("-64", "not a size"),
            ("many", "not a size"),
            ("64x", "not a size"),
            ("1.5k", "not a size"),
            ("", "not a size"),
            ("5M", "beyond the limit of 4 MiB"),
            ("99999999999999999999", "beyond the limit"),
            ("64..16", "no power of two"),
            ("64,,128", "not a size"),
        ] {
            let error = Sizes::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
