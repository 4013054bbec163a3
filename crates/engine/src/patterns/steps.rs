//! The steps of every loop: send a message, receive one.

use std::time::Duration;

use ipcmark_machine::clock::now_ns;
use ipcmark_transport::{Endpoint, Error, Step};

use super::{
    losses::LossTimeout,
    message::{FROM_FOLLOWER, Head, TouchPolicy, VERIFY, check, write_checked},
};
use crate::wire::TurnLimit;

/// A clock-free block looks at the clock once in this many round trips, so that a block that meets a bad moment of
/// the machine ends: a look costs less than a thousandth of them.
const ROUND_TRIPS_A_LOOK: u64 = 256;

/// A clock-free block that takes longer ends at the next look.
const LONGEST_BLOCK: Duration = Duration::from_millis(20);

/// A clock-free block.
pub(super) struct ClockFree {
    pub round_trips: u64,
    pub elapsed_ns: u64,
}

/// Times `count` round trips with one clock reading at each end; fewer if they take far longer than a block should.
/// Small enough to be inlined into each pattern's loop.
#[inline(always)]
pub(super) fn clock_free(
    count: u64,
    mut round_trip: impl FnMut() -> Result<(), Error>,
) -> Result<ClockFree, Error> {
    let start = now_ns();
    let mut done = 0;
    loop {
        let most = (count - done).min(ROUND_TRIPS_A_LOOK);
        for _ in 0..most {
            round_trip()?;
        }
        done += most;
        if done == count {
            break;
        }
        if now_ns() - start > LONGEST_BLOCK.as_nanos() as u64 {
            break;
        }
    }
    Ok(ClockFree { round_trips: done, elapsed_ns: now_ns() - start })
}

/// The result of a sampled block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sampled {
    /// Slots that received a time.
    pub samples: usize,
    /// Round trips, or messages.
    pub events: u64,
    /// Their total time.
    pub elapsed_ns: u64,
    /// The share of the wanted events that this block used up: more than its events for a stream, of which only a
    /// part counts.
    pub spent: u64,
}

/// Times round trips one by one: the end of one is the start of the next.
#[inline(always)]
pub(super) fn sampled(
    slots: &mut [u64],
    wanted: u64,
    length_ns: u64,
    round_trip: impl FnMut() -> Result<(), Error>,
) -> Result<Sampled, Error> {
    let most = slots.len().min(wanted as usize);
    let samples = timed(&mut slots[..most], length_ns, round_trip)?;
    let elapsed_ns = slots[..samples].iter().sum();
    let events = samples as u64;
    Ok(Sampled { samples, events, elapsed_ns, spent: events })
}

#[inline(always)]
fn timed(
    slots: &mut [u64],
    length_ns: u64,
    mut round_trip: impl FnMut() -> Result<(), Error>,
) -> Result<usize, Error> {
    let mut start = now_ns();
    let until = start.saturating_add(length_ns);
    for (at, slot) in slots.iter_mut().enumerate() {
        round_trip()?;
        let end = now_ns();
        *slot = end - start;
        start = end;
        if end >= until {
            return Ok(at + 1);
        }
    }
    Ok(slots.len())
}

/// Repeats round trips for a while, so that caches, branch predictors, frequency and scheduler settle; returns the
/// approximate time per round trip, in nanoseconds.
pub(super) fn warm_up(
    limit: TurnLimit,
    mut round_trip: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
    let start = now_ns();
    let (mut done, mut elapsed) = (0, 0);
    while done == 0 || (done < limit.samples && elapsed < limit.time_ns) {
        round_trip()?;
        done += 1;
        elapsed = now_ns() - start;
    }
    Ok(elapsed.max(1) as f64 / done as f64)
}

// Attempts are repeated until they are done; the endpoint knows the pause between two. Each has a loop of its own: an
// attempt that a common loop got as an argument became a function that was not inlined into every pattern's loop.

/// Gets room for a message of `len` bytes.
#[inline(always)]
fn loan<E: Endpoint + ?Sized>(end: &mut E, len: usize) -> Result<(), Error> {
    while end.loan(len)? == Step::WouldBlock {
        end.pause();
    }
    Ok(())
}

/// Publishes the message on loan.
#[inline(always)]
fn publish<E: Endpoint + ?Sized>(end: &mut E) -> Result<(), Error> {
    while end.publish()? == Step::WouldBlock {
        end.pause();
    }
    Ok(())
}

/// Takes the next message.
#[inline(always)]
pub(super) fn take<E: Endpoint + ?Sized>(end: &mut E) -> Result<(), Error> {
    while end.take()? == Step::WouldBlock {
        end.pause();
    }
    Ok(())
}

/// Takes the next message, but calls `give_up` from time to time; false if that returned true.
#[inline(always)]
pub(super) fn take_unless<E: Endpoint + ?Sized>(
    loss_timeout: &mut LossTimeout,
    end: &mut E,
    mut give_up: impl FnMut(&mut LossTimeout) -> bool,
) -> Result<bool, Error> {
    while end.take()? == Step::WouldBlock {
        if loss_timeout.look() && give_up(loss_timeout) {
            return Ok(false);
        }
        end.pause();
    }
    Ok(true)
}

/// Sends one message of `len` bytes, touched as `T` defines.
#[inline(always)]
pub(super) fn send<E: Endpoint + ?Sized, T: TouchPolicy>(
    end: &mut E,
    len: usize,
    head: Head,
) -> Result<(), Error> {
    loan(end, len)?;
    T::write(head, end.room());
    publish(end)
}

/// Sends one message whose bytes will all be checked.
pub(super) fn send_checked<E: Endpoint + ?Sized>(
    end: &mut E,
    len: usize,
    head: Head,
    seed: u64,
) -> Result<(), Error> {
    loan(end, len)?;
    write_checked(head, seed, end.room());
    publish(end)
}

/// Reads and checks the message taken, as its flags demand, releases it and returns its head.
#[inline(always)]
pub(super) fn read<E: Endpoint + ?Sized, T: TouchPolicy>(
    end: &mut E,
    len: usize,
    seed: u64,
) -> Result<Head, Error> {
    let message = end.message();
    let head = match Head::read(message) {
        Some(head) if message.len() == len => head,
        _ => return Err(wrong_length(message, len)),
    };
    if head.flags & VERIFY != 0 {
        check(head, seed, message)?;
    } else if !T::read(head, message) {
        return Err(corrupt(head));
    }
    end.release()?;
    Ok(head)
}

/// The same for an answer to the message `seq` of an unreliable transport. A late answer to an earlier message is
/// accepted, although that message can have had another length.
#[inline(always)]
pub(super) fn read_answer<E: Endpoint + ?Sized, T: TouchPolicy>(
    end: &mut E,
    len: usize,
    seed: u64,
    seq: u64,
) -> Result<Head, Error> {
    match read::<E, T>(end, len, seed) {
        Err(error) => release_late(end, len, seq)?.ok_or(error),
        head => head,
    }
}

/// Releases the message taken if it has another length than `len` and answers a message before `seq`; returns its head.
#[cold]
fn release_late<E: Endpoint + ?Sized>(
    end: &mut E,
    len: usize,
    seq: u64,
) -> Result<Option<Head>, Error> {
    let message = end.message();
    let is_late = |head: &Head| head.seq < seq && message.len() != len;
    let head = Head::read(message).filter(is_late);
    head.map(|head| end.release().map(|()| head)).transpose()
}

#[cold]
fn wrong_length(message: &[u8], len: usize) -> Error {
    let cause = format!("{} bytes arrived: the transport truncates or corrupts", message.len());
    Error::new("receive", format!("a message of {len} bytes"), cause)
}

/// The error for a message of which a byte was changed.
#[cold]
pub(super) fn corrupt(head: Head) -> Error {
    let cause = "a byte is not what was sent: the transport corrupts";
    Error::new("receive", format!("message {}", head.seq), cause)
}

/// The error for a message that is not the one expected.
#[cold]
pub(super) fn unexpected(head: Head, expected: Head) -> Error {
    let own = (head.flags ^ expected.flags) & FROM_FOLLOWER != 0;
    let cause = if own {
        "the process took its own message back: both directions share one queue".into()
    } else if head.seq <= expected.seq {
        format!("message {} came again: the transport duplicates or reorders", head.seq)
    } else {
        format!("message {} came instead: the transport loses or reorders", head.seq)
    };
    Error::new("receive", format!("message {}", expected.seq), cause)
}

/// Makes `count` round trips; returns the time from the start of the first to the end of the first that was completed.
pub(super) fn first_of(
    count: u64,
    mut round_trip: impl FnMut() -> Result<bool, Error>,
) -> Result<Option<u64>, Error> {
    let (start, mut first_ns) = (now_ns(), None);
    for _ in 0..count {
        if round_trip()? && first_ns.is_none() {
            first_ns = Some(now_ns() - start);
        }
    }
    Ok(first_ns)
}

/// The number of round trips that are checked byte by byte, for messages of this length.
pub(super) fn checked_messages(len: usize, is_thorough: bool) -> u64 {
    if is_thorough && len <= 65536 { 32 } else { 4 }
}

/// The number of messages in a burst: enough to fill a queue and to wrap a ring around.
pub(super) fn burst_messages(len: usize) -> u64 {
    if len <= 65536 { 64 } else { 6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::message::WholeMessage;
    use std::thread;

    /// An endpoint with one message, which is never released.
    struct Mailbox(Vec<u8>);

    impl Endpoint for Mailbox {
        fn loan(&mut self, _: usize) -> Result<Step, Error> {
            Ok(Step::Done)
        }
        fn room(&mut self) -> &mut [u8] {
            &mut self.0
        }
        fn publish(&mut self) -> Result<Step, Error> {
            Ok(Step::Done)
        }
        fn take(&mut self) -> Result<Step, Error> {
            Ok(Step::Done)
        }
        fn message(&self) -> &[u8] {
            &self.0
        }
        fn release(&mut self) -> Result<(), Error> {
            Ok(())
        }
    }

    /// An answer that was lost costs its patience until the next one.
    #[test]
    fn the_first_round_trip_is_the_first_that_ends() {
        let mut answers = [false, true, true].into_iter();
        let first = first_of(3, || {
            thread::sleep(Duration::from_millis(2));
            Ok(answers.next().unwrap())
        });
        let first_ns = first.unwrap().unwrap();
        assert!((4_000_000..).contains(&first_ns), "{first_ns}");
        assert_eq!(answers.next(), None);
        assert_eq!(first_of(2, || Ok(false)).unwrap(), None);
    }

    /// Regression: with a trace, the row of a transport that may lose messages failed when an answer came so late that
    /// it had been given up.
    #[test]
    fn a_late_answer_may_have_another_length() {
        let mut message = vec![0; 616];
        let head = Head { seq: 6, flags: FROM_FOLLOWER };
        WholeMessage::write(head, &mut message);
        let mut end = Mailbox(message);
        let mut read = |len, seq| read_answer::<_, WholeMessage>(&mut end, len, 1, seq);
        assert_eq!(read(16, 7).unwrap(), head, "it answers an earlier message");
        assert_eq!(read(616, 6).unwrap(), head);
        for seq in [5, 6] {
            let error = read(16, seq).unwrap_err().to_string();
            assert!(error.contains("616 bytes arrived"), "{seq}: {error}");
        }
        end.0[100] ^= 1;
        let error = read_answer::<_, WholeMessage>(&mut end, 616, 1, 7).unwrap_err();
        assert!(
            error.to_string().contains("corrupts"),
            "its own length, and another byte: {error}"
        );
    }

    fn nothing() -> Result<(), Error> {
        Ok(())
    }

    fn wait(time: Duration) -> impl FnMut() -> Result<(), Error> {
        move || {
            thread::sleep(time);
            Ok(())
        }
    }

    #[test]
    fn a_clock_free_block_has_the_round_trips_asked_for() {
        for count in [0, 1, ROUND_TRIPS_A_LOOK, ROUND_TRIPS_A_LOOK + 1, 10_000] {
            let mut made = 0;
            let block = clock_free(count, || {
                made += 1;
                Ok(())
            });
            assert_eq!((block.unwrap().round_trips, made), (count, count));
        }
    }

    #[test]
    fn a_disturbed_clock_free_block_ends_early_with_its_count() {
        let block = clock_free(1_000_000, wait(LONGEST_BLOCK / 200)).unwrap();
        assert!(
            block.round_trips < 1_000_000 && block.round_trips.is_multiple_of(ROUND_TRIPS_A_LOOK)
        );
        assert!(block.elapsed_ns > LONGEST_BLOCK.as_nanos() as u64);
    }

    #[test]
    fn a_sampled_block_ends_with_its_slots_or_its_time() {
        let mut slots = [u64::MAX; 100];
        let all = sampled(&mut slots, u64::MAX, u64::MAX, nothing).unwrap();
        assert_eq!((all.samples, all.events, all.elapsed_ns), (100, 100, slots.iter().sum()));
        assert!(slots.iter().all(|slot| *slot < u64::MAX));
        assert_eq!(sampled(&mut slots, 7, u64::MAX, nothing).unwrap().samples, 7);
        let one = sampled(&mut slots, 9, 1, wait(Duration::from_micros(10))).unwrap();
        assert_eq!(one.events, 1, "one is measured however long it takes");
        assert!(slots[0] >= 10_000 && one.elapsed_ns == slots[0]);
        let fails = || Err(Error::new("send", "it", "no"));
        assert!(sampled(&mut slots, 9, u64::MAX, fails).is_err());
    }

    #[test]
    fn a_warm_up_has_one_round_trip_at_least_and_ends_with_its_count_or_its_time() {
        let counted = |samples, time_ns| {
            let mut made = 0;
            let limit = TurnLimit { number: 0, samples, time_ns };
            let about = warm_up(limit, || {
                made += 1;
                thread::sleep(Duration::from_micros(10));
                Ok(())
            });
            assert!(about.unwrap() >= 10_000.0);
            made
        };
        assert_eq!((counted(0, 0), counted(5, u64::MAX), counted(u64::MAX, 1)), (1, 5, 1));
    }

    #[test]
    fn an_unexpected_message_shows_the_fault_of_the_transport() {
        let expected = Head { seq: 5, flags: FROM_FOLLOWER };
        for (seq, flags, words) in [
            (4, FROM_FOLLOWER, "duplicates or reorders"),
            (6, FROM_FOLLOWER, "loses or reorders"),
            (5, 0, "both directions share one queue"),
        ] {
            let error = unexpected(Head { seq, flags }, expected).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
