//! The messages between the two ends of a tunnel.
//!
//! A message is one byte for the kind, followed by
//! - for a frame: the count of its channels, the number and kind of each (4 + 1 bytes), the bytes of the frame;
//! - for data: the number of a channel, and the bytes of one read from it;
//! - for a closure: the number of the closed channel.

use super::channel::Kind;

/// The bytes of a data message in addition to the data.
pub(super) const DATA_HEAD: usize = 5;

/// A message between the two ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    Frame(Vec<(u32, Kind)>, Vec<u8>),
    Data(u32, Vec<u8>),
    Closed(u32),
}

impl Message {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Message::Frame(channels, frame) => {
                bytes.extend([0, channels.len() as u8]);
                for (number, kind) in channels {
                    bytes.extend(number.to_be_bytes());
                    bytes.push(*kind as u8);
                }
                bytes.extend(frame);
            }
            Message::Data(number, data) => {
                bytes.push(1);
                bytes.extend(number.to_be_bytes());
                bytes.extend(data);
            }
            Message::Closed(number) => {
                bytes.push(2);
                bytes.extend(number.to_be_bytes());
            }
        }
        bytes
    }

    /// `None` if the bytes are not a message.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, mut rest) = bytes.split_first()?;
        if *kind == 0 {
            let channels = take_channels(&mut rest)?;
            return Some(Message::Frame(channels, rest.to_vec()));
        }
        let number = take_number(&mut rest)?;
        match kind {
            1 => Some(Message::Data(number, rest.to_vec())),
            2 if rest.is_empty() => Some(Message::Closed(number)),
            _ => None,
        }
    }
}

fn take_channels(bytes: &mut &[u8]) -> Option<Vec<(u32, Kind)>> {
    let (count, rest) = bytes.split_first()?;
    *bytes = rest;
    let mut take = || {
        let number = take_number(bytes)?;
        let (kind, rest) = bytes.split_first()?;
        *bytes = rest;
        Some((number, Kind::from_byte(*kind)?))
    };
    (0..*count).map(|_| take()).collect()
}

fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_message() -> impl Strategy<Value = Message> {
        let channel = (any::<u32>(), prop::sample::select(Kind::ALL.to_vec()));
        let bytes = || prop::collection::vec(any::<u8>(), 0..200);
        prop_oneof![
            (prop::collection::vec(channel, 0..20), bytes())
                .prop_map(|(channels, frame)| Message::Frame(channels, frame)),
            (any::<u32>(), bytes()).prop_map(|(number, data)| Message::Data(number, data)),
            any::<u32>().prop_map(Message::Closed),
        ]
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(message in any_message()) {
            prop_assert_eq!(Message::decode(&message.encode()), Some(message));
        }

        #[test]
        fn garbage_is_no_message_or_reads_back_as_itself(
            bytes in prop::collection::vec(any::<u8>(), 0..300)
        ) {
            if let Some(message) = Message::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }

        #[test]
        fn a_truncated_or_changed_message_does_not_panic(
            message in any_message(), cut in any::<prop::sample::Index>(), byte in any::<u8>()
        ) {
            let mut bytes = message.encode();
            let at = cut.index(bytes.len());
            bytes[at] = byte;
            let _ = Message::decode(&bytes);
            let _ = Message::decode(&bytes[..at]);
        }
    }
}
