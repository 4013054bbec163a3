//! The turns of one row in a trial: their number and their lengths.

use std::time::Duration;

use ipcmark_results::Load;

use crate::wire::{Length, TurnLimit};

/// The shortest turn in round trips: a sampled and a clock-free block with the overhead around them.
const TURN_ROUND_TRIPS: f64 = 6.0;

/// The most turns of a row in one trial.
const MOST_TURNS: f64 = 2000.0;

/// A row whose messages are far apart has at least this many in a trial.
const FEWEST_MESSAGES: f64 = 16.0;

/// The turns of one row in one trial.
#[derive(Debug, Default)]
pub(super) struct Turns {
    pub count: u32,
    done: u32,
    /// Samples still wanted; unlimited if the length is a time.
    samples: u64,
    time_ns: u64,
    pub round_trip_ns: f64,
}

impl Turns {
    /// As many turns as needed for a round trip of about `round_trip_ns`. A load that pauses has one turn, because
    /// it must find the machine in the state that its pauses cause.
    pub(super) fn of(length: Length, round_trip_ns: f64, turn: Duration, load: Load) -> Self {
        if let Some(gap_ns) = load.gap_ns() {
            return Self::paced(length, round_trip_ns, load, gap_ns);
        }
        let turn_ns = (turn.as_nanos() as f64).max(TURN_ROUND_TRIPS * round_trip_ns);
        let (samples, time_ns) = match length {
            Length::Time(time) => (u64::MAX, time.as_nanos() as f64),
            // If there are clock-free round trips, they are half of all.
            Length::RoundTrips(samples) => (samples, 2.0 * samples as f64 * round_trip_ns),
        };
        let count = (time_ns / turn_ns).round().clamp(1.0, MOST_TURNS) as u32;
        let time_ns = match length {
            Length::Time(_) => (time_ns / f64::from(count)) as u64,
            Length::RoundTrips(_) => u64::MAX,
        };
        Self { count, done: 0, samples, time_ns, round_trip_ns }
    }

    /// One turn for everything: an endpoint's work around a turn is not the transport's.
    pub(super) fn one(length: Length, round_trip_ns: f64) -> Self {
        let (samples, time_ns) = match length {
            Length::Time(time) => (u64::MAX, time.as_nanos() as u64),
            Length::RoundTrips(samples) => (samples, u64::MAX),
        };
        Self { count: 1, done: 0, samples, time_ns, round_trip_ns }
    }

    fn paced(length: Length, round_trip_ns: f64, load: Load, gap_ns: f64) -> Self {
        let (samples, time_ns) = match (length, load) {
            (Length::Time(time), Load::Trace { .. }) => (u64::MAX, time.as_nanos() as f64),
            (Length::Time(time), _) => {
                (u64::MAX, (FEWEST_MESSAGES * gap_ns).max(time.as_nanos() as f64))
            }
            (Length::RoundTrips(count), Load::Rate { .. }) => {
                // Random arrivals take longer or shorter; no message is dropped for that.
                let count_and_more = count as f64 + 6.0 * (count as f64).sqrt() + 10.0;
                (count, count_and_more * gap_ns)
            }
            (Length::RoundTrips(count), _) => (count, u64::MAX as f64),
        };
        // The pause is added, because a count takes far longer with pauses than its round trips alone.
        let round_trip_ns = round_trip_ns + gap_ns;
        Self { count: 1, done: 0, samples, time_ns: time_ns as u64, round_trip_ns }
    }

    /// About how many messages a turn has.
    pub(super) fn messages(&self, load: Load) -> u64 {
        let apart_ns = load.gap_ns().unwrap_or(self.round_trip_ns).max(1.0);
        let each = self.samples.div_ceil(u64::from(self.count.max(1)));
        each.min((self.time_ns as f64 / apart_ns) as u64)
    }

    /// The turn of this row at index `time` of the round's `times`, if it has one, and its expected duration: rows
    /// with fewer turns have them evenly spread.
    pub(super) fn next(&mut self, time: u32, times: u32) -> Option<(TurnLimit, Duration)> {
        let due = u64::from(time + 1) * u64::from(self.count) / u64::from(times);
        if u64::from(self.done) >= due {
            return None;
        }
        let left = u64::from(self.count - self.done);
        self.done += 1;
        let samples = match self.samples {
            u64::MAX => u64::MAX,
            wanted => {
                let share = wanted.div_ceil(left);
                self.samples -= share;
                share
            }
        };
        let by_count = 3.0 * samples as f64 * self.round_trip_ns;
        let by_time = 1.5 * self.time_ns as f64;
        let expected = Duration::from_nanos(by_count.min(by_time) as u64);
        Some((TurnLimit { number: time, time_ns: self.time_ns, samples }, expected))
    }
}

#[cfg(test)]
mod tests {
    use ipcmark_results::Arrivals;

    use super::*;

    /// The length of a turn of round trips.
    const TURN: Duration = Duration::from_millis(5);

    #[test]
    fn a_turn_has_as_many_messages_as_its_time_or_its_count_allows() {
        let second = Length::Time(Duration::from_secs(1));
        assert_eq!(Turns::of(second, 50_000.0, TURN, Load::Closed).messages(Load::Closed), 100);
        let paced = Load::Rate { per_second: 10_000, arrivals: Arrivals::Fixed };
        assert_eq!(Turns::of(second, 50_000.0, TURN, paced).messages(paced), 10_000);
        let count = Length::RoundTrips(1000);
        assert_eq!(Turns::of(count, 50_000.0, TURN, paced).messages(paced), 1000);
        assert_eq!(Turns::of(count, 50_000.0, TURN, Load::Closed).messages(Load::Closed), 50);
    }

    fn limits(mut turns: Turns, times: u32) -> Vec<Option<TurnLimit>> {
        (0..times).map(|time| turns.next(time, times).map(|(limit, _)| limit)).collect()
    }

    #[test]
    fn a_time_is_divided_into_turns_and_a_slow_row_has_fewer_of_them() {
        let fast = Turns::of(Length::Time(Duration::from_millis(100)), 200.0, TURN, Load::Closed);
        assert_eq!((fast.count, fast.time_ns), (20, 5_000_000));
        let slow = Turns::of(Length::Time(Duration::from_millis(100)), 5e6, TURN, Load::Closed);
        assert_eq!(slow.count, 3);
        let spread = limits(slow, 20);
        let at: Vec<usize> = (0..20).filter(|time| spread[*time].is_some()).collect();
        assert_eq!(at, [6, 13, 19]);
    }

    #[test]
    fn a_count_is_divided_into_turns_and_nothing_is_left_over() {
        for (count, round_trip_ns) in [(1, 100.0), (1000, 1e5), (999, 1e6), (100_000, 60_000.0)] {
            let turns = Turns::of(Length::RoundTrips(count), round_trip_ns, TURN, Load::Closed);
            let times = turns.count;
            let samples: u64 =
                limits(turns, times).iter().flatten().map(|limit| limit.samples).sum();
            assert_eq!(samples, count);
        }
    }
}
