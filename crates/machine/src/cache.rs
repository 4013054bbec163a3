//! The caches of the processors.

use crate::{files::Files, topology::numbers};

/// The bytes of the largest last-level cache of the machine, the same in every process, wherever it is pinned; none if
/// the system does not report it, as on some virtual machines.
pub fn last_level_bytes() -> Option<u64> {
    largest(&Files::of_system())
}

fn largest(files: &Files) -> Option<u64> {
    let online = numbers(&files.text("sys/devices/system/cpu/online")?);
    online.into_iter().filter_map(|cpu| bytes_of(files, cpu)).max()
}

fn bytes_of(files: &Files, cpu: u32) -> Option<u64> {
    let of_level = |index: u32| {
        let size = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}/size");
        ipcmark_transport::number(&files.text(&size)?)
    };
    (0..=4).filter_map(of_level).max().filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cache_of_a_processor_counts() {
        let root = tempfile::tempdir().unwrap();
        for (index, size) in ["48K", "32K", "2048K", "30720K"].iter().enumerate() {
            let of = root.path().join(format!("sys/devices/system/cpu/cpu3/cache/index{index}"));
            std::fs::create_dir_all(&of).unwrap();
            std::fs::write(of.join("size"), format!("{size}\n")).unwrap();
        }
        let files = Files::below(root.path());
        assert_eq!((bytes_of(&files, 3), bytes_of(&files, 0)), (Some(30720 << 10), None));
        assert_eq!(largest(&files), None, "no processor is known");
        std::fs::write(root.path().join("sys/devices/system/cpu/online"), "0-3\n").unwrap();
        assert_eq!(largest(&files), Some(30720 << 10));
    }
}
