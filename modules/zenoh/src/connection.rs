//! A publisher and a subscriber of an endpoint, matched with those of the other one.

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
    Wait,
    bytes::ZBytes,
    handlers::FifoChannelHandler,
    pubsub::{Publisher, Subscriber},
    qos::CongestionControl,
    sample::Sample,
};

use crate::{
    flow::FlowControl,
    options,
    port::Port,
    session::{self, Link, OpenSession, failed},
};

/// The connection over the library: its ports are dropped before their session.
pub struct Connection {
    publisher: Publisher<'static>,
    subscriber: Subscriber<FifoChannelHandler<Sample>>,
    flow: FlowControl,
    /// The library has reported that nobody takes this endpoint's messages.
    is_gone: Arc<AtomicBool>,
    /// Its longest sleep in one call; none if it spins.
    sleep: Option<Duration>,
    payload: usize,
    /// The end of the time for the endpoints to find each other.
    deadline: Deadline,
    _session: OpenSession,
}

impl Connection {
    /// Opens it, and returns once each endpoint knows the other one's ports. `prepare` makes the endpoint's other
    /// objects of the library, never at the same time as the other endpoint.
    pub fn open<T>(
        link: Link,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
        prepare: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(Self, T), Error> {
        let deadline = settings.deadline();
        let leads = settings.role.is_leader();
        let sleep = session::sleep(link, settings);
        let flow = FlowControl::open(leads, options::depth(link, settings), sleep, peers)?;
        let (session, prepared) = session::open(link, settings, deadline, peers, prepare)?;
        let (out, back) = if leads { ("there", "back") } else { ("back", "there") };
        let key = |direction: &str| format!("{}/{direction}", &*settings.name);
        let subscriber = session.0.declare_subscriber(key(back)).wait();
        let subscriber = subscriber.map_err(failed("declare", "a subscriber of zenoh"))?;
        let publisher = session
            .0
            .declare_publisher(key(out))
            .congestion_control(CongestionControl::Block)
            .express(options::is_express(settings))
            .wait()
            .map_err(failed("declare", "a publisher of zenoh"))?;
        session::await_match("the subscriber of the other end", deadline, || {
            publisher.matching_status().wait()
        })?;
        let is_gone = watch(&publisher)?;
        peers.meet()?;
        let connection = Self {
            publisher,
            subscriber,
            flow,
            is_gone,
            sleep,
            payload: settings.payload,
            deadline,
            _session: session,
        };
        Ok((connection, prepared))
    }

    /// Bounds and counts the unreleased messages.
    #[inline]
    pub fn flow(&mut self) -> &mut FlowControl {
        &mut self.flow
    }

    /// Passes a message to the library.
    #[inline]
    pub fn send(&mut self, message: ZBytes) -> Result<Step, Error> {
        if self.is_gone.load(Ordering::Relaxed) {
            return Err(Error::peer_gone("publish", "a message of zenoh"));
        }
        self.publisher.put(message).wait().map_err(failed("publish", "a message of zenoh"))?;
        self.flow.count_sent();
        Ok(Step::Done)
    }

    /// The next message, if one is there or arrives while this endpoint sleeps.
    #[inline]
    pub fn receive(&mut self) -> Result<Option<Sample>, Error> {
        let received = session::next(&self.subscriber, self.sleep);
        match received.map_err(failed("receive", "a message of zenoh"))? {
            Some(sample) if sample.payload().len() > self.payload => {
                Err(session::too_long(sample.payload()))
            }
            None if self.is_gone.load(Ordering::Relaxed) => self.last(),
            received => Ok(received),
        }
    }

    /// A message that arrived before the other end was gone.
    #[cold]
    fn last(&self) -> Result<Option<Sample>, Error> {
        match self.subscriber.try_recv().ok().flatten() {
            Some(sample) if sample.payload().len() <= self.payload => Ok(Some(sample)),
            _ => Err(Error::peer_gone("receive", "a message of zenoh")),
        }
    }

    /// Sends a message that does not count, and returns the other endpoint's, if it arrives.
    pub fn greet(&self, greeting: ZBytes) -> Result<Option<Sample>, Error> {
        self.publisher.put(greeting).wait().map_err(failed("publish", "a message of zenoh"))?;
        let sample = self.subscriber.recv_timeout(self.deadline.left());
        sample.map_err(failed("receive", "a message of zenoh"))
    }
}

impl Port for Connection {
    #[inline]
    fn has_room(&mut self) -> bool {
        self.flow.has_room()
    }

    #[inline]
    fn send(&mut self, message: ZBytes) -> Result<Step, Error> {
        Connection::send(self, message)
    }

    #[inline]
    fn receive(&mut self) -> Result<Option<ZBytes>, Error> {
        let received = Connection::receive(self)?;
        Ok(received.map(|mut sample| mem::take(sample.payload_mut())))
    }

    #[inline]
    fn release(&mut self) {
        self.flow.count_released();
    }
}

/// Records that the other endpoint's subscriber is gone: undeclared, closed or dead with its process.
fn watch(publisher: &Publisher<'_>) -> Result<Arc<AtomicBool>, Error> {
    let is_gone = Arc::new(AtomicBool::new(false));
    let noted = is_gone.clone();
    publisher
        .matching_listener()
        .callback(move |status| noted.store(!status.matching(), Ordering::Relaxed))
        .background()
        .wait()
        .map_err(failed("watch", "the subscriber of the other end"))?;
    // It may have gone in between.
    let matches = publisher.matching_status().wait();
    let matches = matches.map_err(failed("look for", "the subscriber of the other end"))?;
    if !matches.matching() {
        is_gone.store(true, Ordering::Relaxed);
    }
    Ok(is_gone)
}
