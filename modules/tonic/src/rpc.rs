//! The message and the service of `modules/grpc/message.proto`, without generated code.

use std::{convert::Infallible, future::Future, pin::Pin, task::Context, task::Poll};

use bytes::Bytes;
use http::uri::PathAndQuery;
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt, wrappers::ReceiverStream};
use tonic::{Request, Response, Status, Streaming, body::Body, transport::Channel};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

/// A message of bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Message {
    /// The measured payload.
    #[prost(bytes = "bytes", tag = "1")]
    pub payload: Bytes,
}

/// An upper bound of what protobuf adds to a payload.
const MESSAGE_HEAD: usize = 64;

/// The bytes that gRPC writes before each message.
pub const PREFIX: usize = 5;

pub const STREAM: &str = "/ipcmark_grpc.Exchange/Stream";
pub const UNARY: &str = "/ipcmark_grpc.Exchange/Unary";

/// tonic's own limit, 4 MiB, includes the bytes that protobuf adds.
pub fn most_bytes(payload: usize) -> usize {
    payload + MESSAGE_HEAD
}

pub fn codec() -> ProstCodec<Message, Message> {
    ProstCodec::default()
}

/// A client of the service.
pub type Client = tonic::client::Grpc<Channel>;

pub fn client(channel: Channel, most_bytes: usize) -> Client {
    Client::new(channel).max_decoding_message_size(most_bytes)
}

/// A bidirectional stream, opened by the client.
pub async fn open_stream(
    client: &mut Client,
    outgoing: mpsc::Receiver<Message>,
) -> Result<Streaming<Message>, Status> {
    ready(client).await?;
    let request = Request::new(ReceiverStream::new(outgoing));
    let path = PathAndQuery::from_static(STREAM);
    Ok(client.streaming(request, path, codec()).await?.into_inner())
}

/// One call.
pub async fn call(mut client: Client, message: Message) -> Result<Message, Status> {
    ready(&mut client).await?;
    let path = PathAndQuery::from_static(UNARY);
    Ok(client.unary(Request::new(message), path, codec()).await?.into_inner())
}

async fn ready(client: &mut Client) -> Result<(), Status> {
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))
}

/// A request with the channel for its answer.
pub struct Arrival<Incoming, Back> {
    pub incoming: Incoming,
    pub back: Back,
}

/// A stream that a client has opened.
pub type StreamArrival = Arrival<Streaming<Message>, mpsc::Sender<Message>>;

/// A call of a client.
pub type CallArrival = Arrival<Message, tokio::sync::oneshot::Sender<Message>>;

/// The service: it passes arrivals to the endpoint, which answers.
#[derive(Clone)]
pub struct Exchange {
    pub streams: mpsc::Sender<StreamArrival>,
    pub calls: mpsc::Sender<CallArrival>,
    pub most_bytes: usize,
}

type Answer = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

impl Service<http::Request<Body>> for Exchange {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Answer {
        let Self { streams, calls, most_bytes } = self.clone();
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(codec()).max_decoding_message_size(most_bytes);
            Ok(match request.uri().path() {
                STREAM => {
                    let open = move |request| take_stream(streams.clone(), request);
                    grpc.streaming(service_fn(open), request).await
                }
                UNARY => {
                    let answer = move |request| answer(calls.clone(), request);
                    grpc.unary(service_fn(answer), request).await
                }
                _ => Status::unimplemented("there is no such method").into_http(),
            })
        })
    }
}

/// The error that ends a wait for an arrival.
pub fn closed() -> Status {
    Status::unavailable("the connection is closed")
}

fn gone<E>(_: E) -> Status {
    closed()
}

async fn take_stream(
    streams: mpsc::Sender<StreamArrival>,
    request: Request<Streaming<Message>>,
) -> Result<Response<impl Stream<Item = Result<Message, Status>>>, Status> {
    let (back, outgoing) = mpsc::channel(1);
    streams.send(Arrival { incoming: request.into_inner(), back }).await.map_err(gone)?;
    Ok(Response::new(ReceiverStream::new(outgoing).map(Ok)))
}

async fn answer(
    calls: mpsc::Sender<CallArrival>,
    request: Request<Message>,
) -> Result<Response<Message>, Status> {
    let (back, response) = tokio::sync::oneshot::channel();
    calls.send(Arrival { incoming: request.into_inner(), back }).await.map_err(gone)?;
    response.await.map(Response::new).map_err(gone)
}
