//! A bare program of calls by tonic, the baseline for `grpc-tonic-unary`: a message of the leader is a request, and the
//! follower's is its response. The process that was started first is the follower: it listens.

#[path = "../../shared/rust/bare.rs"]
mod bare;
#[expect(dead_code, reason = "streams are the other row's")]
mod rpc;

use std::{
    fs,
    future::{Future, poll_fn},
    path::Path,
    pin::pin,
    task::Poll,
};

use bare::{Asked, Failure};
use bytes::{Bytes, BytesMut};
use rpc::{CallArrival, Client, Exchange, Message};
use tokio::{
    net::UnixListener,
    runtime::{Builder, Runtime},
    sync::mpsc,
    task::yield_now,
};
use tonic::transport::{Endpoint, Server};

fn main() -> Result<(), Failure> {
    let asked = Asked::read()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if let Some(path) = &asked.told {
        let client = runtime.block_on(connect(Path::new(path), asked.payload))?;
        bare::pin(asked.leader_cpu);
        return lead(&runtime, &client, &asked);
    }
    let directory = std::env::temp_dir().join(bare::name());
    fs::create_dir(&directory)?;
    let path = directory.join("tonic");
    let listener = runtime.block_on(async { UnixListener::bind(&path) })?;
    let mut leader = asked.start_other(&path.display().to_string())?;
    let mut calls = runtime.block_on(listen(listener, asked.payload))?;
    bare::pin(asked.follower_cpu);
    follow(&runtime, &mut calls, &asked)?;
    // The last response is sent while this waits for a call that never comes.
    let _ = runtime.block_on(calls.recv());
    leader.wait()?;
    Ok(fs::remove_dir_all(&directory)?)
}

async fn connect(path: &Path, payload: usize) -> Result<Client, Failure> {
    let channel = Endpoint::from_shared(format!("unix://{}", path.display()))?.connect().await?;
    Ok(rpc::client(channel, rpc::most_bytes(payload)))
}

async fn listen(
    listener: UnixListener,
    payload: usize,
) -> Result<mpsc::Receiver<CallArrival>, Failure> {
    let (socket, _) = listener.accept().await?;
    let (streams, _) = mpsc::channel(1);
    let (calls, arrivals) = mpsc::channel(1);
    let service = Exchange { streams, calls, most_bytes: rpc::most_bytes(payload) };
    let incoming = tokio_stream::once(Ok::<_, std::io::Error>(socket));
    tokio::spawn(Server::builder().serve_with_incoming(service, incoming));
    Ok(arrivals)
}

/// The result of a future: polled all the time, or awaited.
async fn done<T>(future: impl Future<Output = T>, spins: bool) -> T {
    if !spins {
        return future.await;
    }
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
            return result;
        }
        yield_now().await;
    }
}

/// A message with this number, in room that the library has released.
fn message(room: &mut Bytes, number: u64) -> Message {
    let mut bytes =
        std::mem::take(room).try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    bare::write(&mut bytes, number);
    *room = bytes.freeze();
    Message { payload: room.clone() }
}

fn lead(runtime: &Runtime, client: &Client, asked: &Asked) -> Result<(), Failure> {
    let mut room = Bytes::from(vec![1; asked.payload]);
    asked.lead(|n| {
        let request = message(&mut room, n);
        let response = runtime.block_on(done(rpc::call(client.clone(), request), asked.spins))?;
        assert_eq!(bare::read(&response.payload, asked.payload)?, n);
        Ok(())
    })
}

fn follow(
    runtime: &Runtime,
    calls: &mut mpsc::Receiver<CallArrival>,
    asked: &Asked,
) -> Result<(), Failure> {
    let mut room = Bytes::from(vec![1; asked.payload]);
    asked.follow(|| {
        runtime.block_on(async {
            let arrival = done(calls.recv(), asked.spins).await.ok_or("the leader is gone")?;
            let number = bare::read(&arrival.incoming.payload, asked.payload)?;
            let response = message(&mut room, number);
            arrival.back.send(response).map_err(|_| "the call is gone")?;
            // The library's tasks serialise and send it.
            yield_now().await;
            Ok(())
        })
    })
}
