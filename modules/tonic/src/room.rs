//! Room for the message on loan, in the same memory for every message.

use bytes::{Bytes, BytesMut};

use crate::rpc::Message;

/// The room. The library holds a reference to it until it has serialised the message.
pub struct Room {
    bytes: BytesMut,
    lent: Option<Bytes>,
    len: usize,
}

impl Room {
    pub fn new(payload: usize) -> Self {
        // Written with non-zero bytes, so that every page is present.
        let bytes = BytesMut::from(Bytes::from(vec![1; payload]));
        Self { bytes, lent: None, len: 0 }
    }

    /// Room for a message of this length.
    #[inline]
    pub fn lend(&mut self, len: usize) {
        if let Some(lent) = self.lent.take() {
            // Still shared after a failed call.
            self.bytes = lent.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        }
        self.len = len;
    }

    #[inline]
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// The message that was written.
    #[inline]
    pub fn message(&mut self) -> Message {
        let bytes = std::mem::take(&mut self.bytes).freeze();
        let payload = bytes.slice(..self.len);
        self.lent = Some(bytes);
        Message { payload }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_reused_once_a_message_is_dropped() {
        let mut room = Room::new(100);
        room.lend(100);
        let first = room.bytes().as_ptr();
        drop(room.message());
        room.lend(16);
        room.bytes().fill(7);
        assert_eq!(room.bytes().as_ptr(), first);
        let kept = room.message();
        room.lend(100);
        room.bytes().fill(9);
        assert_eq!(kept.payload, [7; 16][..]);
    }
}
