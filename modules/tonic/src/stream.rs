//! One bidirectional stream, which the leader opens: a message in either direction is an item of a
//! stream.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use ipcmark_transport::{Error, Rendezvous, Settings};
use prost::Message as _;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tonic::{Status, Streaming};

use crate::{
    connection::Connection,
    endpoint::Port,
    rpc::{self, Message, PREFIX},
    wire::{Progress, Sent},
};

/// The two halves of the stream.
pub struct InStream {
    outgoing: mpsc::Sender<Message>,
    incoming: Streaming<Message>,
}

impl Port for InStream {
    fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<(Connection, Self), Error> {
        let (connection, mut client) = Connection::connect(settings, peers)?;
        let (outgoing, items) = mpsc::channel(1);
        let incoming = connection.complete(rpc::open_stream(&mut client, items))?;
        Ok((connection, Self { outgoing, incoming }))
    }

    fn follow(
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<(Connection, Self), Error> {
        let (connection, mut arrivals) = Connection::listen(settings, peers)?;
        let arrival = connection.complete(async {
            let arrival = arrivals.streams.recv().await;
            arrival.ok_or_else(rpc::closed)
        })?;
        Ok((connection, Self { outgoing: arrival.back, incoming: arrival.incoming }))
    }

    /// In bytes.
    #[inline]
    fn weight(message: &Message) -> u64 {
        (PREFIX + message.encoded_len()) as u64
    }

    #[inline]
    fn so_far(socket: Sent) -> u64 {
        socket.data
    }

    /// There is room, because the socket already had the previous message.
    #[inline]
    fn send(&mut self, message: Message) -> bool {
        self.outgoing.try_send(message).is_ok()
    }

    #[inline]
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        _: &Progress,
    ) -> Poll<Option<Result<Message, Status>>> {
        Pin::new(&mut self.incoming).poll_next(cx)
    }
}
