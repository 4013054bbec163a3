//! What actually carried the messages of a case, found from the running processes: the memory that
//! both map and the traffic on the loopback interface. A library that cannot do what it was asked to
//! do often falls back without a word.

use std::{collections::BTreeSet, fs};

use ipcmark_results::Path;
use ipcmark_transport::{Carrier, Span};
use serde::{Deserialize, Serialize};

/// A piece of memory that a process shares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mapping {
    /// Device and inode: the same in every process that maps it.
    id: String,
    bytes: u64,
    name: String,
}

/// Names of the counters that modules have beside their library.
const COUNTERS: &str = "ipcmark-pair";

/// The most names that are written down.
const MOST_NAMES: usize = 8;

/// The memory that this process shares with whomever.
pub(crate) fn shared_mappings() -> Vec<Mapping> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(mapping).filter(|mapping| !mapping.name.contains(COUNTERS)).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (access, device, inode) = (words.next()?, words.nth(1)?, words.next()?);
    let number = |text| u64::from_str_radix(text, 16).ok();
    let bytes = number(end)?.checked_sub(number(start)?)?;
    let name = words.next().unwrap_or_default().to_owned();
    access.ends_with('s').then(|| Mapping { id: format!("{device} {inode}"), bytes, name })
}

/// Whether this process has a socket that speaks over a network interface.
pub(crate) fn has_network_socket() -> bool {
    let tables = ["tcp", "udp", "tcp6", "udp6", "raw", "raw6"];
    let inodes: BTreeSet<String> = tables
        .iter()
        .filter_map(|table| fs::read_to_string(format!("/proc/self/net/{table}")).ok())
        .flat_map(|table| table.lines().filter_map(inode).collect::<Vec<_>>())
        .collect();
    let sockets = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let mut links = sockets.filter_map(|fd| fs::read_link(fd.path()).ok());
    links.any(|link| {
        let link = link.to_string_lossy();
        let inode = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        inode.is_some_and(|inode| inodes.contains(inode))
    })
}

/// The inode in a line of the system's table of sockets.
fn inode(line: &str) -> Option<String> {
    line.split_ascii_whitespace().nth(9).map(Into::into)
}

/// Bytes that the loopback interface has received so far.
pub(crate) fn loopback_bytes() -> u64 {
    let devices = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let line = devices.lines().find_map(|line| line.trim_start().strip_prefix("lo:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// What is known about the way that the messages of a case took.
pub(crate) struct Evidence<'a> {
    /// What the transport says.
    pub declared: Option<Carrier>,
    pub span: Span,
    /// Whether the interface was the session's own: otherwise others' traffic is in its counter.
    pub sandboxed: bool,
    pub payload: usize,
    pub loopback_bytes_per_message: f64,
    /// Whether every process has a socket that speaks over a network interface.
    pub has_network_sockets: bool,
    /// Whether the ends are on different hosts.
    pub apart: bool,
    /// What each process shares.
    pub shared: &'a [Vec<Mapping>],
}

impl Evidence<'_> {
    /// What carried the messages.
    pub(crate) fn path(&self) -> Path {
        let common = if self.apart { Vec::new() } else { self.common() };
        let large = common.iter().any(|mapping| mapping.bytes >= self.payload as u64);
        let mut objects: Vec<String> =
            common.iter().map(|mapping| mapping.name.clone()).filter(|n| !n.is_empty()).collect();
        objects.dedup();
        objects.truncate(MOST_NAMES);
        Path {
            carrier: self.carrier(large).to_string(),
            declared: self.declared.map(|carrier| carrier.to_string()),
            loopback_bytes_per_message: self.loopback_bytes_per_message,
            shared_bytes: common.iter().map(|mapping| mapping.bytes).sum(),
            objects,
        }
    }

    fn carrier(&self, shares_enough: bool) -> Carrier {
        // A packet has a head, but a message could be compressed by nobody here.
        let on_loopback = self.has_network_sockets
            && self.loopback_bytes_per_message >= self.payload as f64 * 0.9;
        match self.span {
            Span::None | Span::Thread => Carrier::Process,
            // What looks the same in the tables of two hosts is not the same.
            Span::Process if self.apart => Carrier::Network,
            Span::Process if on_loopback && (self.sandboxed || !shares_enough) => Carrier::Network,
            Span::Process if shares_enough => Carrier::SharedMemory,
            Span::Process => Carrier::Kernel,
        }
    }

    /// The memory that all processes share, each piece once.
    fn common(&self) -> Vec<Mapping> {
        let Some((first, others)) = self.shared.split_first() else { return Vec::new() };
        let ids = |process: &Vec<Mapping>| {
            process.iter().map(|mapping| mapping.id.clone()).collect::<BTreeSet<_>>()
        };
        let others: Vec<BTreeSet<String>> = others.iter().map(ids).collect();
        let mut common: Vec<Mapping> = first
            .iter()
            .filter(|mapping| others.iter().all(|other| other.contains(&mapping.id)))
            .cloned()
            .collect();
        common.sort();
        common
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(id: &str, bytes: u64) -> Mapping {
        Mapping { id: id.into(), bytes, name: format!("/dev/shm/{id}") }
    }

    fn carrier(loopback: f64, sandboxed: bool, shared: &[Vec<Mapping>]) -> String {
        carrier_with(true, loopback, sandboxed, shared)
    }

    fn carrier_with(
        sockets: bool,
        loopback: f64,
        sandboxed: bool,
        shared: &[Vec<Mapping>],
    ) -> String {
        let evidence = Evidence {
            declared: Some(Carrier::SharedMemory),
            span: Span::Process,
            sandboxed,
            apart: false,
            payload: 1000,
            loopback_bytes_per_message: loopback,
            has_network_sockets: sockets,
            shared,
        };
        evidence.path().carrier
    }

    #[test]
    fn what_carried_a_message_follows_from_the_evidence() {
        let both = [vec![shared("a", 4096)], vec![shared("a", 4096), shared("b", 4096)]];
        assert_eq!(carrier(0.0, true, &both), "shared-memory");
        assert_eq!(carrier(1050.0, true, &both), "network", "it fell back");
        assert_eq!(carrier(1050.0, false, &both), "shared-memory", "the traffic may be another's");
        let apart = [vec![shared("a", 4096)], vec![shared("b", 4096)]];
        assert_eq!(carrier(0.0, true, &apart), "kernel");
        assert_eq!(carrier(1050.0, false, &apart), "network");
        assert_eq!(carrier_with(false, 1050.0, false, &apart), "kernel", "it is another's traffic");
        let small = [vec![shared("a", 512)], vec![shared("a", 512)]];
        assert_eq!(carrier(0.0, true, &small), "kernel", "no message fits into it");
    }

    #[test]
    fn a_socket_of_the_network_is_found() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(has_network_socket());
        drop(socket);
        let line = "  1: 0100007F:0277 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 4242 1";
        assert_eq!(inode(line).as_deref(), Some("4242"));
    }

    #[test]
    fn a_line_of_the_system_is_read() {
        let line = "7f00-8f00 rw-s 00000000 00:01 42    /memfd:ring (deleted)";
        let mapping = mapping(line).unwrap();
        assert_eq!((mapping.id.as_str(), mapping.bytes), ("00:01 42", 0x1000));
        assert_eq!(mapping.name, "/memfd:ring");
        assert!(super::mapping("7f00-8f00 rw-p 00000000 00:01 42").is_none());
    }
}
