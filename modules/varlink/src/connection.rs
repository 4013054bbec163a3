//! The library's connection, the runtime that it works in, and the endpoint's way to wait.

use std::{
    future::{Future, poll_fn},
    io::ErrorKind,
    pin::{Pin, pin},
    task::Poll,
};

use ipcmark_transport::{Deadline, Error, Rendezvous, Settings, Step, Wait};
use tokio::{
    runtime::{Builder, Runtime},
    task::yield_now,
    time::timeout,
};
use tokio_util::sync::ReusableBoxFuture;
use zlink::{
    Call, Reply,
    connection::{ReadConnection, Socket, WriteConnection},
    tokio::unix,
};

use crate::{
    message::{self, Exchanged, JSON_BYTES, Method},
    unix_socket,
};

/// The object in an endpoint's errors.
pub const OBJECT: &str = "messages by Varlink";

/// The number of polls of a spinning endpoint before it returns. The runtime looks at its socket between two polls, and
/// takes some time to enter and leave.
const POLLS: u32 = 32;

/// The characters of a call that only makes the library's buffer grow.
const GROWTH: usize = 1024;

type Reader = ReadConnection<<unix::Stream as Socket>::ReadHalf>;
type Writer = WriteConnection<<unix::Stream as Socket>::WriteHalf>;

/// The connection of an endpoint, dropped before its runtime.
pub struct Connection {
    reader: Reader,
    /// `None` while a message is sent.
    outgoing: Option<Outgoing>,
    /// The message that is sent, or was sent last. The library does not go on with a message that it has begun, so its
    /// future is kept, in the same memory for every message.
    sending: Option<ReusableBoxFuture<'static, (Outgoing, zlink::Result<()>)>>,
    leads: bool,
    sleeps: bool,
    runtime: Runtime,
}

/// The library's half for messages, and the text of one.
struct Outgoing {
    writer: Writer,
    text: String,
}

impl Connection {
    /// Connects, and exchanges a message of the largest size in each direction.
    pub fn open(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let leads = settings.role.is_leader();
        let socket = match leads {
            true => unix_socket::connect(peers)?,
            false => unix_socket::accept(settings, "varlink", peers)?,
        };
        let deadline = settings.deadline();
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Error::os("start", "a runtime of tokio", e))?;
        let stream = {
            let _context = runtime.enter();
            unix::Stream::try_from(socket)
        };
        let library = unix::Connection::new(stream.map_err(failed("connect"))?);
        let (mut reader, mut writer) = library.split();
        prepare(&runtime, deadline, grow(&mut reader, &mut writer, leads, settings.payload))?;
        let sleeps = settings.wait == Wait::Block;
        let outgoing = Some(Outgoing { writer, text: String::new() });
        let mut connection = Self { reader, outgoing, sending: None, leads, sleeps, runtime };
        connection.greet(settings.payload, deadline)?;
        peers.meet()?;
        Ok(connection)
    }

    /// A message of the largest size in each direction, for the buffer of incoming messages.
    fn greet(&mut self, payload: usize, deadline: Deadline) -> Result<(), Error> {
        let mut room = vec![1; payload];
        for sends in [self.leads, !self.leads] {
            if sends {
                while self.send(|text| message::encode(&room, text))? == Step::WouldBlock {}
            } else {
                let receiving = receive(&mut self.reader, self.leads, &mut room);
                prepare(&self.runtime, deadline, receiving)?;
            }
        }
        Ok(())
    }

    /// Sends a call or a reply, whose text is written if it is not being sent already.
    #[inline]
    pub fn send(&mut self, write: impl FnOnce(&mut String)) -> Result<Step, Error> {
        if let Some(mut outgoing) = self.outgoing.take() {
            write(&mut outgoing.text);
            let sending = send(outgoing, self.leads);
            match &mut self.sending {
                Some(place) => place.set(sending),
                None => self.sending = Some(ReusableBoxFuture::new(sending)),
            }
        }
        let Some(sending) = &mut self.sending else { return Ok(Step::Done) };
        match self.runtime.block_on(wait(sending.get_pin(), self.sleeps)) {
            None => Ok(Step::WouldBlock),
            Some((outgoing, sent)) => {
                self.outgoing = Some(outgoing);
                sent.map_err(failed("publish"))?;
                Ok(Step::Done)
            }
        }
    }

    /// Receives a call or a reply into `payload`, and returns its length; `None` if it has not arrived.
    #[inline]
    pub fn receive(&mut self, payload: &mut [u8]) -> Result<Option<usize>, Error> {
        let receiving = receive(&mut self.reader, self.leads, payload);
        let received = self.runtime.block_on(wait(pin!(receiving), self.sleeps));
        received.transpose().map_err(failed("receive"))
    }
}

/// Lets the library do a part of the set-up, with a time limit.
fn prepare<T>(
    runtime: &Runtime,
    deadline: Deadline,
    work: impl Future<Output = zlink::Result<T>>,
) -> Result<T, Error> {
    let prepared = runtime.block_on(async { timeout(deadline.left(), work).await });
    let late = || Error::new("exchange", OBJECT, format!("the other end did not come {deadline}"));
    prepared.map_err(|_| late())?.map_err(failed("exchange"))
}

/// Converts an error of the library to one of ours.
fn failed(operation: &'static str) -> impl Fn(zlink::Error) -> Error {
    move |error| match error {
        zlink::Error::UnexpectedEof => Error::peer_gone(operation, OBJECT),
        zlink::Error::Io(error) => match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                Error::peer_gone(operation, OBJECT)
            }
            _ => Error::os(operation, OBJECT, error),
        },
        error => Error::new(operation, OBJECT, error.to_string()),
    }
}

/// Waits for work of the library in the endpoint's way; `None` if it is not done yet. A spinning end looks a few times.
/// Because a task yields, the runtime polls its sockets without sleeping.
async fn wait<T>(
    mut work: Pin<&mut (impl Future<Output = T> + ?Sized)>,
    sleeps: bool,
) -> Option<T> {
    if sleeps {
        return Some(work.await);
    }
    for _ in 0..POLLS {
        let looked = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if let Poll::Ready(done) = looked {
            return Some(done);
        }
        yield_now().await;
    }
    None
}

// Messages ----------------------------------------------------------------------------------------

async fn send(mut outgoing: Outgoing, leads: bool) -> (Outgoing, zlink::Result<()>) {
    let Outgoing { writer, text } = &mut outgoing;
    let sent = if leads {
        writer.send_call(&Call::new(Method::Exchange { payload: text }), Vec::new()).await
    } else {
        writer.send_reply(&Reply::from(Exchanged { payload: text }), Vec::new()).await
    };
    (outgoing, sent)
}

#[inline]
async fn receive(reader: &mut Reader, leads: bool, payload: &mut [u8]) -> zlink::Result<usize> {
    if leads {
        let (reply, _) = reader.receive_reply::<Exchanged<'_>, ()>().await?;
        let reply = reply.ok().and_then(Reply::into_parameters);
        decoded(reply.ok_or(zlink::Error::MissingParameters)?.payload, payload)
    } else {
        let (call, _) = reader.receive_call::<Method<'_>>().await?;
        let Method::Exchange { payload: text } = call.method();
        decoded(text, payload)
    }
}

fn decoded(text: &str, payload: &mut [u8]) -> zlink::Result<usize> {
    message::decode(text, payload).map_err(|error| {
        let cause = std::io::Error::new(ErrorKind::InvalidData, error.to_string());
        zlink::Error::Io(cause)
    })
}

/// Makes the library's buffer for outgoing messages large enough, by calls without a reply. It grows by 256 bytes at a
/// time, and for each of them the library serialises the message again: 22,000 times for a first message of 4 MiB.
async fn grow(
    reader: &mut Reader,
    writer: &mut Writer,
    leads: bool,
    payload: usize,
) -> zlink::Result<()> {
    let count = (message::encoded_len(payload) + JSON_BYTES).div_ceil(GROWTH);
    for sends in [leads, !leads] {
        if sends {
            let text = "0".repeat(GROWTH);
            let call = Call::new(Method::Exchange { payload: &text }).set_oneway(true);
            for _ in 0..count {
                writer.enqueue_call(&call, Vec::new())?;
            }
            writer.flush().await?;
        } else {
            for _ in 0..count {
                reader.receive_call::<Method<'_>>().await?;
            }
        }
    }
    Ok(())
}
