//! The content of a check's messages: every byte depends on session, sender, sequence number and
//! length, so a receiver knows the expected content.

use std::fmt;

use crate::failure::Failure;

/// One of the two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The process that sends first.
    Leader,
    /// The process that answers.
    Follower,
}

impl Side {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Leader => "leader",
            Side::Follower => "follower",
        }
    }

    /// The other side.
    pub fn other(self) -> Self {
        match self {
            Side::Leader => Side::Follower,
            Side::Follower => Side::Leader,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The fields in the first sixteen bytes of a message, which also determine the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its session.
    pub session: u16,
    /// Its sender.
    pub sender: Side,
    /// Its sequence number among the messages of its sender, from 0.
    pub sequence: u32,
    /// Its length in bytes.
    pub len: usize,
}

/// Sixteen constant bits in every head: the letters `ip`.
const MARK: u64 = 0x6970;

impl Stamp {
    /// Writes the message into `room`, which has the message's length.
    pub fn fill(self, room: &mut [u8]) {
        let (words, rest) = room.as_chunks_mut::<8>();
        for (index, word) in words.iter_mut().enumerate() {
            *word = self.word(index as u64);
        }
        let last = self.word(words.len() as u64);
        rest.copy_from_slice(&last[..rest.len()]);
    }

    /// Checks that `message` is the one with this stamp, byte by byte.
    pub fn check(self, message: &[u8]) -> Result<(), Failure> {
        if message.len() == self.len && self.first_difference(message).is_none() {
            return Ok(());
        }
        Err(self.explain(message))
    }

    /// Reads the head of `message`, if it is a message of the suite.
    pub fn read(message: &[u8]) -> Option<Self> {
        let (head, rest) = message.split_first_chunk::<8>()?;
        let head = u64::from_ne_bytes(*head);
        let second = u64::from_ne_bytes(*rest.first_chunk::<8>()?);
        let stamp = Self {
            session: (head >> 48) as u16,
            sender: if head >> 32 & 1 == 0 { Side::Leader } else { Side::Follower },
            sequence: head as u32,
            len: usize::try_from(second ^ mix(head)).ok()?,
        };
        (stamp.head() == head).then_some(stamp)
    }

    fn head(self) -> u64 {
        let sender = (self.sender == Side::Follower) as u64;
        u64::from(self.session) << 48
            | (MARK & 0x7fff) << 33
            | sender << 32
            | u64::from(self.sequence)
    }

    /// The eight bytes at `index`: the head, then the length, then numbers that depend on both.
    fn word(self, index: u64) -> [u8; 8] {
        let head = self.head();
        let word = match index {
            0 => head,
            1 => mix(head) ^ self.len as u64,
            _ => mix(head ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        };
        word.to_ne_bytes()
    }

    fn first_difference(self, message: &[u8]) -> Option<usize> {
        // Words of a fixed size are compared as such, not as slices.
        let (words, rest) = message.as_chunks::<8>();
        let mut numbered = words.iter().enumerate();
        let wrong = numbered.position(|(index, seen)| *seen != self.word(index as u64));
        let (index, chunk) = match wrong {
            Some(index) => (index, &words[index][..]),
            None => (words.len(), rest),
        };
        let due = self.word(index as u64);
        let within = chunk.iter().zip(due).position(|(seen, due)| *seen != due);
        within.map(|within| 8 * index + within)
    }

    fn explain(self, message: &[u8]) -> Failure {
        match Self::read(message) {
            Some(seen) if seen.session != self.session => {
                Failure::expected(self, format_args!("{seen} of another session"))
            }
            Some(seen) if seen.sender != self.sender => {
                Failure::expected(self, format_args!("{seen}: an end took its own message"))
            }
            Some(seen) if seen.sequence < self.sequence => {
                Failure::expected(self, format_args!("{seen}: it came twice or late"))
            }
            Some(seen) if seen.sequence > self.sequence => Failure::expected(
                self,
                format_args!("{seen}: the one before is lost or was overtaken"),
            ),
            Some(seen) if seen.len != message.len() => Failure::expected(
                seen,
                format_args!("{} bytes of it: the length changed on the way", message.len()),
            ),
            _ => self.explain_bytes(message),
        }
    }

    fn explain_bytes(self, message: &[u8]) -> Failure {
        let seen = Self { len: message.len(), ..self };
        match seen.first_difference(message) {
            Some(at) => Failure::expected(
                format_args!("byte {at} of {seen} to be {:#04x}", seen.byte(at)),
                format_args!("{:#04x}: it was corrupted", message[at]),
            ),
            None => Failure::expected(self, format_args!("{} bytes", message.len())),
        }
    }

    fn byte(self, at: usize) -> u8 {
        self.word(at as u64 / 8)[at % 8]
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {} of the {} with {} bytes", self.sequence, self.sender, self.len)
    }
}

/// Distributes a number over all 64 bits.
pub fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { session: 7, sender: Side::Leader, sequence: 3, len: 77 };

    fn message(stamp: Stamp) -> Vec<u8> {
        let mut room = vec![0; stamp.len];
        stamp.fill(&mut room);
        room
    }

    fn complaint(message: &[u8]) -> String {
        STAMP.check(message).unwrap_err().to_string()
    }

    #[test]
    fn a_stamp_reads_back_as_written() {
        for len in 16..100 {
            for sender in [Side::Leader, Side::Follower] {
                let stamp = Stamp { len, sender, ..STAMP };
                assert_eq!(Stamp::read(&message(stamp)), Some(stamp));
                stamp.check(&message(stamp)).unwrap();
            }
        }
    }

    #[test]
    fn any_changed_byte_is_detected() {
        for at in 0..STAMP.len {
            let mut bad = message(STAMP);
            bad[at] ^= 0x40;
            assert!(STAMP.check(&bad).is_err(), "byte {at}");
        }
        let mut bad = message(STAMP);
        bad[61] = !bad[61];
        assert!(complaint(&bad).contains("byte 61 of message 3"), "{}", complaint(&bad));
    }

    #[test]
    fn each_defect_has_its_own_description() {
        let other = |stamp| complaint(&message(stamp));
        assert!(other(Stamp { session: 8, ..STAMP }).contains("another session"));
        assert!(other(Stamp { sender: Side::Follower, ..STAMP }).contains("its own message"));
        assert!(other(Stamp { sequence: 2, ..STAMP }).contains("twice or late"));
        assert!(other(Stamp { sequence: 4, ..STAMP }).contains("lost or was overtaken"));
        assert!(complaint(&message(STAMP)[..76]).contains("76 bytes of it"));
        assert!(complaint(&[0; 77]).contains("byte 0"));
        assert!(complaint(b"short").contains("byte 0"));
        assert!(complaint(b"").contains("0 bytes"));
    }
}
