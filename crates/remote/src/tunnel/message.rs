//! The messages between the two ends of a tunnel.
//!
//! A message is one byte for the kind, followed by
//! - for a frame: the count of its channels, the number and kind of each (4 + 1 bytes), the bytes of the frame;
//! - for data: the number of a channel, and the bytes of one read from it;
//! - for a closure: the number of the closed channel.

use super::channel::DescriptorKind;

/// The bytes of a data message in addition to the data.
pub(super) const DATA_HEAD: usize = 5;

/// A message between the two ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TunnelMessage {
    Frame(Vec<(u32, DescriptorKind)>, Vec<u8>),
    Data(u32, Vec<u8>),
    Closed(u32),
}

impl TunnelMessage {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            TunnelMessage::Frame(channels, frame) => {
                bytes.extend([0, channels.len() as u8]);
                for (number, kind) in channels {
                    bytes.extend(number.to_be_bytes());
                    bytes.push(*kind as u8);
                }
                bytes.extend(frame);
            }
            TunnelMessage::Data(number, data) => {
                bytes.push(1);
                bytes.extend(number.to_be_bytes());
                bytes.extend(data);
            }
            TunnelMessage::Closed(number) => {
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
            return Some(TunnelMessage::Frame(channels, rest.to_vec()));
        }
        let number = take_number(&mut rest)?;
        match kind {
            1 => Some(TunnelMessage::Data(number, rest.to_vec())),
            2 if rest.is_empty() => Some(TunnelMessage::Closed(number)),
            _ => None,
        }
    }
}

fn take_channels(bytes: &mut &[u8]) -> Option<Vec<(u32, DescriptorKind)>> {
    let (count, rest) = bytes.split_first()?;
    *bytes = rest;
    let mut take = || {
        let number = take_number(bytes)?;
        let (kind, rest) = bytes.split_first()?;
        *bytes = rest;
        Some((number, DescriptorKind::from_byte(*kind)?))
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

    fn any_message() -> impl Strategy<Value = TunnelMessage> {
        let channel = (any::<u32>(), prop::sample::select(DescriptorKind::ALL.to_vec()));
        let bytes = || prop::collection::vec(any::<u8>(), 0..200);
        prop_oneof![
            (prop::collection::vec(channel, 0..20), bytes())
                .prop_map(|(channels, frame)| TunnelMessage::Frame(channels, frame)),
            (any::<u32>(), bytes()).prop_map(|(number, data)| TunnelMessage::Data(number, data)),
            any::<u32>().prop_map(TunnelMessage::Closed),
        ]
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(message in any_message()) {
            prop_assert_eq!(TunnelMessage::decode(&message.encode()), Some(message));
        }

        #[test]
        fn garbage_is_no_message_or_reads_back_as_itself(
            bytes in prop::collection::vec(any::<u8>(), 0..300)
        ) {
            if let Some(message) = TunnelMessage::decode(&bytes) {
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
            let _ = TunnelMessage::decode(&bytes);
            let _ = TunnelMessage::decode(&bytes[..at]);
        }
    }
}
