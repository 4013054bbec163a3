//! A bare program of a bidirectional stream of tonic, to compare `grpc-tonic-stream` with. Started as
//!
//!   bare-grpc-tonic-stream spin|block PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU
//!
//! it prints the median round trip in nanoseconds.

#[expect(dead_code, reason = "calls are the other row's")]
mod rpc;

use std::{
    future::poll_fn,
    path::{Path, PathBuf},
    pin::Pin,
    process::Command,
    task::Poll,
};

use bytes::{Bytes, BytesMut};
use rpc::{Exchange, Message};
use tokio::{
    net::UnixListener,
    runtime::{Builder, Runtime},
    sync::mpsc,
    task::yield_now,
};
use tokio_stream::Stream;
use tonic::{
    Streaming,
    transport::{Endpoint, Server},
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
        eprintln!(
            "usage: bare-grpc-tonic-stream spin|block PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU"
        );
        std::process::exit(2);
    };
    let (payload, count): (usize, usize) = (payload.parse()?, round_trips.parse()?);
    let (warm_up, spins) = (count / WARM_UP + 1, wait == "spin");
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if let [path] = rest {
        let mut end = runtime.block_on(End::connect(Path::new(path), payload, spins))?;
        pin(leader_cpu.parse()?);
        return lead(&runtime, &mut end, warm_up, count);
    }
    let directory = directory();
    std::fs::create_dir(&directory)?;
    let path = directory.join("tonic");
    let listener = runtime.block_on(async { UnixListener::bind(&path) })?;
    let mut leader = Command::new(program).args(&words[1..]).arg(&path).spawn()?;
    let mut end = runtime.block_on(End::listen(listener, payload, spins))?;
    pin(follower_cpu.parse()?);
    follow(&runtime, &mut end, warm_up + count)?;
    // The last answer is sent while this waits for what does not come.
    let _ = runtime.block_on(end.receive());
    leader.wait()?;
    Ok(std::fs::remove_dir_all(&directory)?)
}

fn directory() -> PathBuf {
    std::env::temp_dir().join(format!("ipcmark-bare-{}", std::process::id()))
}

struct End {
    outgoing: mpsc::Sender<Message>,
    incoming: Streaming<Message>,
    room: BytesMut,
    spins: bool,
}

impl End {
    async fn connect(path: &Path, payload: usize, spins: bool) -> Result<Self, Failure> {
        let channel =
            Endpoint::from_shared(format!("unix://{}", path.display()))?.connect().await?;
        let (outgoing, items) = mpsc::channel(1);
        let mut client = rpc::client(channel, rpc::most_bytes(payload));
        let incoming = rpc::open_stream(&mut client, items).await?;
        Ok(Self { outgoing, incoming, room: room(payload), spins })
    }

    async fn listen(listener: UnixListener, payload: usize, spins: bool) -> Result<Self, Failure> {
        let (socket, _) = listener.accept().await?;
        let (streams, mut arrivals) = mpsc::channel(1);
        let (calls, _) = mpsc::channel(1);
        let service = Exchange { streams, calls, most_bytes: rpc::most_bytes(payload) };
        let incoming = tokio_stream::once(Ok::<_, std::io::Error>(socket));
        tokio::spawn(Server::builder().serve_with_incoming(service, incoming));
        let arrival = arrivals.recv().await.ok_or("the leader has not come")?;
        let (outgoing, incoming) = (arrival.back, arrival.incoming);
        Ok(Self { outgoing, incoming, room: room(payload), spins })
    }

    async fn send(&mut self, number: u64) -> Result<(), Failure> {
        // The library is done with it: the other end has answered.
        let mut room = std::mem::take(&mut self.room);
        let (first, second) = room[..HEAD].split_at_mut(HEAD / 2);
        first.copy_from_slice(&number.to_ne_bytes());
        second.copy_from_slice(&number.to_ne_bytes());
        let room = room.freeze();
        self.outgoing.send(Message { payload: room.clone() }).await?;
        // The library's tasks serialise and send it.
        yield_now().await;
        self.room = room.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        Ok(())
    }

    async fn receive(&mut self) -> Result<u64, Failure> {
        let message = self.next().await?;
        let bytes = message.payload;
        assert_eq!(bytes.len(), self.room.len());
        let (first, second) = bytes[..HEAD].split_at(HEAD / 2);
        assert_eq!(first, second);
        Ok(u64::from_ne_bytes(first.try_into()?))
    }

    async fn next(&mut self) -> Result<Message, Failure> {
        while self.spins {
            let looked =
                poll_fn(|cx| Poll::Ready(Pin::new(&mut self.incoming).poll_next(cx))).await;
            match looked {
                Poll::Ready(Some(message)) => return Ok(message?),
                Poll::Ready(None) => return Err("the other end is gone".into()),
                Poll::Pending => yield_now().await,
            }
        }
        Ok(self.incoming.message().await?.ok_or("the other end is gone")?)
    }
}

fn room(payload: usize) -> BytesMut {
    BytesMut::from(Bytes::from(vec![1; payload]))
}

fn lead(runtime: &Runtime, end: &mut End, warm_up: usize, count: usize) -> Result<(), Failure> {
    let mut times = vec![1_u64; count];
    let mut before = now();
    for n in 0..warm_up + count {
        let answer = runtime.block_on(async {
            end.send(n as u64).await?;
            end.receive().await
        })?;
        assert_eq!(answer, n as u64);
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

fn follow(runtime: &Runtime, end: &mut End, count: usize) -> Result<(), Failure> {
    runtime.block_on(async {
        for _ in 0..count {
            let number = end.receive().await?;
            end.send(number).await?;
        }
        Ok(())
    })
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
