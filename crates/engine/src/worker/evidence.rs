//! A process's evidence of its messages' path: the memory that it shares, its network sockets, the traffic on the
//! loopback interface.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    sync::OnceLock,
};

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

/// The counters of the network interfaces, from the first reading on. The file is read twice in each turn, and stays open,
/// for the kernel frees what belongs to it some milliseconds after it was closed (RCU callbacks). Until then the processor
/// keeps its timer tick while it is idle, and a wake-up costs something else than usual: with ends that sleep, half a round
/// trip took 15 µs instead of 22, and a message of a stream through TCP 5.5 µs instead of 4.
static DEVICES: OnceLock<Option<File>> = OnceLock::new();

/// The bytes that the loopback interface has received so far.
pub(crate) fn loopback_bytes() -> u64 {
    let file = DEVICES.get_or_init(|| File::open("/proc/self/net/dev").ok());
    let devices = file.as_ref().map(whole_text).unwrap_or_default();
    let line = devices.lines().find_map(|line| line.trim_start().strip_prefix("lo:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The text of a file that the kernel makes up anew when it is read from its beginning.
fn whole_text(file: &File) -> String {
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(bytes @ 1..) = file.read_at(&mut part, text.len() as u64) {
        text.extend_from_slice(&part[..bytes]);
    }
    String::from_utf8_lossy(&text).into_owned()
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
    fn bytes_on_the_loopback_interface_are_counted_each_time() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut last = loopback_bytes();
        for _ in 0..3 {
            socket.send_to(&[0; 1000], socket.local_addr().unwrap()).unwrap();
            let now = loopback_bytes();
            assert!(now >= last + 1000, "{last} and then {now}");
            last = now;
        }
    }

    #[test]
    fn the_counters_of_interfaces_are_opened_once() {
        let open = || {
            let all = descriptors::all().into_values();
            all.filter(|object| object.ends_with("net/dev")).count()
        };
        let _ = [loopback_bytes(), loopback_bytes()];
        assert_eq!(open(), 1);
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
