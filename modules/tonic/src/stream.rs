//! One bidirectional stream, which the leader opens: a message each way is an item of a stream.

use std::{collections::BTreeMap, pin::Pin, task::Poll};

use bytes::Bytes;
use ipcmark_transport::{Endpoint, Error, Rendezvous, Settings, Step};
use prost::Message as _;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tonic::Streaming;

use crate::{
    connection::{self, Connection, gone},
    room::Room,
    rpc::{self, Message, PREFIX},
};

/// One end. What belongs to the library goes before its runtime.
pub struct StreamEnd {
    outgoing: mpsc::Sender<Message>,
    incoming: Streaming<Message>,
    taken: Bytes,
    room: Room,
    /// A message is handed over, and the socket does not have all of it yet.
    is_sending: bool,
    /// Bytes of messages that were handed over.
    sent: u64,
    connection: Connection,
    configuration: BTreeMap<String, String>,
}

impl StreamEnd {
    pub fn open(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let leads = settings.role.is_leader();
        let (connection, outgoing, incoming) =
            if leads { lead(settings, peers)? } else { follow(settings, peers)? };
        let mut end = Self {
            outgoing,
            incoming,
            taken: Bytes::new(),
            room: Room::new(settings.payload),
            is_sending: false,
            sent: 0,
            connection,
            configuration: connection::noted(settings),
        };
        connection::greet(&mut end, leads, |end| end.send(|_| Message::default()))?;
        end.connection.settle(settings);
        peers.meet()?;
        Ok(end)
    }

    /// Hands a message over, and lets the library work until the socket has all of it.
    #[inline]
    fn send(&mut self, message: impl FnOnce(&mut Room) -> Message) -> Result<Step, Error> {
        let mut message = (!self.is_sending).then(|| message(&mut self.room));
        self.is_sending = true;
        self.sent += message.as_ref().map_or(0, |message| PREFIX + message.encoded_len()) as u64;
        let (outgoing, progress, sent) = (&self.outgoing, &self.connection.progress, self.sent);
        let sent = self.connection.drive(|cx| {
            // Within the runtime: from outside, a task is woken up through an eventfd. There is room, for the socket had
            // the last message before this one.
            let handed = message.take().map_or(Ok(()), |message| outgoing.try_send(message));
            match handed {
                Ok(()) => progress.poll(cx, |socket| socket.data >= sent),
                Err(_) => Poll::Ready(false),
            }
        });
        match sent {
            None => Ok(Step::WouldBlock),
            Some(false) => Err(gone()),
            Some(true) => {
                self.is_sending = false;
                Ok(Step::Done)
            }
        }
    }
}

type Ports = (Connection, mpsc::Sender<Message>, Streaming<Message>);

fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Ports, Error> {
    let (connection, mut client) = Connection::connect(settings, peers)?;
    let (outgoing, items) = mpsc::channel(1);
    let incoming = connection.complete(rpc::open_stream(&mut client, items))?;
    Ok((connection, outgoing, incoming))
}

fn follow(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Ports, Error> {
    let (connection, mut arrivals) = Connection::listen(settings, peers)?;
    let arrival = connection.complete(async {
        let arrival = arrivals.streams.recv().await;
        arrival.ok_or_else(rpc::closed)
    })?;
    Ok((connection, arrival.back, arrival.incoming))
}

impl Endpoint for StreamEnd {
    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.room.lend(len);
        Ok(Step::Done)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        self.room.bytes()
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        self.send(Room::message)
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        let incoming = &mut self.incoming;
        match self.connection.drive(|cx| Pin::new(&mut *incoming).poll_next(cx)) {
            None => Ok(Step::WouldBlock),
            Some(None) => Err(gone()),
            Some(Some(Err(status))) => Err(self.connection.ended(&status)),
            Some(Some(Ok(message))) => {
                self.taken = message.payload;
                Ok(Step::Done)
            }
        }
    }

    #[inline]
    fn message(&self) -> &[u8] {
        &self.taken
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.taken = Bytes::new();
        Ok(())
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        self.configuration.clone()
    }
}
