//! The messages that an application sent, as recorded by it: an open loop with sizes.

use ipcmark_results::Load;
use ipcmark_transport::MIN_PAYLOAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The most messages in a trace.
pub const MOST_RECORDED: usize = 1_000_000;

/// A recorded trace: for each message, the time since the previous one in nanoseconds, and its size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trace(Vec<(u64, u32)>);

impl Trace {
    /// A trace of messages with their times in nanoseconds since any moment, in any order, and their sizes in
    /// bytes. The gap before the first is the average gap. A message smaller than a head, 16 bytes, is enlarged to
    /// that size.
    ///
    /// # Errors
    /// There are fewer than two messages or more than [`MOST_RECORDED`], or all have the same time: there is no
    /// rate.
    pub fn new(mut recorded: Vec<(u64, u32)>) -> Result<Self, String> {
        if !(2..=MOST_RECORDED).contains(&recorded.len()) {
            let count = recorded.len();
            return Err(format!("2 to {MOST_RECORDED} messages can be played, and it has {count}"));
        }
        recorded.sort_by_key(|(at_ns, _)| *at_ns);
        let length_ns = recorded[recorded.len() - 1].0 - recorded[0].0;
        if length_ns == 0 {
            return Err("all its messages have the same time: it has no rate".into());
        }
        let mean_ns = (length_ns / (recorded.len() as u64 - 1)).max(1);
        let mut before = recorded[0].0;
        let mut messages = Vec::with_capacity(recorded.len());
        for (at_ns, bytes) in recorded {
            messages.push((at_ns - before, bytes.max(MIN_PAYLOAD as u32)));
            before = at_ns;
        }
        messages[0].0 = mean_ns;
        Ok(Self(messages))
    }

    /// The load of this trace.
    pub fn load(&self) -> Load {
        let mut sum = Sha256::new();
        for (gap_ns, bytes) in &self.0 {
            sum.update(gap_ns.to_le_bytes());
            sum.update(bytes.to_le_bytes());
        }
        let sum = sum.finalize();
        Load::Trace {
            messages: self.0.len() as u64,
            span_ns: self.span_ns(),
            bytes: self.0.iter().map(|(_, bytes)| u64::from(*bytes)).sum(),
            digest: u32::from_be_bytes([sum[0], sum[1], sum[2], sum[3]]),
        }
    }

    /// The time that it takes to play all of it.
    pub fn span_ns(&self) -> u64 {
        self.0.iter().fold(0, |span, (gap_ns, _)| span.saturating_add(*gap_ns))
    }

    /// The size of its largest message in bytes.
    pub fn largest(&self) -> usize {
        self.0.iter().map(|(_, bytes)| *bytes as usize).max().unwrap_or(MIN_PAYLOAD)
    }

    /// True if it has messages and endpoints opened for `payload` bytes can carry each of them.
    pub(crate) fn fits(&self, payload: usize) -> bool {
        let sizes = MIN_PAYLOAD..=payload;
        !self.0.is_empty() && self.0.iter().all(|(_, bytes)| sizes.contains(&(*bytes as usize)))
    }

    /// The time before the message of this number and its size; after the last message, the first follows.
    #[inline]
    pub(crate) fn message(&self, number: usize) -> (u64, usize) {
        let (gap_ns, bytes) = self.0[number % self.0.len()];
        (gap_ns, bytes as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_the_times_between_its_messages() {
        let trace = Trace::new(vec![(500, 64), (100, 8), (200, 4096)]).unwrap();
        assert_eq!(trace.0, [(200, 16), (100, 4096), (300, 64)]);
        assert_eq!((trace.span_ns(), trace.largest()), (600, 4096));
        assert_eq!(trace.message(4), (100, 4096), "it begins anew");
        let Load::Trace { messages, span_ns, bytes, .. } = trace.load() else { panic!() };
        assert_eq!((messages, span_ns, bytes), (3, 600, 4176));
        assert!(trace.fits(4096) && !trace.fits(4095));
    }

    #[test]
    fn the_same_messages_at_another_time_of_day_are_the_same_trace() {
        let load = |at, bytes| Trace::new(vec![(at, 64), (at + 10, bytes)]).unwrap().load();
        assert_eq!(load(0, 100), load(1 << 60, 100));
        assert_ne!(load(0, 100), load(0, 101));
    }

    #[test]
    fn traces_without_a_rate_are_rejected() {
        let refused = |recorded: Vec<(u64, u32)>| Trace::new(recorded).unwrap_err();
        assert!(refused(vec![(1, 64)]).ends_with("messages can be played, and it has 1"));
        assert!(refused(vec![(7, 64); 3]).contains("the same time"));
        assert!(
            refused(vec![(7, 64); MOST_RECORDED + 1])
                .ends_with("messages can be played, and it has 1000001")
        );
    }
}
