//! An endpoint whose messages go through the library's own buffers and a socket.

use std::{collections::BTreeMap, mem};

use bytes::{Bytes, BytesMut};
use ipcmark_transport::{Endpoint, Error, Settings, Step};
use zenoh::bytes::ZBytes;

use crate::port::Port;

/// One endpoint.
pub struct CopiedEnd<P> {
    /// The taken message.
    taken: ZBytes,
    /// A message that arrived in several parts, reassembled.
    whole: Vec<u8>,
    is_in_parts: bool,
    /// Room for the message on loan. The library holds a reference to it while it copies it into its queue.
    room: BytesMut,
    room_len: usize,
    port: P,
    configuration: BTreeMap<String, String>,
}

impl<P: Port> CopiedEnd<P> {
    /// Opens it, with the port that `connect` opens.
    pub fn open(
        settings: &Settings,
        configuration: BTreeMap<String, String>,
        connect: impl FnOnce() -> Result<P, Error>,
    ) -> Result<Self, Error> {
        // Written with non-zero bytes, so that every page is present.
        let (room, mut whole) = (vec![1; settings.payload], vec![1; settings.payload]);
        whole.clear();
        Ok(Self {
            taken: ZBytes::default(),
            whole,
            is_in_parts: false,
            room: BytesMut::from(Bytes::from(room)),
            room_len: 0,
            port: connect()?,
            configuration,
        })
    }

    /// Reassembles a message that the library split for its batches, as a program must that reads it as one slice.
    #[inline]
    fn settle(&mut self) {
        self.is_in_parts = self.taken.slices().nth(1).is_some();
        if self.is_in_parts {
            self.whole.clear();
            self.taken.slices().for_each(|part| self.whole.extend_from_slice(part));
        }
    }
}

impl<P: Port> Endpoint for CopiedEnd<P> {
    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.room_len = len;
        Ok(Step::Done)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        &mut self.room[..self.room_len]
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        if !self.port.has_room() {
            return Ok(Step::WouldBlock);
        }
        let room = mem::take(&mut self.room).freeze();
        let sent = self.port.send(ZBytes::from(room.slice(..self.room_len)));
        // The library has released it, unless it sends it later: then it keeps its own reference.
        self.room = room.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        sent
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        let Some(message) = self.port.receive()? else {
            return Ok(Step::WouldBlock);
        };
        self.taken = message;
        self.settle();
        Ok(Step::Done)
    }

    #[inline]
    fn message(&self) -> &[u8] {
        if self.is_in_parts { &self.whole } else { self.taken.slices().next().unwrap_or(&[]) }
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.taken = ZBytes::default();
        self.port.release();
        Ok(())
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        self.configuration.clone()
    }
}
