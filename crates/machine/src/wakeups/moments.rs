//! From the kernel's records to wake-ups.

/// `PERF_RECORD_…`, of linux/perf_event.h.
mod kinds {
    pub(super) const LOST: u32 = 2;
    pub(super) const THROTTLE: u32 = 5;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const LOST_SAMPLES: u32 = 13;
    pub(super) const SWITCH: u32 = 14;
}

/// In `misc` of a switch: the processor turns away from the thread.
const SWITCH_OUT: u16 = 1 << 13;

/// What happened to the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Somebody wakes it.
    Waking,
    /// It begins to run.
    Runs,
    /// It runs no longer.
    Stops,
}

/// A record of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// What happened, and when.
    Moment(u64, Moment),
    /// Others are missing.
    Loss,
    /// Nothing of the thread.
    Other,
}

impl Record {
    /// A record by its kind, its flags and what follows its head: of a sample and of a switch the time alone.
    pub(super) fn parse(kind: u32, misc: u16, body: &[u8]) -> Self {
        let moment = match kind {
            kinds::LOST | kinds::LOST_SAMPLES | kinds::THROTTLE => return Self::Loss,
            kinds::SAMPLE => Moment::Waking,
            kinds::SWITCH if misc & SWITCH_OUT != 0 => Moment::Stops,
            kinds::SWITCH => Moment::Runs,
            _ => return Self::Other,
        };
        let time = body.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
        time.map_or(Self::Loss, |at_ns| Self::Moment(at_ns, moment))
    }
}

/// What each wake-up took, of records of several processors. A thread that was woken before it slept did not have to be
/// waited for: there is none then. Neither is there one where the waker was not seen.
pub(super) fn durations(mut moments: Vec<(u64, Moment)>) -> Vec<u64> {
    // Of one moment those of one processor stay in their order.
    moments.sort_by_key(|(at_ns, _)| *at_ns);
    let (mut woken, mut durations) = (None, Vec::new());
    for (at_ns, moment) in moments {
        match moment {
            Moment::Waking => woken = Some(at_ns),
            Moment::Stops => woken = None,
            Moment::Runs => durations.extend(woken.take().map(|then| at_ns - then)),
        }
    }
    durations
}

#[cfg(test)]
mod tests {
    use super::{Moment::*, *};

    #[test]
    fn a_wake_up_lasts_from_the_waking_until_the_thread_runs() {
        // The waker's processor is read first.
        let moments = vec![(10, Waking), (50, Waking), (13, Runs), (30, Stops), (57, Runs)];
        assert_eq!(durations(moments), [3, 7]);
    }

    #[test]
    fn a_thread_that_did_not_sleep_has_no_wake_up() {
        // Woken while it still ran; then preempted, and back.
        assert_eq!(durations(vec![(10, Waking), (20, Stops), (90, Runs)]), []);
        assert_eq!(durations(vec![(20, Stops), (90, Runs), (95, Stops), (99, Runs)]), []);
        assert_eq!(durations(vec![(10, Waking), (15, Waking), (17, Runs)]), [2]);
        assert_eq!(durations(vec![(10, Waking)]), []);
    }

    #[test]
    fn records_are_known_by_their_kind() {
        let body = 42_u64.to_ne_bytes();
        for (kind, misc, record) in [
            (9, 2, Record::Moment(42, Waking)),
            (14, 0, Record::Moment(42, Runs)),
            (14, 1 << 13, Record::Moment(42, Stops)),
            (14, 1 << 13 | 1 << 14, Record::Moment(42, Stops)),
            (2, 0, Record::Loss),
            (5, 0, Record::Loss),
            (13, 0, Record::Loss),
            (3, 0, Record::Other),
        ] {
            assert_eq!(Record::parse(kind, misc, &body), record, "{kind}");
        }
        assert_eq!(Record::parse(9, 0, &body[..4]), Record::Loss, "it has no time");
    }
}
