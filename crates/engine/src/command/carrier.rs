//! The carrier of a case's messages, concluded from what its processes observed. A library that cannot do what it
//! was asked for often falls back silently.

use std::collections::BTreeSet;

use ipcmark_results::CarrierEvidence;
use ipcmark_transport::{Carrier, Span};

use crate::wire::{Mapping, PlainText};

/// The most names that are recorded.
const MOST_NAMES: usize = 8;

/// The evidence of how a case's messages travelled.
pub(crate) struct Evidence<'a> {
    /// The transport's declaration.
    pub declared: Option<Carrier>,
    pub span: Span,
    /// True if the interface was the session's own; otherwise its counter includes others' traffic.
    pub sandboxed: bool,
    /// The bytes of the largest message.
    pub payload: usize,
    /// The minimum number of bytes that a message has on average.
    pub least_mean: f64,
    pub loopback_bytes_per_message: f64,
    /// True if every process has a socket that communicates over a network interface.
    pub has_network_sockets: bool,
    /// True if the endpoints are on different hosts.
    pub apart: bool,
    /// The shared memory of each process.
    pub shared: &'a [Vec<Mapping>],
}

impl Evidence<'_> {
    /// The carrier that follows from the evidence.
    pub(crate) fn conclusion(&self) -> CarrierEvidence {
        let common = if self.apart { Vec::new() } else { self.common() };
        let large = common.iter().any(|mapping| mapping.bytes >= self.payload as u64);
        let mut objects: Vec<String> = common
            .iter()
            .map(|mapping| mapping.name.to_string())
            .filter(|n| !n.is_empty())
            .collect();
        objects.dedup();
        objects.truncate(MOST_NAMES);
        CarrierEvidence {
            found: self.carrier(large),
            declared: self.declared,
            loopback_bytes_per_message: self.loopback_bytes_per_message,
            shared_bytes: common.iter().map(|mapping| mapping.bytes).sum(),
            objects,
        }
    }

    fn carrier(&self, shares_enough: bool) -> Carrier {
        // A packet adds a header, and messages are not compressed.
        let on_loopback =
            self.has_network_sockets && self.loopback_bytes_per_message >= self.least_mean * 0.9;
        match self.span {
            Span::None | Span::Thread => Carrier::Process,
            // Identical entries in the tables of two hosts are not the same object.
            Span::Process if self.apart => Carrier::Network,
            Span::Process if on_loopback && (self.sandboxed || !shares_enough) => Carrier::Network,
            Span::Process if shares_enough => Carrier::SharedMemory,
            Span::Process => Carrier::Kernel,
        }
    }

    /// The memory that all processes share, each mapping once.
    fn common(&self) -> Vec<Mapping> {
        let Some((first, others)) = self.shared.split_first() else { return Vec::new() };
        let ids = |process: &Vec<Mapping>| {
            process.iter().map(|mapping| mapping.id.clone()).collect::<BTreeSet<_>>()
        };
        let others: Vec<BTreeSet<PlainText>> = others.iter().map(ids).collect();
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
        Mapping { id: id.into(), bytes, name: format!("/dev/shm/{id}").into() }
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
            least_mean: 1000.0,
            loopback_bytes_per_message: loopback,
            has_network_sockets: sockets,
            shared,
        };
        evidence.conclusion().found.to_string()
    }

    #[test]
    fn the_carrier_follows_from_the_evidence() {
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
}
