//! The library's socket, and how much of an endpoint's data the socket has accepted.
//!
//! The library does not report it: an accepted message may still be in its own buffers, and it works only within the
//! endpoint's calls. So the bytes written to the socket are counted, from the heads of HTTP/2's frames.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::UnixStream,
};
use tonic::transport::server::Connected;

/// The bytes that a client sends before its first frame.
const PREFACE: usize = 24;

/// The head of a frame: three bytes of length, the kind, flags, four bytes for the stream id.
const HEAD: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;

/// The parser state of the outgoing bytes.
#[derive(Debug, Default)]
struct Frames {
    head: [u8; HEAD],
    head_len: usize,
    /// The missing bytes of the current frame.
    left: usize,
    is_data: bool,
    ends_stream: bool,
    sent: Sent,
}

/// The data that the socket has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes of messages, with gRPC's prefix.
    pub data: u64,
    /// Complete requests or responses.
    pub ended: u64,
}

impl Frames {
    fn new(leads: bool) -> Self {
        Self { left: if leads { PREFACE } else { 0 }, ..Self::default() }
    }

    fn count(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let len = if self.left > 0 { self.count_body(bytes) } else { self.count_head(bytes) };
            bytes = &bytes[len..];
        }
    }

    fn count_body(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.left);
        self.left -= len;
        if self.is_data {
            self.sent.data += len as u64;
        }
        self.end_frame();
        len
    }

    fn count_head(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(HEAD - self.head_len);
        self.head[self.head_len..self.head_len + len].copy_from_slice(&bytes[..len]);
        self.head_len += len;
        if self.head_len == HEAD {
            let [high, middle, low, kind, flags, ..] = self.head;
            self.left = u32::from_be_bytes([0, high, middle, low]) as usize;
            self.is_data = kind == DATA;
            self.ends_stream = matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0;
            self.head_len = 0;
            self.end_frame();
        }
        len
    }

    fn end_frame(&mut self) {
        if self.left == 0 {
            self.sent.ended += u64::from(self.ends_stream);
            self.ends_stream = false;
        }
    }
}

#[derive(Debug)]
struct State {
    frames: Frames,
    is_closed: bool,
    waiter: Option<Waker>,
}

/// An endpoint's knowledge of its socket. The library's tasks run in the same thread, so nobody waits for the lock.
#[derive(Clone, Debug)]
pub struct Progress(Arc<Mutex<State>>);

impl Progress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the condition holds for the accepted data; false if the connection closes before.
    pub fn poll(&self, cx: &mut Context<'_>, holds: impl Fn(Sent) -> bool) -> Poll<bool> {
        let mut state = self.state();
        match (holds(state.frames.sent), state.is_closed) {
            (true, _) => Poll::Ready(true),
            (false, true) => Poll::Ready(false),
            (false, false) => {
                state.waiter = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// True if the connection is closed.
    pub fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    fn count<'a>(&self, mut sent: usize, parts: impl Iterator<Item = &'a [u8]>) {
        let mut state = self.state();
        for part in parts {
            let len = part.len().min(sent);
            state.frames.count(&part[..len]);
            sent -= len;
        }
        wake(state);
    }

    fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        wake(state);
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waiter = state.waiter.take();
    drop(state);
    waiter.into_iter().for_each(Waker::wake);
}

/// The socket.
pub struct Wire {
    socket: UnixStream,
    progress: Progress,
}

impl Wire {
    /// `socket` is connected, and nothing has been sent through it.
    pub fn new(socket: UnixStream, leads: bool) -> Self {
        let state = State { frames: Frames::new(leads), is_closed: false, waiter: None };
        Self { socket, progress: Progress(Arc::new(Mutex::new(state))) }
    }

    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    fn note<'a>(
        &self,
        written: Poll<io::Result<usize>>,
        parts: impl Iterator<Item = &'a [u8]>,
    ) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(sent)) => self.progress.count(*sent, parts),
            Poll::Ready(Err(_)) => self.progress.close(),
            Poll::Pending => {}
        }
        written
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.progress.close();
    }
}

impl Connected for Wire {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(cx, buffer);
        let is_closed = match &read {
            Poll::Ready(Ok(())) => buffer.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_closed {
            self.progress.close();
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.note(written, [bytes].into_iter())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, parts);
        self.note(written, parts.iter().map(|part| &part[..]))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, len: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, len, kind, flags, 0, 0, 0, 1];
        frame.resize(HEAD + usize::from(len), 7);
        frame
    }

    /// The bytes that a client sends: settings, a request, and a window.
    fn sent_by_a_client() -> Vec<u8> {
        let mut bytes = vec![b'P'; PREFACE];
        for (kind, flags, len) in [(4, 0, 18), (HEADERS, 4, 40), (DATA, 0, 21), (8, 0, 4)] {
            bytes.extend(frame(kind, flags, len));
        }
        bytes.extend(frame(DATA, END_STREAM, 0));
        bytes
    }

    #[test]
    fn frames_are_counted_wherever_they_are_cut() {
        for step in [1, 2, 9, 10, 1000] {
            let mut frames = Frames::new(true);
            sent_by_a_client().chunks(step).for_each(|part| frames.count(part));
            assert_eq!(frames.sent, Sent { data: 21, ended: 1 }, "{step}");
        }
    }

    #[test]
    fn a_response_ends_with_its_trailers() {
        let mut frames = Frames::new(false);
        let trailers = frame(HEADERS, END_STREAM | 4, 12);
        frames.count(&frame(DATA, 0, 200));
        frames.count(&trailers[..20]);
        assert_eq!(frames.sent, Sent { data: 200, ended: 0 });
        frames.count(&trailers[20..]);
        assert_eq!(frames.sent, Sent { data: 200, ended: 1 });
    }
}
