//! An endpoint that changes its buffers with every message, as the option [`BUFFERS`](ipcmark_transport::BUFFERS)
//! asks for. It has a type of its own, so that the loops of other endpoints are not an instruction longer.

use std::collections::BTreeMap;

use ipcmark_transport::{BUFFERS, COLD, Endpoint, Error, Pattern, Settings, Step};

use crate::wire::WorkingSetReport;

/// The endpoint of a transport whose buffers can be changed.
pub(super) struct Cycling<'a, E>(pub &'a mut E);

/// True if the option asks for several buffers.
pub(super) fn is_asked_for(settings: &Settings) -> bool {
    settings.options.contains_key(BUFFERS.key.as_ref())
}

/// The buffers that a leader found, or those that it was asked to use if its messages were too few to see them all: a
/// transport that has the option uses each of them in turn. `pattern` is that of the pass.
pub(super) fn used(
    found: WorkingSetReport,
    asked: Option<u64>,
    pattern: Pattern,
) -> WorkingSetReport {
    match asked {
        Some(written) if !found.is_complete => {
            // A stream reads no answers; those of round trips can all have been lost while they were looked at.
            let reads = found.read > 0 || pattern == Pattern::Latency;
            let read = if reads { written } else { 0 };
            WorkingSetReport { written, read, is_complete: true }
        }
        _ => found,
    }
}

/// The number of buffers that the options ask for, once it is [`resolved`].
pub(super) fn asked(settings: &Settings) -> Option<u64> {
    settings.number(BUFFERS.key.as_ref())
}

/// The options, with a number in place of the word for cold buffers.
pub(super) fn resolved(
    mut options: BTreeMap<String, String>,
    payload: usize,
) -> Result<BTreeMap<String, String>, Error> {
    if let Some(word) = options.get_mut(BUFFERS.key.as_ref()) {
        let cache = (word == COLD).then(ipcmark_machine::cache::last_level_bytes).flatten();
        let count = crate::buffers::count(word, payload, cache);
        *word = count.map_err(|why| Error::new("make", "the buffers", why))?.to_string();
    }
    Ok(options)
}

impl<E: Endpoint> Endpoint for Cycling<'_, E> {
    #[inline(always)]
    fn pause(&self) {
        self.0.pause();
    }

    #[inline(always)]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.0.loan(len)
    }

    #[inline(always)]
    fn room(&mut self) -> &mut [u8] {
        self.0.room()
    }

    #[inline(always)]
    fn publish(&mut self) -> Result<Step, Error> {
        let step = self.0.publish()?;
        if step == Step::Done {
            self.0.next_source();
        }
        Ok(step)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<Step, Error> {
        self.0.take()
    }

    #[inline(always)]
    fn message(&self) -> &[u8] {
        self.0.message()
    }

    #[inline(always)]
    fn release(&mut self) -> Result<(), Error> {
        self.0.release()?;
        self.0.next_target();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: buffers beyond those that were seen within 20 ms were not counted.
    #[test]
    fn buffers_that_could_not_all_be_seen_are_as_many_as_asked_for() {
        let set = |written, read, is_complete| WorkingSetReport { written, read, is_complete };
        let used = |found, asked| used(found, asked, Pattern::Throughput);
        assert_eq!(used(set(596, 595, false), Some(5000)), set(5000, 5000, true));
        assert_eq!(used(set(596, 0, false), Some(5000)), set(5000, 0, true), "of a stream");
        assert_eq!(used(set(5, 5, true), Some(5)), set(5, 5, true));
        assert_eq!(used(set(1024, 1, false), None), set(1024, 1, false));
        let of_lost_answers = super::used(set(2, 0, false), Some(5), Pattern::Latency);
        assert_eq!(of_lost_answers, set(5, 5, true));
    }
}
