//! A publisher and a subscriber, for the bare programs of `zenoh-unix`, `zenoh-tcp` and `zenoh-shm`.

use std::{thread, time::Duration};

use zenoh::{
    Session, Wait,
    handlers::FifoChannelHandler,
    pubsub::{Publisher, Subscriber},
    qos::CongestionControl,
    sample::Sample,
};

use crate::{
    bare::{Asked, Failure},
    bare_session::{BareEnd, Room},
};

pub struct Ports {
    pub publisher: Publisher<'static>,
    pub subscriber: Subscriber<FifoChannelHandler<Sample>>,
    pub room: Room,
    _session: Session,
}

impl BareEnd for Ports {
    fn open(session: Session, leads: bool, asked: &Asked) -> Result<Self, Failure> {
        let (out, back) = if leads { ("there", "back") } else { ("back", "there") };
        let subscriber = session.declare_subscriber(back).wait()?;
        let publisher = session.declare_publisher(out);
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let publisher = publisher.express(true).wait()?;
        while !publisher.matching_status().wait()?.matching() {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(Self { publisher, subscriber, room: Room::new(asked), _session: session })
    }

    fn send(&mut self, number: u64) -> Result<(), Failure> {
        let publisher = &self.publisher;
        self.room.send(number, |message| publisher.put(message).wait())
    }

    fn receive(&mut self) -> Result<u64, Failure> {
        let sample = self.room.next(&self.subscriber)?;
        self.room.read(sample.payload())
    }
}
