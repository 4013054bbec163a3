//! A bare program of zenoh, the baseline for `zenoh-unix`.

#[path = "../../shared/rust/bare.rs"]
mod bare;

use std::{fs, thread, time::Duration};

use bare::{Asked, Failure};
use bytes::{Bytes, BytesMut};
use zenoh::{
    Config, Session, Wait,
    bytes::ZBytes,
    handlers::FifoChannelHandler,
    pubsub::{Publisher, Subscriber},
    qos::CongestionControl,
    sample::Sample,
};

fn main() -> Result<(), Failure> {
    let asked = Asked::read()?;
    if let Some(path) = &asked.told {
        let mut end = End::of(start(path, false)?, false, &asked)?;
        bare::pin(asked.follower_cpu);
        return follow(&mut end, asked.all_round_trips());
    }
    let directory = std::env::temp_dir().join(bare::name());
    fs::create_dir(&directory)?;
    let path = directory.join("zenoh").display().to_string();
    let session = start(&path, true)?;
    let mut follower = asked.start_other(&path)?;
    let mut end = End::of(session, true, &asked)?;
    bare::pin(asked.leader_cpu);
    asked.time(|n| {
        end.send(n)?;
        assert_eq!(end.receive()?, n);
        Ok(())
    })?;
    follower.wait()?;
    drop(end);
    Ok(fs::remove_dir_all(&directory)?)
}

fn start(path: &str, leads: bool) -> Result<Session, Failure> {
    let endpoint = format!("[\"unixsock-stream/{path}\"]");
    let (listen, connect) = if leads { (&*endpoint, "[]") } else { ("[]", &*endpoint) };
    let config = Config::from_json5(&format!(
        "{{ mode: \"peer\", listen: {{ endpoints: {listen} }}, connect: {{ endpoints: {connect} }}, \
           scouting: {{ multicast: {{ enabled: false }}, gossip: {{ enabled: false }} }}, \
           transport: {{ shared_memory: {{ enabled: false }} }} }}"
    ))?;
    zenoh::open(config).wait()
}

struct End {
    publisher: Publisher<'static>,
    subscriber: Subscriber<FifoChannelHandler<Sample>>,
    room: BytesMut,
    spins: bool,
    _session: Session,
}

impl End {
    fn of(session: Session, leads: bool, asked: &Asked) -> Result<Self, Failure> {
        let (out, back) = if leads { ("there", "back") } else { ("back", "there") };
        let subscriber = session.declare_subscriber(back).wait()?;
        let publisher = session.declare_publisher(out);
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let publisher = publisher.express(true).wait()?;
        while !publisher.matching_status().wait()?.matching() {
            thread::sleep(Duration::from_millis(1));
        }
        let room = BytesMut::from(Bytes::from(vec![1; asked.payload]));
        Ok(Self { publisher, subscriber, room, spins: asked.spins, _session: session })
    }

    fn send(&mut self, number: u64) -> Result<(), Failure> {
        let mut room = std::mem::take(&mut self.room);
        bare::write(&mut room, number);
        let room = room.freeze();
        self.publisher.put(ZBytes::from(room.clone())).wait()?;
        self.room = room.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        Ok(())
    }

    fn receive(&self) -> Result<u64, Failure> {
        bare::read(&self.next()?.payload().to_bytes(), self.room.len())
    }

    fn next(&self) -> Result<Sample, Failure> {
        if !self.spins {
            return self.subscriber.recv();
        }
        loop {
            if let Some(sample) = self.subscriber.try_recv()? {
                return Ok(sample);
            }
            std::hint::spin_loop();
        }
    }
}

fn follow(end: &mut End, count: usize) -> Result<(), Failure> {
    for _ in 0..count {
        let number = end.receive()?;
        end.send(number)?;
    }
    // The last answer is still in the library's threads.
    thread::sleep(Duration::from_millis(100));
    Ok(())
}
