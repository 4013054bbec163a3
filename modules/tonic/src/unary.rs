//! Calls: a message of the leader is a request, and the follower's next message is its response.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use ipcmark_transport::{Error, Rendezvous, Settings};
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use crate::{
    connection::Connection,
    endpoint::Port,
    rpc::{self, CallArrival, Client, Message},
    wire::{Progress, Sent},
};

type Call = Pin<Box<dyn Future<Output = Result<Message, Status>>>>;

/// The state of a call at either end.
pub enum Unary {
    Leader { client: Client, call: Option<Call>, response: Option<Result<Message, Status>> },
    Follower { calls: mpsc::Receiver<CallArrival>, back: Option<oneshot::Sender<Message>> },
}

impl Port for Unary {
    fn lead(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<(Connection, Self), Error> {
        let (connection, client) = Connection::connect(settings, peers)?;
        Ok((connection, Self::Leader { client, call: None, response: None }))
    }

    fn follow(
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<(Connection, Self), Error> {
        let (connection, arrivals) = Connection::listen(settings, peers)?;
        Ok((connection, Self::Follower { calls: arrivals.calls, back: None }))
    }

    /// In requests or responses.
    #[inline]
    fn weight(_: &Message) -> u64 {
        1
    }

    #[inline]
    fn so_far(socket: Sent) -> u64 {
        socket.ended
    }

    /// Begins a call, or answers one; false if there is none, or nobody waits for the answer.
    #[inline]
    fn send(&mut self, message: Message) -> bool {
        match self {
            Self::Leader { client, call, .. } => {
                *call = Some(Box::pin(rpc::call(client.clone(), message)));
                true
            }
            Self::Follower { back, .. } => {
                back.take().is_some_and(|back| back.send(message).is_ok())
            }
        }
    }

    /// Works on the leader's call.
    #[inline]
    fn advance(&mut self, cx: &mut Context<'_>) {
        let Self::Leader { call, response, .. } = self else { return };
        if let Some(Poll::Ready(result)) = call.as_mut().map(|call| call.as_mut().poll(cx)) {
            *call = None;
            *response = Some(result);
        }
    }

    /// The next request, or the response.
    #[inline]
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        progress: &Progress,
    ) -> Poll<Option<Result<Message, Status>>> {
        self.advance(cx);
        match self {
            Self::Leader { call, response, .. } => match (response.take(), call) {
                (Some(response), _) => Poll::Ready(Some(response)),
                (None, Some(_)) => Poll::Pending,
                // No call is in progress that could be answered.
                (None, None) => progress.poll(cx, |_| false).map(|_| Some(Err(rpc::closed()))),
            },
            Self::Follower { calls, back } => calls.poll_recv(cx).map(|arrival| {
                Some(arrival.ok_or_else(rpc::closed).map(|arrival| {
                    *back = Some(arrival.back);
                    arrival.incoming
                }))
            }),
        }
    }
}
