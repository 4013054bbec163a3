//! Queries: a message of the leader is a query's payload, and the follower's next message is its reply.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ipcmark_transport::{Deadline, Error, Rendezvous, Settings, Step};
use zenoh::{
    Session, Wait,
    bytes::ZBytes,
    handlers::FifoChannelHandler,
    key_expr::KeyExpr,
    qos::CongestionControl,
    query::{ConsolidationMode, Querier, Query, Queryable, Reply},
    sample::SampleKind,
};

use crate::{
    options,
    port::Port,
    session::{self, Link, OpenSession, failed},
};

const QUERY: &str = "a query of zenoh";
const REPLY: &str = "a reply of zenoh";
const QUERYABLE: &str = "the queryable of the other end";

/// The ports of an endpoint, dropped before their session.
pub struct QueryPort {
    side: Side,
    is_express: bool,
    /// Its longest sleep in one call; none if it spins.
    sleep: Option<Duration>,
    payload: usize,
    /// The library has reported that the connection is closed.
    is_gone: Arc<AtomicBool>,
    _session: OpenSession,
}

/// The state of a query at either endpoint.
enum Side {
    Leader { querier: Querier<'static>, replies: Option<FifoChannelHandler<Reply>> },
    Follower { queryable: Queryable<FifoChannelHandler<Query>>, query: Option<Query> },
}

impl QueryPort {
    /// Opens it, and returns once the leader knows the follower's queryable.
    pub fn open(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let deadline = settings.deadline();
        let (session, ()) = session::open(Link::Unix, settings, deadline, peers, || Ok(()))?;
        let is_express = options::is_express(settings);
        let side = match settings.role.is_leader() {
            true => ask(&session.0, settings, deadline, is_express)?,
            false => answer(&session.0, settings)?,
        };
        let is_gone = watch(&session.0)?;
        // After this both endpoints are there, so that every later close is reported.
        peers.meet()?;
        Ok(Self {
            side,
            is_express,
            sleep: session::sleep(Link::Unix, settings),
            payload: settings.payload,
            is_gone,
            _session: session,
        })
    }

    fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }
}

fn key(settings: &Settings) -> String {
    format!("{}/query", &*settings.name)
}

fn ask(
    session: &Session,
    settings: &Settings,
    deadline: Deadline,
    is_express: bool,
) -> Result<Side, Error> {
    let querier = session
        .declare_querier(key(settings))
        // There is one queryable: its reply need not be compared with those of others.
        .consolidation(ConsolidationMode::None)
        .congestion_control(CongestionControl::Block)
        .express(is_express)
        .wait()
        .map_err(failed("declare", "a querier of zenoh"))?;
    session::await_match(QUERYABLE, deadline, || querier.matching_status().wait())?;
    Ok(Side::Leader { querier, replies: None })
}

fn answer(session: &Session, settings: &Settings) -> Result<Side, Error> {
    let queryable = session.declare_queryable(key(settings)).wait();
    let queryable = queryable.map_err(failed("declare", "a queryable of zenoh"))?;
    Ok(Side::Follower { queryable, query: None })
}

/// Records that the connection is closed: by the other endpoint, or with its process. The queryable's library does not
/// report a querier that is gone.
fn watch(session: &Session) -> Result<Arc<AtomicBool>, Error> {
    let is_gone = Arc::new(AtomicBool::new(false));
    let noted = is_gone.clone();
    session
        .info()
        .transport_events_listener()
        .callback(move |event| {
            if event.kind() == SampleKind::Delete {
                noted.store(true, Ordering::Relaxed);
            }
        })
        .background()
        .wait()
        .map_err(failed("watch", "the connection of zenoh"))?;
    Ok(is_gone)
}

/// The reply to a query. A channel that ends without one belongs to a connection that is closed.
#[inline]
fn reply_of(
    replies: &FifoChannelHandler<Reply>,
    sleep: Option<Duration>,
) -> Result<Option<ZBytes>, Error> {
    let reply = session::next(replies, sleep).map_err(|_| Error::peer_gone("receive", REPLY))?;
    match reply.map(Reply::into_result).transpose() {
        Ok(sample) => Ok(sample.map(|mut sample| mem::take(sample.payload_mut()))),
        Err(error) => {
            let cause = error.payload().try_to_string();
            Err(Error::new("receive", REPLY, cause.map_or("it is an error".into(), String::from)))
        }
    }
}

impl Side {
    /// Sends a query, or a reply.
    #[inline]
    fn send(&mut self, message: ZBytes, is_express: bool) -> Result<(), Error> {
        match self {
            Self::Leader { querier, replies } => {
                let asked = querier.get().payload(message).wait();
                *replies = Some(asked.map_err(failed("send", QUERY))?);
                Ok(())
            }
            Self::Follower { query, .. } => {
                // Dropped after the reply: the library then sends that there are no more.
                let query = query.take();
                let query = query.ok_or_else(|| Error::new("send", REPLY, "there is no query"))?;
                let key: &KeyExpr<'static> = query.key_expr();
                let replied = query.reply(key, message).express(is_express).wait();
                replied.map_err(failed("send", REPLY))
            }
        }
    }

    /// The reply, or the next query.
    #[inline]
    fn receive(&mut self, sleep: Option<Duration>) -> Result<Option<ZBytes>, Error> {
        match self {
            Self::Leader { replies, .. } => {
                let Some(waited) = replies else { return Ok(None) };
                let message = reply_of(waited, sleep)?;
                if message.is_some() {
                    *replies = None;
                }
                Ok(message)
            }
            Self::Follower { queryable, query } => {
                let received = session::next(queryable, sleep).map_err(failed("receive", QUERY))?;
                let Some(mut received) = received else { return Ok(None) };
                let message = received.payload_mut().map(mem::take);
                *query = Some(received);
                Ok(Some(message.unwrap_or_default()))
            }
        }
    }
}

impl Port for QueryPort {
    /// One message at a time is under way.
    #[inline]
    fn has_room(&mut self) -> bool {
        true
    }

    #[inline]
    fn send(&mut self, message: ZBytes) -> Result<Step, Error> {
        if self.is_gone() {
            return Err(Error::peer_gone("publish", "a message of zenoh"));
        }
        self.side.send(message, self.is_express)?;
        Ok(Step::Done)
    }

    #[inline]
    fn receive(&mut self) -> Result<Option<ZBytes>, Error> {
        // Looked at first: a message that arrived before the close is still received.
        let is_gone = self.is_gone();
        match self.side.receive(self.sleep)? {
            Some(message) if message.len() > self.payload => Err(session::too_long(&message)),
            None if is_gone => Err(Error::peer_gone("receive", "a message of zenoh")),
            received => Ok(received),
        }
    }

    #[inline]
    fn release(&mut self) {}
}
