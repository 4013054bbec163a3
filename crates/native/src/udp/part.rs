//! The parts of a message: one datagram each, with a header.
//!
//! A datagram carries a header and at most [`DATA`] bytes of the message. The bytes of all parts are
//! contiguous in the buffers of both ends; a header stands directly before its own bytes, so it
//! overwrites bytes of the part before, while the datagram is being sent or received.

/// The most message bytes in a datagram: with the header less than 65507, UDP's limit, and a
/// multiple of 16.
pub const DATA: usize = 65_488;

/// The size of the header in bytes.
pub const HEAD: usize = 16;

/// The most that the kernel may charge to the receive buffer for one part: it rounds a datagram and
/// its bookkeeping up to the next power of two.
const COST: usize = 2 * 65_536 + 1_024;

/// The header of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartHeader {
    /// The sequence number of the message.
    pub message: u32,
    /// The number of the part in the message.
    pub index: u32,
    /// The length of the whole message in bytes.
    pub total: u32,
}

impl PartHeader {
    /// The header of the part that begins at a byte of a message.
    #[inline]
    pub fn at(byte: usize, message: u32, total: usize) -> Self {
        Self { message, index: (byte / DATA) as u32, total: total as u32 }
    }

    /// Encodes the header.
    #[inline]
    pub fn to_bytes(self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        for (field, value) in bytes.chunks_exact_mut(4).zip([self.message, self.index, self.total])
        {
            field.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// Decodes a header.
    #[inline]
    pub fn from_bytes(bytes: [u8; HEAD]) -> Self {
        let field = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Self { message: field(0), index: field(4), total: field(8) }
    }

    /// The number of message bytes in this part.
    #[inline]
    pub fn len(self) -> usize {
        (self.total as usize).saturating_sub(self.index as usize * DATA).min(DATA)
    }
}

/// The number of parts of a message of `len` bytes.
#[inline]
pub fn count(len: usize) -> u32 {
    len.div_ceil(DATA) as u32
}

/// The receive buffer, in bytes before the kernel doubles it, that holds all parts of a message.
pub fn buffer(payload: usize) -> usize {
    count(payload) as usize * COST / 3 * 2 + COST
}

/// The number of parts that a receive buffer certainly holds, given its size as the kernel reports it.
/// The kernel frees a quarter of the buffer late.
pub fn window(granted: usize) -> u32 {
    ((granted / 4 * 3) / COST).max(1) as u32
}

/// The number of parts of a window after which the receiver reports its progress.
#[inline]
pub fn half(window: u32) -> u32 {
    (window / 2).max(1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_part_fits_a_datagram() {
        const { assert!(HEAD + DATA <= 65_507) };
        assert_eq!(COST, (HEAD + DATA + 28_usize).next_power_of_two() * 2 + 1024);
    }

    #[test]
    fn a_buffer_that_was_granted_holds_the_message() {
        for payload in [16, DATA, DATA + 1, 1 << 20, 4 << 20] {
            assert!(window(2 * buffer(payload)) >= count(payload), "{payload}");
        }
        assert_eq!(window(0), 1);
        assert_eq!(half(1), 1);
    }

    proptest! {
        #[test]
        fn a_head_reads_back_as_it_was_written(
            message in any::<u32>(), index in any::<u32>(), total in any::<u32>(),
        ) {
            let head = PartHeader { message, index, total };
            prop_assert_eq!(PartHeader::from_bytes(head.to_bytes()), head);
        }

        #[test]
        fn the_parts_of_a_message_are_the_message(total in 1_usize..=4 << 20) {
            let mut byte = 0;
            let mut parts = 0;
            while byte < total {
                let head = PartHeader::at(byte, 7, total);
                prop_assert_eq!(head.index, parts);
                byte += head.len();
                parts += 1;
            }
            prop_assert_eq!(byte, total);
            prop_assert_eq!(parts, count(total));
            prop_assert_eq!(PartHeader { message: 7, index: parts, total: total as u32 }.len(), 0);
        }
    }
}
