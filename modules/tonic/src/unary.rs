//! Calls: a message of the leader is a request, and the follower's next one is the response to it.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use ipcmark_transport::{Endpoint, Error, Rendezvous, Settings, Step};
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use crate::{
    connection::{self, Connection, gone},
    room::Room,
    rpc::{self, CallArrival, Client, Message},
    wire::Progress,
};

type Call = Pin<Box<dyn Future<Output = Result<Message, Status>>>>;

/// One end. What belongs to the library goes before its runtime.
pub struct UnaryEnd {
    side: Side,
    taken: Bytes,
    room: Room,
    /// A message is handed over, and the socket does not have all of it yet.
    is_sending: bool,
    /// Requests or responses that were handed over.
    sent: u64,
    connection: Connection,
    configuration: BTreeMap<String, String>,
}

/// What the two ends have of a call.
enum Side {
    Leader { client: Client, call: Option<Call>, response: Option<Result<Message, Status>> },
    Follower { calls: mpsc::Receiver<CallArrival>, back: Option<oneshot::Sender<Message>> },
}

impl Side {
    /// Begins a call, or answers one; false if there is none, or nobody who waits for the answer.
    #[inline]
    fn send(&mut self, message: Message) -> bool {
        match self {
            Side::Leader { client, call, .. } => {
                *call = Some(Box::pin(rpc::call(client.clone(), message)));
                true
            }
            Side::Follower { back, .. } => {
                back.take().is_some_and(|back| back.send(message).is_ok())
            }
        }
    }

    /// Works on the leader's call.
    #[inline]
    fn advance(&mut self, cx: &mut Context<'_>) {
        let Side::Leader { call, response, .. } = self else { return };
        if let Some(Poll::Ready(result)) = call.as_mut().map(|call| call.as_mut().poll(cx)) {
            *call = None;
            *response = Some(result);
        }
    }

    /// The next request, or the response.
    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>, progress: &Progress) -> Poll<Result<Message, Status>> {
        self.advance(cx);
        match self {
            Side::Leader { call, response, .. } => match (response.take(), call) {
                (Some(response), _) => Poll::Ready(response),
                (None, Some(_)) => Poll::Pending,
                // There is nothing that could be answered.
                (None, None) => progress.poll(cx, |_| false).map(|_| Err(rpc::closed())),
            },
            Side::Follower { calls, back } => calls.poll_recv(cx).map(|arrival| {
                let arrival = arrival.ok_or_else(rpc::closed)?;
                *back = Some(arrival.back);
                Ok(arrival.incoming)
            }),
        }
    }
}

impl UnaryEnd {
    pub fn open(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let leads = settings.role.is_leader();
        let (connection, side) =
            if leads { lead(settings, peers)? } else { follow(settings, peers)? };
        let mut end = Self {
            side,
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
        self.sent += u64::from(message.is_some());
        let (side, progress, sent) = (&mut self.side, &self.connection.progress, self.sent);
        let sent = self.connection.drive(|cx| {
            // Within the runtime: from outside, a task is woken up through an eventfd.
            let handed = message.take().is_none_or(|message| side.send(message));
            side.advance(cx);
            if handed {
                progress.poll(cx, |socket| socket.ended >= sent)
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

fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<(Connection, Side), Error> {
    let (connection, client) = Connection::connect(settings, peers)?;
    Ok((connection, Side::Leader { client, call: None, response: None }))
}

fn follow(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<(Connection, Side), Error> {
    let (connection, arrivals) = Connection::listen(settings, peers)?;
    Ok((connection, Side::Follower { calls: arrivals.calls, back: None }))
}

impl Endpoint for UnaryEnd {
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
        let (side, progress) = (&mut self.side, &self.connection.progress);
        match self.connection.drive(|cx| side.poll(cx, progress)) {
            None => Ok(Step::WouldBlock),
            Some(message) => {
                self.taken = message.map_err(|status| self.connection.ended(&status))?.payload;
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
