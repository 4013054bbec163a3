//! An endpoint of either kind of call: it loans, publishes and takes, whatever carries the
//! messages.

use std::{
    collections::BTreeMap,
    task::{Context, Poll},
};

use bytes::Bytes;
use ipcmark_transport::{Endpoint, Error, Rendezvous, Settings, Step};
use tonic::Status;

use crate::{
    connection::{self, Connection, gone},
    room::Room,
    rpc::Message,
    wire::{Progress, Sent},
};

/// The carrier of an endpoint's messages: a stream, or calls.
pub trait Port: Sized + 'static {
    /// Connects, as the leader.
    fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<(Connection, Self), Error>;

    /// Waits for the leader, as the follower.
    fn follow(settings: &Settings, peers: &mut dyn Rendezvous)
    -> Result<(Connection, Self), Error>;

    /// The socket's progress with this message, in the unit of [`Port::so_far`].
    fn weight(message: &Message) -> u64;

    /// The socket's progress so far.
    fn so_far(socket: Sent) -> u64;

    /// Passes a message on; false if nobody waits for it any more.
    fn send(&mut self, message: Message) -> bool;

    /// Works on the message that was passed on.
    fn advance(&mut self, _cx: &mut Context<'_>) {}

    /// The next message; `None` if no further one will come.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        progress: &Progress,
    ) -> Poll<Option<Result<Message, Status>>>;
}

/// One endpoint. The library's objects are dropped before its runtime.
pub struct GrpcEndpoint<P> {
    port: P,
    taken: Bytes,
    room: Room,
    /// A message was passed on, and the socket does not have all of it yet.
    is_sending: bool,
    /// The total of the messages passed on, as [`Port::weight`] counts it.
    sent: u64,
    connection: Connection,
    configuration: BTreeMap<String, String>,
}

impl<P: Port> GrpcEndpoint<P> {
    pub fn open(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let leads = settings.role.is_leader();
        let (connection, port) =
            if leads { P::lead(settings, peers)? } else { P::follow(settings, peers)? };
        let deadline = connection.deadline;
        let mut end = Self {
            port,
            taken: Bytes::new(),
            room: Room::new(settings.payload),
            is_sending: false,
            sent: 0,
            connection,
            configuration: connection::noted(settings),
        };
        connection::greet(&mut end, leads, deadline, |end| end.send(|_| Message::default()))?;
        end.connection.settle(settings);
        peers.meet()?;
        Ok(end)
    }

    /// Passes a message on, and lets the library work until the socket has all of it.
    #[inline]
    fn send(&mut self, message: impl FnOnce(&mut Room) -> Message) -> Result<Step, Error> {
        let mut message = (!self.is_sending).then(|| message(&mut self.room));
        self.is_sending = true;
        self.sent += message.as_ref().map_or(0, P::weight);
        let (port, progress, sent) = (&mut self.port, &self.connection.progress, self.sent);
        let sent = self.connection.drive(|cx| {
            // Within the runtime: from outside, a task would be woken through an eventfd.
            let handed = message.take().is_none_or(|message| port.send(message));
            port.advance(cx);
            if handed {
                progress.poll(cx, |socket| P::so_far(socket) >= sent)
            } else {
                Poll::Ready(false)
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

impl<P: Port> Endpoint for GrpcEndpoint<P> {
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
        let (port, progress) = (&mut self.port, &self.connection.progress);
        match self.connection.drive(|cx| port.poll(cx, progress)) {
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
