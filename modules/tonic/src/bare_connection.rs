//! How the two ends of tonic's bare programs connect.

use std::path::Path;

use tokio::{net::UnixListener, sync::mpsc};
use tonic::transport::{Endpoint, Server};

use crate::{
    bare::Failure,
    rpc::{self, CallArrival, Client, Exchange, StreamArrival},
};

/// The leader's client.
pub async fn connect(path: &Path, payload: usize) -> Result<Client, Failure> {
    let channel = Endpoint::from_shared(format!("unix://{}", path.display()))?.connect().await?;
    Ok(rpc::client(channel, rpc::most_bytes(payload)))
}

/// The streams and calls that come to the follower.
pub async fn listen(
    listener: UnixListener,
    payload: usize,
) -> Result<(mpsc::Receiver<StreamArrival>, mpsc::Receiver<CallArrival>), Failure> {
    let (socket, _) = listener.accept().await?;
    let (streams, opened) = mpsc::channel(1);
    let (calls, called) = mpsc::channel(1);
    let service = Exchange { streams, calls, most_bytes: rpc::most_bytes(payload) };
    let incoming = tokio_stream::once(Ok::<_, std::io::Error>(socket));
    tokio::spawn(Server::builder().serve_with_incoming(service, incoming));
    Ok((opened, called))
}
