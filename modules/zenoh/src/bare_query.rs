//! A bare program of zenoh's queries, the baseline for `zenoh-query`.

#[path = "../../shared/rust/bare.rs"]
mod bare;
mod bare_session;

use std::{thread, time::Duration};

use bare::{Asked, Failure};
use bare_session::{BareEnd, Link, Room};
use zenoh::{
    Session, Wait,
    handlers::FifoChannelHandler,
    qos::CongestionControl,
    query::{ConsolidationMode, Querier, Query, Queryable, Reply},
};

const KEY: &str = "query";

fn main() -> Result<(), Failure> {
    bare_session::run::<Ports>(Link::Unix)
}

enum Side {
    Leader(Querier<'static>, Option<FifoChannelHandler<Reply>>),
    Follower(Queryable<FifoChannelHandler<Query>>, Option<Query>),
}

struct Ports {
    side: Side,
    room: Room,
    _session: Session,
}

fn ask(session: &Session) -> Result<Side, Failure> {
    let querier = session.declare_querier(KEY).consolidation(ConsolidationMode::None);
    let querier = querier.congestion_control(CongestionControl::Block).express(true).wait()?;
    while !querier.matching_status().wait()?.matching() {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(Side::Leader(querier, None))
}

impl BareEnd for Ports {
    fn open(session: Session, leads: bool, asked: &Asked) -> Result<Self, Failure> {
        let side = match leads {
            true => ask(&session)?,
            false => Side::Follower(session.declare_queryable(KEY).wait()?, None),
        };
        Ok(Self { side, room: Room::new(asked), _session: session })
    }

    fn send(&mut self, number: u64) -> Result<(), Failure> {
        let side = &mut self.side;
        self.room.send(number, |message| match side {
            Side::Leader(querier, replies) => {
                *replies = Some(querier.get().payload(message).wait()?);
                Ok(())
            }
            Side::Follower(_, query) => {
                let query = query.take().ok_or("there is no query")?;
                query.reply(KEY, message).express(true).wait()
            }
        })
    }

    fn receive(&mut self) -> Result<u64, Failure> {
        match &mut self.side {
            Side::Leader(_, replies) => {
                let replies = replies.take().ok_or("there was no query")?;
                let sample = self.room.next(&replies)?.into_result()?;
                self.room.read(sample.payload())
            }
            Side::Follower(queryable, query) => {
                let next = self.room.next(queryable)?;
                let number = self.room.read(next.payload().ok_or("an empty query")?)?;
                *query = Some(next);
                Ok(number)
            }
        }
    }
}
