//! A bare program of zenoh, to compare `zenoh-unix` with. Started as
//!
//!   bare-zenoh-unix spin|block PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU
//!
//! it prints the median round trip in nanoseconds.

use std::{path::PathBuf, process::Command, thread, time::Duration};

use bytes::{Bytes, BytesMut};
use zenoh::{
    Config, Session, Wait,
    bytes::ZBytes,
    handlers::FifoChannelHandler,
    pubsub::{Publisher, Subscriber},
    qos::CongestionControl,
    sample::Sample,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// For every four round trips that count, one comes before them to warm up.
const WARM_UP: usize = 4;

/// Bytes of a message that are written and read, as many as with `--touch head`.
const HEAD: usize = 16;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().collect();
    let [program, wait, payload, round_trips, leader_cpu, follower_cpu, rest @ ..] = &words[..]
    else {
        eprintln!("usage: bare-zenoh-unix spin|block PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU");
        std::process::exit(2);
    };
    let (payload, count): (usize, usize) = (payload.parse()?, round_trips.parse()?);
    let (warm_up, spins) = (count / WARM_UP + 1, wait == "spin");
    if let [path] = rest {
        let mut end = End::open(path, false, payload, spins)?;
        pin(follower_cpu.parse()?);
        return follow(&mut end, warm_up + count);
    }
    let directory = directory();
    std::fs::create_dir(&directory)?;
    let path = directory.join("zenoh").display().to_string();
    let session = start(&path, true)?;
    let mut follower = Command::new(program).args(&words[1..]).arg(&path).spawn()?;
    let mut end = End::of(session, true, payload, spins)?;
    pin(leader_cpu.parse()?);
    lead(&mut end, warm_up, count)?;
    follower.wait()?;
    drop(end);
    Ok(std::fs::remove_dir_all(&directory)?)
}

fn directory() -> PathBuf {
    std::env::temp_dir().join(format!("ipcmark-bare-{}", std::process::id()))
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
    fn open(path: &str, leads: bool, payload: usize, spins: bool) -> Result<Self, Failure> {
        Self::of(start(path, leads)?, leads, payload, spins)
    }

    fn of(session: Session, leads: bool, payload: usize, spins: bool) -> Result<Self, Failure> {
        let (out, back) = if leads { ("there", "back") } else { ("back", "there") };
        let subscriber = session.declare_subscriber(back).wait()?;
        let publisher = session.declare_publisher(out);
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let publisher = publisher.express(true).wait()?;
        while !publisher.matching_status().wait()?.matching() {
            thread::sleep(Duration::from_millis(1));
        }
        let room = BytesMut::from(Bytes::from(vec![1; payload]));
        Ok(Self { publisher, subscriber, room, spins, _session: session })
    }

    fn send(&mut self, number: u64) -> Result<(), Failure> {
        let mut room = std::mem::take(&mut self.room);
        let (first, second) = room[..HEAD].split_at_mut(HEAD / 2);
        first.copy_from_slice(&number.to_ne_bytes());
        second.copy_from_slice(&number.to_ne_bytes());
        let room = room.freeze();
        self.publisher.put(ZBytes::from(room.clone())).wait()?;
        self.room = room.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        Ok(())
    }

    fn receive(&self) -> Result<u64, Failure> {
        let sample = self.next()?;
        let bytes = sample.payload().to_bytes();
        assert_eq!(bytes.len(), self.room.len());
        let (first, second) = bytes[..HEAD].split_at(HEAD / 2);
        assert_eq!(first, second);
        Ok(u64::from_ne_bytes(first.try_into()?))
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

fn lead(end: &mut End, warm_up: usize, count: usize) -> Result<(), Failure> {
    let mut times = vec![1_u64; count];
    let mut before = now();
    for n in 0..warm_up + count {
        end.send(n as u64)?;
        assert_eq!(end.receive()?, n as u64);
        let after = now();
        if n >= warm_up {
            times[n - warm_up] = after - before;
        }
        before = after;
    }
    times.sort_unstable();
    println!("{}", times[count / 2]);
    Ok(())
}

fn follow(end: &mut End, count: usize) -> Result<(), Failure> {
    for _ in 0..count {
        let number = end.receive()?;
        end.send(number)?;
    }
    // The last answer is on its way through the library's threads.
    thread::sleep(Duration::from_millis(100));
    Ok(())
}

fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn pin(cpu: usize) {
    // SAFETY: a zeroed set is empty, and the call is about this process.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}
