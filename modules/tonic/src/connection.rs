//! Set-up: the follower listens on a Unix domain socket in the session's directory, the leader connects. Also the loop
//! in which the library works.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    io,
    os::unix::net,
    task::{Context, Poll},
    time::Duration,
};

use hyper_util::rt::TokioIo;
use ipcmark_transport::{Deadline, Error, Rendezvous, Settings, Step, Wait};
use tokio::{
    net::UnixStream,
    runtime::{Builder, Runtime},
    sync::mpsc,
    task::yield_now,
    time::timeout,
};
use tonic::{
    Status,
    transport::{Endpoint, Server},
};
use tower::service_fn;

use crate::{
    rpc::{self, CallArrival, Client, Exchange, StreamArrival},
    unix_socket,
    wire::{Progress, Wire},
};

/// The object in an endpoint's errors.
pub const OBJECT: &str = "messages by gRPC";

/// The longest sleep while an endpoint opens.
const SHORT_SLEEP: Duration = Duration::from_millis(100);

/// The number of polls of a spinning endpoint before it returns: far more than the library's tasks need to pass a message
/// from one to the next, for the runtime takes some time to enter and leave.
const POLLS: u32 = 32;

/// The runtime, in the thread of the endpoint, and its knowledge of the socket.
pub struct Connection {
    pub progress: Progress,
    /// The end of the time for the endpoints to find each other.
    pub deadline: Deadline,
    runtime: Runtime,
    patience: Patience,
    most_bytes: usize,
}

/// An endpoint's way to wait.
#[derive(Clone, Copy)]
enum Patience {
    /// While it opens: with a time limit.
    Opening,
    Spin,
    /// Every event that ends a wait wakes it up.
    Block,
}

/// The arrivals at the follower.
pub struct Arrivals {
    pub streams: mpsc::Receiver<StreamArrival>,
    pub calls: mpsc::Receiver<CallArrival>,
}

#[cold]
pub fn gone() -> Error {
    Error::peer_gone("exchange", OBJECT)
}

/// The settings of the library, for the result.
pub fn noted(settings: &Settings) -> BTreeMap<String, String> {
    let entry = |(key, value): (&str, String)| (key.to_owned(), value);
    [
        ("runtime", "tokio's current_thread".into()),
        ("largest message", format!("{} bytes", rpc::most_bytes(settings.payload))),
    ]
    .map(entry)
    .into()
}

// Set-up ------------------------------------------------------------------------------------------

impl Connection {
    fn new(
        socket: net::UnixStream,
        settings: &Settings,
        deadline: Deadline,
    ) -> Result<(Self, Wire), Error> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Error::os("start", "a runtime of tokio", e))?;
        let socket = {
            let _context = runtime.enter();
            socket.set_nonblocking(true).and_then(|()| UnixStream::from_std(socket))
        };
        let socket = socket.map_err(|e| Error::os("poll", "a Unix socket", e))?;
        let wire = Wire::new(socket, settings.role.is_leader());
        let connection = Self {
            progress: wire.progress(),
            deadline,
            runtime,
            patience: Patience::Opening,
            most_bytes: rpc::most_bytes(settings.payload),
        };
        Ok((connection, wire))
    }

    /// For the leader: a channel over the socket at which the follower listens.
    pub fn connect(
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<(Self, Client), Error> {
        let deadline = settings.deadline();
        let (connection, wire) = Self::new(unix_socket::connect(peers)?, settings, deadline)?;
        let client = connection.complete(open_channel(wire, connection.most_bytes))?;
        Ok((connection, client))
    }

    /// For the follower: a server for the single connection.
    pub fn listen(
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<(Self, Arrivals), Error> {
        let deadline = settings.deadline();
        let socket = unix_socket::accept(settings, "tonic", peers)?;
        let (connection, wire) = Self::new(socket, settings, deadline)?;
        let (streams, stream_arrivals) = mpsc::channel(1);
        let (calls, call_arrivals) = mpsc::channel(1);
        let service = Exchange { streams, calls, most_bytes: connection.most_bytes };
        let incoming = tokio_stream::once(Ok::<_, io::Error>(wire));
        connection.runtime.spawn(Server::builder().serve_with_incoming(service, incoming));
        Ok((connection, Arrivals { streams: stream_arrivals, calls: call_arrivals }))
    }

    /// The error of a failed call or stream: the library has many codes for a closed connection.
    #[cold]
    pub fn ended(&self, status: &Status) -> Error {
        if self.progress.is_closed() {
            return gone();
        }
        let cause = format!("{}: {}", status.code().description(), status.message());
        Error::new("exchange", OBJECT, cause)
    }

    /// For set-up: waits until it is done, with a time limit.
    pub fn complete<T>(&self, work: impl Future<Output = Result<T, Status>>) -> Result<T, Error> {
        match self.runtime.block_on(async { timeout(self.deadline.left(), work).await }) {
            Ok(done) => done.map_err(|status| self.ended(&status)),
            Err(_) => Err(late(self.deadline)),
        }
    }
}

#[cold]
fn late(deadline: Deadline) -> Error {
    Error::new("exchange", OBJECT, format!("the other end did not come {deadline}"))
}

/// As in tonic's example of a Unix socket, but it connects only once: a closed end does not come back.
async fn open_channel(wire: Wire, most_bytes: usize) -> Result<Client, Status> {
    let mut wire = Some(TokioIo::new(wire));
    let connect = move |_| {
        let wire = wire.take().ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused));
        std::future::ready(wire)
    };
    // A placeholder name, to which no request is sent.
    let endpoint = Endpoint::from_static("http://ipcmark");
    let channel = endpoint.connect_with_connector(service_fn(connect)).await;
    let channel = channel.map_err(|error| Status::unavailable(error.to_string()))?;
    Ok(rpc::client(channel, most_bytes))
}

/// A first message in each direction, which connects the two endpoints.
pub fn greet<E: ipcmark_transport::Endpoint>(
    end: &mut E,
    leads: bool,
    deadline: Deadline,
    publish: impl Fn(&mut E) -> Result<Step, Error>,
) -> Result<(), Error> {
    for sends in [leads, !leads] {
        while (if sends { publish(end)? } else { end.take()? }) == Step::WouldBlock {
            if deadline.has_passed() {
                return Err(late(deadline));
            }
        }
    }
    end.release()
}

// The hot path ------------------------------------------------------------------------------------

impl Connection {
    /// Lets the library work until this is ready, in the endpoint's way to wait; `None` if it is not ready yet.
    #[inline]
    pub fn drive<T>(&self, ready: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
        match self.patience {
            Patience::Opening => self.runtime.block_on(sleep(ready)),
            Patience::Spin => self.runtime.block_on(spin(ready)),
            Patience::Block => Some(self.runtime.block_on(poll_fn(ready))),
        }
    }

    /// The endpoint is open: from now on it waits in the requested way.
    pub fn settle(&mut self, settings: &Settings) {
        let sleeps = settings.wait == Wait::Block;
        self.patience = if sleeps { Patience::Block } else { Patience::Spin };
    }
}

async fn sleep<T>(ready: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
    timeout(SHORT_SLEEP, poll_fn(ready)).await.ok()
}

/// Because a task yields, the runtime polls its sockets without sleeping.
async fn spin<T>(mut ready: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
    for _ in 0..POLLS {
        let looked = poll_fn(|cx| Poll::Ready(ready(cx))).await;
        if let Poll::Ready(done) = looked {
            return Some(done);
        }
        yield_now().await;
    }
    None
}
