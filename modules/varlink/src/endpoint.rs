//! An endpoint: a message of the leader is a call, and the follower's next message is its reply.

use std::collections::BTreeMap;

use ipcmark_transport::{Endpoint, Error, Rendezvous, Settings, Step};

use crate::{connection::Connection, message};

/// One endpoint.
pub struct VarlinkEndpoint {
    connection: Connection,
    /// Room for the message on loan.
    room: Vec<u8>,
    room_len: usize,
    /// The taken message, decoded.
    message: Vec<u8>,
    message_len: usize,
}

impl VarlinkEndpoint {
    pub fn open(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        // Written with non-zero bytes, so that every page is present.
        let (room, message) = (vec![1; settings.payload], vec![1; settings.payload]);
        let connection = Connection::open(settings, peers)?;
        Ok(Self { connection, room, room_len: 0, message, message_len: 0 })
    }
}

impl Endpoint for VarlinkEndpoint {
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
        let room = &self.room[..self.room_len];
        self.connection.send(|text| message::encode(room, text))
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        match self.connection.receive(&mut self.message)? {
            None => Ok(Step::WouldBlock),
            Some(len) => {
                self.message_len = len;
                Ok(Step::Done)
            }
        }
    }

    #[inline]
    fn message(&self) -> &[u8] {
        &self.message[..self.message_len]
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let entry = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        [("runtime", "tokio's current_thread"), ("payload", "base64 in a JSON string")]
            .map(entry)
            .into()
    }
}
