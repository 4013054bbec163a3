//! Set-up: the follower listens on a Unix domain socket in the session's directory, the leader connects. And the loop
//! in which the library works.

use std::{
    collections::BTreeMap,
    fs,
    future::{Future, poll_fn},
    io,
    os::unix::{ffi::OsStringExt, net},
    path::PathBuf,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use hyper_util::rt::TokioIo;
use ipcmark_transport::{Error, Rendezvous, Settings, Step, Wait};
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
    wire::{Progress, Wire},
};

/// What an end fails to do.
pub const OBJECT: &str = "messages by gRPC";

/// How long one sleep lasts at most while an end opens.
const SHORT_SLEEP: Duration = Duration::from_millis(100);

/// How often a spinning end looks before it returns: as often as the library's tasks pass a message on to one another.
const POLLS: u32 = 4;

/// The ends find each other within this time, on a busy machine too: a session is given up after ten seconds.
const CONNECTED_WITHIN: Duration = Duration::from_secs(8);

/// The runtime, in the thread of the end, and what it knows of its socket.
pub struct Connection {
    pub progress: Progress,
    runtime: Runtime,
    patience: Patience,
    most_bytes: usize,
}

/// How an end waits.
#[derive(Clone, Copy)]
enum Patience {
    /// While it opens: for a while.
    Opening,
    Spin,
    /// Whatever ends a wait wakes it up.
    Block,
}

/// What arrives at the follower.
pub struct Arrivals {
    pub streams: mpsc::Receiver<StreamArrival>,
    pub calls: mpsc::Receiver<CallArrival>,
}

#[cold]
pub fn gone() -> Error {
    Error::peer_gone("exchange", OBJECT)
}

/// What was set of the library, for the result.
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
    fn new(socket: net::UnixStream, settings: &Settings) -> Result<(Self, Wire), Error> {
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
            runtime,
            patience: Patience::Opening,
            most_bytes: rpc::most_bytes(settings.payload),
        };
        Ok((connection, wire))
    }

    /// The leader's part: a channel over the socket at which the follower listens.
    pub fn connect(
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<(Self, Client), Error> {
        let (path, _) = peers.receive(0)?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(path));
        let socket = net::UnixStream::connect(&path)
            .map_err(|e| Error::os("connect to", path.display().to_string(), e))?;
        peers.meet()?;
        let (connection, wire) = Self::new(socket, settings)?;
        let client = connection.complete(open_channel(wire, connection.most_bytes))?;
        Ok((connection, client))
    }

    /// The follower's part: a server of the one connection.
    pub fn listen(
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<(Self, Arrivals), Error> {
        let listener = Listener::new(settings)?;
        peers.send(0, listener.path.as_os_str().as_encoded_bytes(), &[])?;
        // The leader is connected then, and nobody waits for one that is not there.
        peers.meet()?;
        let (connection, wire) = Self::new(listener.accept()?, settings)?;
        let (streams, stream_arrivals) = mpsc::channel(1);
        let (calls, call_arrivals) = mpsc::channel(1);
        let service = Exchange { streams, calls, most_bytes: connection.most_bytes };
        let incoming = tokio_stream::once(Ok::<_, io::Error>(wire));
        connection.runtime.spawn(Server::builder().serve_with_incoming(service, incoming));
        Ok((connection, Arrivals { streams: stream_arrivals, calls: call_arrivals }))
    }

    /// The error of a call or a stream that has failed: the library has many codes for a connection that is gone.
    #[cold]
    pub fn ended(&self, status: &Status) -> Error {
        if self.progress.is_closed() {
            return gone();
        }
        let cause = format!("{}: {}", status.code().description(), status.message());
        Error::new("exchange", OBJECT, cause)
    }

    /// For set-up: waits for a while until it is done.
    pub fn complete<T>(&self, work: impl Future<Output = Result<T, Status>>) -> Result<T, Error> {
        match self.runtime.block_on(async { timeout(CONNECTED_WITHIN, work).await }) {
            Ok(done) => done.map_err(|status| self.ended(&status)),
            Err(_) => Err(late()),
        }
    }
}

#[cold]
fn late() -> Error {
    Error::new("exchange", OBJECT, "the other end was not there in time")
}

/// As tonic's example of a Unix socket does it, but connects once: an end that is gone does not come back.
async fn open_channel(wire: Wire, most_bytes: usize) -> Result<Client, Status> {
    let mut wire = Some(TokioIo::new(wire));
    let connect = move |_| {
        let wire = wire.take().ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused));
        std::future::ready(wire)
    };
    // The name is one that no request is sent to.
    let endpoint = Endpoint::from_static("http://ipcmark");
    let channel = endpoint.connect_with_connector(service_fn(connect)).await;
    let channel = channel.map_err(|error| Status::unavailable(error.to_string()))?;
    Ok(rpc::client(channel, most_bytes))
}

/// A first message there and back: what connects the ends.
pub fn greet<E: ipcmark_transport::Endpoint>(
    end: &mut E,
    leads: bool,
    publish: impl Fn(&mut E) -> Result<Step, Error>,
) -> Result<(), Error> {
    let deadline = Instant::now() + CONNECTED_WITHIN;
    for sends in [leads, !leads] {
        while (if sends { publish(end)? } else { end.take()? }) == Step::WouldBlock {
            if Instant::now() > deadline {
                return Err(late());
            }
        }
    }
    end.release()
}

/// A socket that is gone from the directory once the leader is connected.
struct Listener {
    socket: net::UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Nobody else knows the name, and only this user reaches the directory.
    fn new(settings: &Settings) -> Result<Self, Error> {
        let path = settings.directory.join(format!("{}.tonic", settings.name));
        let fail = |e| Error::os("listen at", path.display().to_string(), e);
        let socket = net::UnixListener::bind(&path).map_err(fail)?;
        Ok(Self { socket, path })
    }

    fn accept(&self) -> Result<net::UnixStream, Error> {
        let accepted = self.socket.set_nonblocking(true).and_then(|()| self.socket.accept());
        let fail = |e| Error::os("accept at", self.path.display().to_string(), e);
        accepted.map(|(socket, _)| socket).map_err(fail)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It may be gone with the directory.
        let _ = fs::remove_file(&self.path);
    }
}

// The hot path ------------------------------------------------------------------------------------

impl Connection {
    /// Lets the library work until this is ready, as the end waits: none if it is not yet.
    #[inline]
    pub fn drive<T>(&self, ready: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
        match self.patience {
            Patience::Opening => self.runtime.block_on(sleep(ready)),
            Patience::Spin => self.runtime.block_on(spin(ready)),
            Patience::Block => Some(self.runtime.block_on(poll_fn(ready))),
        }
    }

    /// It is open: from now on it waits as it is asked to.
    pub fn settle(&mut self, settings: &Settings) {
        let sleeps = settings.wait == Wait::Block;
        self.patience = if sleeps { Patience::Block } else { Patience::Spin };
    }
}

async fn sleep<T>(ready: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
    timeout(SHORT_SLEEP, poll_fn(ready)).await.ok()
}

/// With a task that yields, the runtime looks at its sockets without sleeping.
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
