//! An endpoint whose messages go through the library's own buffers and a socket.

use std::{collections::BTreeMap, mem};

use bytes::{Bytes, BytesMut};
use ipcmark_transport::{Endpoint, Error, Rendezvous, Settings, Step};
use zenoh::{bytes::ZBytes, sample::Sample};

use crate::{connection::Connection, options, session::Link};

/// One endpoint.
pub struct CopiedEnd {
    /// The taken message.
    taken: Option<Sample>,
    /// A message that arrived in several parts, reassembled.
    whole: Vec<u8>,
    is_in_parts: bool,
    /// Room for the message on loan. The library holds a reference to it while it copies it into its queue.
    room: BytesMut,
    room_len: usize,
    connection: Connection,
    configuration: BTreeMap<String, String>,
}

impl CopiedEnd {
    pub fn open(
        link: Link,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self, Error> {
        // Written with non-zero bytes, so that every page is present.
        let (room, mut whole) = (vec![1; settings.payload], vec![1; settings.payload]);
        whole.clear();
        let (connection, ()) = Connection::open(link, settings, peers, || Ok(()))?;
        Ok(Self {
            taken: None,
            whole,
            is_in_parts: false,
            room: BytesMut::from(Bytes::from(room)),
            room_len: 0,
            connection,
            configuration: options::noted(link, settings),
        })
    }

    /// Reassembles a message that the library split for its batches, as a program must that reads it as one slice.
    #[inline]
    fn settle(&mut self, sample: &Sample) {
        let payload = sample.payload();
        self.is_in_parts = payload.slices().nth(1).is_some();
        if self.is_in_parts {
            self.whole.clear();
            payload.slices().for_each(|part| self.whole.extend_from_slice(part));
        }
    }
}

impl Endpoint for CopiedEnd {
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
        if !self.connection.flow().has_room() {
            return Ok(Step::WouldBlock);
        }
        let room = mem::take(&mut self.room).freeze();
        let sent = self.connection.send(ZBytes::from(room.slice(..self.room_len)));
        // The library has released it, unless it sends it later: then it keeps its own reference.
        self.room = room.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        sent
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        let Some(sample) = self.connection.receive()? else {
            return Ok(Step::WouldBlock);
        };
        self.settle(&sample);
        self.taken = Some(sample);
        Ok(Step::Done)
    }

    #[inline]
    fn message(&self) -> &[u8] {
        match (&self.taken, self.is_in_parts) {
            (_, true) => &self.whole,
            (Some(sample), false) => sample.payload().slices().next().unwrap_or(&[]),
            (None, false) => &[],
        }
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.taken = None;
        self.connection.flow().count_released();
        Ok(())
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        self.configuration.clone()
    }
}
