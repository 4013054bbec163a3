//! A bare program of calls by tonic, the baseline for `grpc-tonic-unary`: a message of the leader is a request, and the
//! follower's is its response. The process that was started first is the follower: it listens.

#[path = "../../shared/rust/bare.rs"]
mod bare;
mod bare_connection;
#[expect(dead_code, reason = "streams are the other row's")]
mod rpc;
#[path = "../../shared/rust/wait.rs"]
mod wait;

use std::{fs, path::Path};

use bare::{Asked, Failure};
use bytes::{Bytes, BytesMut};
use rpc::{CallArrival, Client, Message};
use tokio::{
    net::UnixListener,
    runtime::{Builder, Runtime},
    sync::mpsc,
    task::yield_now,
};
use wait::wait;

fn main() -> Result<(), Failure> {
    let asked = Asked::read()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if let Some(path) = &asked.told {
        let client = runtime.block_on(bare_connection::connect(Path::new(path), asked.payload))?;
        bare::pin(asked.leader_cpu);
        return lead(&runtime, &client, &asked);
    }
    let directory = std::env::temp_dir().join(bare::name());
    fs::create_dir(&directory)?;
    let path = directory.join("tonic");
    let listener = runtime.block_on(async { UnixListener::bind(&path) })?;
    let mut leader = asked.start_other(&path.display().to_string())?;
    let (_, mut calls) = runtime.block_on(bare_connection::listen(listener, asked.payload))?;
    bare::pin(asked.follower_cpu);
    follow(&runtime, &mut calls, &asked)?;
    // The last response is sent while this waits for a call that never comes.
    let _ = runtime.block_on(calls.recv());
    leader.wait()?;
    Ok(fs::remove_dir_all(&directory)?)
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
        let response = runtime.block_on(wait(rpc::call(client.clone(), request), asked.spins))?;
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
            let arrival = wait(calls.recv(), asked.spins).await.ok_or("the leader is gone")?;
            let number = bare::read(&arrival.incoming.payload, asked.payload)?;
            let response = message(&mut room, number);
            arrival.back.send(response).map_err(|_| "the call is gone")?;
            // The library's tasks serialise and send it.
            yield_now().await;
            Ok(())
        })
    })
}
