//! The 16 bytes at the start of every message, and the bytes after them.

use ipcmark_payload::{sequence, word};
use ipcmark_transport::{Error, MIN_PAYLOAD};

/// The first bytes of a message: 8 of sequence number, 4 of flags, 4 of length, in this order, in the machine's own
/// byte order (the endpoints agree on it when they meet).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub seq: u64,
    pub flags: u32,
}

/// The message comes from a follower. Without this flag, a process that reads back its own message would look like
/// a very fast transport.
pub(crate) const FROM_FOLLOWER: u32 = 1;
/// Every byte after the head follows the [`sequence`] of its seed and must be checked.
pub(crate) const VERIFY: u32 = 1 << 1;
/// One message of a burst; not answered.
pub(crate) const BURST: u32 = 1 << 2;
/// The follower must send a burst before it answers.
pub(crate) const ASK_BURST: u32 = 1 << 3;
/// After its answer, the first follower takes part in a probe.
pub(crate) const PROBE: u32 = 1 << 4;
/// After its answer, the follower sleeps until the leader wakes it: the end of the turn whose number is in the flags.
pub(crate) const SLEEP: u32 = 1 << 5;
/// After its answer, the first follower takes part in a clock comparison.
pub(crate) const CLOCKS: u32 = 1 << 6;
/// The following messages are marked, in batches of two to the power of the exponent in these flags.
pub(crate) const BEGIN: u32 = 1 << 7;
/// One of the marked messages, not answered.
pub(crate) const STREAM: u32 = 1 << 8;
/// One of the marked messages, answered.
pub(crate) const MARKED: u32 = 1 << 9;
/// After its answer, the follower sends its marks.
pub(crate) const COLLECT: u32 = 1 << 10;

/// Each follower must stream messages before it answers: two to the power of the exponent in these flags.
pub(crate) const DEMAND: u32 = 1 << 11;

/// From this bit on, the flags of an answer hold the number of the follower that sent it.
const NUMBER_SHIFT: u32 = 16;

/// The flags of this follower's answers.
pub(crate) fn from_follower(number: u32) -> u32 {
    FROM_FOLLOWER | number << NUMBER_SHIFT
}

/// The flags of the message that ends this turn.
pub(crate) fn sleep(turn: u32) -> u32 {
    SLEEP | turn << NUMBER_SHIFT
}

/// True if these flags of a message that ends a turn are those of this turn.
pub(crate) fn ends_turn(flags: u32, turn: u32) -> bool {
    flags == sleep(turn)
}

/// The flags of the message that begins batches of two to the power of `exponent`.
pub(crate) fn begin(exponent: u32) -> u32 {
    BEGIN | exponent << NUMBER_SHIFT
}

/// The exponent in the flags of a message that begins batches.
pub(crate) fn exponent(flags: u32) -> u32 {
    flags >> NUMBER_SHIFT
}

/// The flags of the message that demands two to the power of `exponent` messages from each follower.
pub(crate) fn demand(exponent: u32) -> u32 {
    DEMAND | exponent << NUMBER_SHIFT
}

/// The exponent of a demand, if a message with these flags is one.
pub(crate) fn demanded(flags: u32) -> Option<u32> {
    (flags & DEMAND != 0).then(|| exponent(flags))
}

/// The number of the follower that sent an answer with these flags.
#[inline(always)]
pub(crate) fn follower_number(flags: u32) -> usize {
    (flags >> NUMBER_SHIFT) as usize
}

impl Head {
    #[inline(always)]
    pub(crate) fn write(self, room: &mut [u8]) {
        let len = room.len() as u32;
        let head: &mut [u8; MIN_PAYLOAD] = (&mut room[..MIN_PAYLOAD]).try_into().expect("16 bytes");
        head[..8].copy_from_slice(&self.seq.to_ne_bytes());
        head[8..12].copy_from_slice(&self.flags.to_ne_bytes());
        head[12..].copy_from_slice(&len.to_ne_bytes());
    }

    /// True if `message` has this head and this length.
    #[inline(always)]
    pub(crate) fn is_of(self, message: &[u8], len: usize) -> bool {
        message.len() == len && Self::read(message) == Some(self)
    }

    /// Reads the head; `None` if the message is too short for one, or if the length in it differs from the length
    /// that arrived.
    #[inline(always)]
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let head: &[u8; MIN_PAYLOAD] = message.get(..MIN_PAYLOAD)?.try_into().ok()?;
        let seq = u64::from_ne_bytes(head[..8].try_into().ok()?);
        let flags = u32::from_ne_bytes(head[8..12].try_into().ok()?);
        let len = u32::from_ne_bytes(head[12..].try_into().ok()?);
        (len as usize == message.len()).then_some(Self { seq, flags })
    }
}

/// The bytes of a payload that are written and read in the timed part; chosen at compile time.
pub(crate) trait TouchPolicy {
    /// Writes a message.
    fn write(head: Head, room: &mut [u8]);
    /// Reads the bytes after the head that [`TouchPolicy::write`] wrote; false if one differs.
    fn read(head: Head, message: &[u8]) -> bool;
}

/// Touches only the head, as iceperf does.
pub(crate) struct HeadOnly;

/// Touches every byte.
pub(crate) struct WholeMessage;

impl TouchPolicy for HeadOnly {
    #[inline(always)]
    fn write(head: Head, room: &mut [u8]) {
        head.write(room);
    }

    /// Every loop checks the head itself.
    #[inline(always)]
    fn read(_: Head, _: &[u8]) -> bool {
        true
    }
}

impl TouchPolicy for WholeMessage {
    #[inline(always)]
    fn write(head: Head, room: &mut [u8]) {
        head.write(room);
        word::fill(body_word(head.seq), &mut room[MIN_PAYLOAD..]);
    }

    #[inline(always)]
    fn read(head: Head, message: &[u8]) -> bool {
        word::is_filled(body_word(head.seq), &message[MIN_PAYLOAD..])
    }
}

/// A word that differs from message to message, in every byte.
#[inline(always)]
fn body_word(seq: u64) -> u64 {
    (seq & 0xff).wrapping_add(1).wrapping_mul(0x0101_0101_0101_0101)
}

/// Writes a message whose bytes after the head will all be checked.
pub(crate) fn write_checked(head: Head, seed: u64, room: &mut [u8]) {
    head.write(room);
    sequence::fill(message_seed(head, seed), &mut room[MIN_PAYLOAD..]);
}

/// Checks a message that [`write_checked`] wrote, byte by byte.
pub(crate) fn check(head: Head, seed: u64, message: &[u8]) -> Result<(), Error> {
    let body = &message[MIN_PAYLOAD..];
    match sequence::first_difference(message_seed(head, seed), body) {
        None => Ok(()),
        Some(at) => Err(Error::new(
            "verify",
            format!("message {} of {} bytes", head.seq, message.len()),
            format_args!("byte {} is not what was sent: the transport corrupts", at + MIN_PAYLOAD),
        )),
    }
}

/// The seed includes sequence number and sender, so that a misplaced message, or a process's own message, has wrong
/// bytes.
fn message_seed(head: Head, seed: u64) -> u64 {
    let from = (head.flags >> NUMBER_SHIFT, head.flags & FROM_FOLLOWER);
    seed ^ head.seq.rotate_left(17) ^ u64::from(from.1) << 63 ^ u64::from(from.0) << 40
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_reads_back_as_it_was_written() {
        let head = Head { seq: u64::MAX - 3, flags: SLEEP | FROM_FOLLOWER };
        let mut message = [0; 40];
        head.write(&mut message);
        assert_eq!(Head::read(&message), Some(head));
        assert_eq!(Head::read(&message[..39]), None, "a message cut short has the wrong length");
        assert_eq!(Head::read(&message[..15]), None);
        assert!(head.is_of(&message, 40) && !head.is_of(&message, 39));
        assert!(!head.is_of(&message[..39], 39) && !head.is_of(&message[..39], 40));
        assert!(!Head { seq: 1, ..head }.is_of(&message, 40));
    }

    #[test]
    fn touch_all_sees_every_changed_byte_and_another_message() {
        for len in [16, 17, 23, 24, 100] {
            let head = Head { seq: 7, flags: 0 };
            let mut message = vec![0xee; len];
            WholeMessage::write(head, &mut message);
            assert!(WholeMessage::read(head, &message));
            let other = Head { seq: 8, ..head };
            assert_eq!(WholeMessage::read(other, &message), len == MIN_PAYLOAD);
            for at in MIN_PAYLOAD..len {
                let mut wrong = message.clone();
                wrong[at] ^= 0x10;
                assert!(!WholeMessage::read(head, &wrong), "byte {at} of {len}");
            }
        }
    }

    #[test]
    fn a_checked_message_is_good_only_for_its_number_direction_and_run() {
        let head = Head { seq: 7, flags: VERIFY };
        let mut message = vec![0; 64];
        write_checked(head, 1, &mut message);
        assert!(check(head, 1, &message).is_ok());
        assert!(check(Head { seq: 8, ..head }, 1, &message).is_err());
        assert!(check(Head { flags: VERIFY | FROM_FOLLOWER, ..head }, 1, &message).is_err());
        assert!(check(head, 2, &message).is_err());
        let [first, third] = [0, 2].map(|n| Head { seq: 7, flags: VERIFY | from_follower(n) });
        write_checked(third, 1, &mut message);
        assert!(check(third, 1, &message).is_ok() && check(first, 1, &message).is_err());
        assert_eq!(follower_number(third.flags), 2);
    }
}
