//! A process's evidence of its messages' path: the memory that it shares, its network sockets, the traffic on the
//! loopback interface.

use std::fs;

use ipcmark_transport::NOTICES;

use super::descriptors::{self, NamedDescriptors};
use crate::wire::Mapping;

/// The name of the counters that modules keep in shared memory, apart from their library's.
const COUNTERS: &str = "ipcmark-pair";

/// The name of the probe pages.
const PROBES: &str = "memfd:ipcmark-probe";

/// The memory that this process shares with any other.
pub(crate) fn shared_mappings() -> Vec<Mapping> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(mapping).filter(|mapping| !ours(mapping)).collect()
}

/// True if no message goes through this mapping.
fn ours(mapping: &Mapping) -> bool {
    [COUNTERS, PROBES, NOTICES].iter().any(|title| mapping.name.contains(title))
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (access, device, inode) = (words.next()?, words.nth(1)?, words.next()?);
    let number = |text| u64::from_str_radix(text, 16).ok();
    let bytes = number(end)?.checked_sub(number(start)?)?;
    let name = words.next().unwrap_or_default().into();
    access.ends_with('s').then(|| Mapping { id: format!("{device} {inode}").into(), bytes, name })
}

/// True if one of the open descriptors is a socket that communicates over a network interface.
pub(super) fn has_network_socket(open: &NamedDescriptors) -> bool {
    open.keys().copied().any(descriptors::speaks_over_network)
}

/// The bytes that the loopback interface has received so far.
pub(crate) fn loopback_bytes() -> u64 {
    let devices = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let line = devices.lines().find_map(|line| line.trim_start().strip_prefix("lo:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_socket_is_found() {
        let _socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(has_network_socket(&descriptors::all()));
    }

    #[test]
    fn a_line_of_the_system_is_read() {
        let line = "7f00-8f00 rw-s 00000000 00:01 42    /memfd:ring (deleted)";
        let mapping = mapping(line).unwrap();
        assert_eq!((&*mapping.id, mapping.bytes), ("00:01 42", 0x1000));
        assert_eq!(&*mapping.name, "/memfd:ring");
        assert!(super::mapping("7f00-8f00 rw-p 00000000 00:01 42").is_none());
        assert!(!ours(&mapping));
    }

    #[test]
    fn memory_that_only_describes_messages_is_no_evidence() {
        let line = "7f00-8f00 rw-s 00000000 00:01 42    /memfd:ipcmark-notices (deleted)";
        assert!(ours(&mapping(line).unwrap()));
    }
}
