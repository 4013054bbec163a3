//! A bare program of a bidirectional stream of tonic, the baseline for `grpc-tonic-stream`. The process that was
//! started first is the follower: it listens.

#[path = "../../shared/rust/bare.rs"]
mod bare;
mod bare_connection;
#[expect(dead_code, reason = "calls are the other row's")]
mod rpc;

use std::{fs, future::poll_fn, path::Path, pin::Pin, task::Poll};

use bare::{Asked, Failure};
use bytes::{Bytes, BytesMut};
use rpc::Message;
use tokio::{
    net::UnixListener,
    runtime::{Builder, Runtime},
    sync::mpsc,
    task::yield_now,
};
use tokio_stream::Stream;
use tonic::Streaming;

fn main() -> Result<(), Failure> {
    let asked = Asked::read()?;
    let (payload, spins) = (asked.payload, asked.spins);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if let Some(path) = &asked.told {
        let mut end = runtime.block_on(BareEnd::connect(Path::new(path), payload, spins))?;
        bare::pin(asked.leader_cpu);
        return lead(&runtime, &mut end, &asked);
    }
    let directory = std::env::temp_dir().join(bare::name());
    fs::create_dir(&directory)?;
    let path = directory.join("tonic");
    let listener = runtime.block_on(async { UnixListener::bind(&path) })?;
    let mut leader = asked.start_other(&path.display().to_string())?;
    let mut end = runtime.block_on(BareEnd::listen(listener, payload, spins))?;
    bare::pin(asked.follower_cpu);
    follow(&runtime, &mut end, &asked)?;
    // The last answer is sent while this waits for a message that never comes.
    let _ = runtime.block_on(end.receive());
    leader.wait()?;
    Ok(fs::remove_dir_all(&directory)?)
}

struct BareEnd {
    outgoing: mpsc::Sender<Message>,
    incoming: Streaming<Message>,
    room: BytesMut,
    spins: bool,
}

impl BareEnd {
    async fn connect(path: &Path, payload: usize, spins: bool) -> Result<Self, Failure> {
        let (outgoing, items) = mpsc::channel(1);
        let mut client = bare_connection::connect(path, payload).await?;
        let incoming = rpc::open_stream(&mut client, items).await?;
        Ok(Self { outgoing, incoming, room: room(payload), spins })
    }

    async fn listen(listener: UnixListener, payload: usize, spins: bool) -> Result<Self, Failure> {
        let (mut arrivals, _) = bare_connection::listen(listener, payload).await?;
        let arrival = arrivals.recv().await.ok_or("the leader has not come")?;
        let (outgoing, incoming) = (arrival.back, arrival.incoming);
        Ok(Self { outgoing, incoming, room: room(payload), spins })
    }

    async fn send(&mut self, number: u64) -> Result<(), Failure> {
        // The library has released it: the other end has answered.
        let mut room = std::mem::take(&mut self.room);
        bare::write(&mut room, number);
        let room = room.freeze();
        self.outgoing.send(Message { payload: room.clone() }).await?;
        // The library's tasks serialise and send it.
        yield_now().await;
        self.room = room.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        Ok(())
    }

    async fn receive(&mut self) -> Result<u64, Failure> {
        let message = self.next().await?;
        bare::read(&message.payload, self.room.len())
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

fn lead(runtime: &Runtime, end: &mut BareEnd, asked: &Asked) -> Result<(), Failure> {
    asked.lead(|n| {
        let answer = runtime.block_on(async {
            end.send(n).await?;
            end.receive().await
        })?;
        assert_eq!(answer, n);
        Ok(())
    })
}

fn follow(runtime: &Runtime, end: &mut BareEnd, asked: &Asked) -> Result<(), Failure> {
    asked.follow(|| {
        runtime.block_on(async {
            let number = end.receive().await?;
            end.send(number).await
        })
    })
}
