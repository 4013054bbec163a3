//! One channel of a tunnel: a descriptor that is read and written without sleeping.

use std::{
    collections::VecDeque,
    fs::File,
    io::{ErrorKind, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ipcmark_transport::Error;
use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::PollFlags,
    sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, socketpair, sockopt},
    unistd::pipe2,
};

/// The most bytes that may wait for a reader on this host. Leaving more on the other host would also leave the
/// end-of-stream message there, which comes after them.
const MAX_BACKLOG: usize = 16 << 20;

/// The kind of descriptor at both ends of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum DescriptorKind {
    Stream = 0,
    Packets = 1,
    /// The write end of a pipe.
    Pipe = 2,
}

impl DescriptorKind {
    pub(super) const ALL: [Self; 3] =
        [DescriptorKind::Stream, DescriptorKind::Packets, DescriptorKind::Pipe];

    pub(super) fn of(fd: &OwnedFd) -> Self {
        match getsockopt(fd, sockopt::SockType) {
            Ok(SockType::SeqPacket) => DescriptorKind::Packets,
            Ok(_) => DescriptorKind::Stream,
            Err(_) => DescriptorKind::Pipe,
        }
    }

    /// Two ends: the tunnel's own, and the one to hand over.
    pub(super) fn pair(self) -> Result<(OwnedFd, OwnedFd), Error> {
        let made = match self {
            DescriptorKind::Stream => socket_pair(SockType::Stream),
            DescriptorKind::Packets => socket_pair(SockType::SeqPacket),
            DescriptorKind::Pipe => pipe2(OFlag::O_CLOEXEC),
        };
        made.map_err(|e| Error::scarce("make", "a channel", e))
    }

    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

fn socket_pair(kind: SockType) -> nix::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC)
}

/// This host's end of a channel.
pub(super) struct TunnelChannel {
    file: File,
    /// False for the write end of a pipe, which never has input.
    is_read: bool,
    /// The data still to be written; one entry per packet for packet sockets.
    backlog: VecDeque<Vec<u8>>,
    backlog_bytes: usize,
    /// The other host has closed its end: nothing follows the backlog.
    is_closing: bool,
}

/// The result of one read from a channel.
pub(super) enum Input {
    Data(Vec<u8>),
    Nothing,
    End,
}

impl TunnelChannel {
    pub(super) fn new(fd: OwnedFd, is_read: bool) -> Result<Self, Error> {
        fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
            .map_err(|e| Error::os("set up", "a channel", e))?;
        Ok(Self {
            file: fd.into(),
            is_read,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            is_closing: false,
        })
    }

    /// The events to poll for.
    pub(super) fn events(&self) -> PollFlags {
        let mut events = PollFlags::empty();
        events.set(PollFlags::POLLIN, self.is_read);
        events.set(PollFlags::POLLOUT, !self.backlog.is_empty());
        events
    }

    /// Accepts nothing more from either side; true once the backlog is written.
    pub(super) fn close(&mut self) -> bool {
        self.is_closing = true;
        self.is_read = false;
        self.is_done()
    }

    /// True if the other host has closed its end, and everything that it sent before is written.
    pub(super) fn is_done(&self) -> bool {
        self.is_closing && self.backlog.is_empty()
    }

    /// Reads at most `most` bytes; a packet is read whole.
    pub(super) fn read(&mut self, most: usize) -> Input {
        let mut bytes = vec![0; most];
        let read = if self.is_read { self.file.read(&mut bytes) } else { Ok(0) };
        match read {
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
                Input::Nothing
            }
            Ok(0) | Err(_) => Input::End,
            Ok(read) => {
                bytes.truncate(read);
                Input::Data(bytes)
            }
        }
    }

    /// Writes, and keeps the bytes that do not fit; false if there is no reader any more.
    ///
    /// # Errors
    /// The backlog is so long that the reader must have stopped reading.
    pub(super) fn write(&mut self, bytes: Vec<u8>) -> Result<bool, Error> {
        // An empty packet would be taken for the end of the connection.
        if !bytes.is_empty() && !self.is_closing {
            self.backlog_bytes += bytes.len();
            self.backlog.push_back(bytes);
        }
        let is_open = self.flush();
        if self.backlog_bytes + self.backlog.len() * size_of::<Vec<u8>>() > MAX_BACKLOG {
            return Err(Error::new("write to", "a channel", "its reader does not read"));
        }
        Ok(is_open)
    }

    /// Writes the backlog as far as it fits; false if there is no reader any more.
    pub(super) fn flush(&mut self) -> bool {
        while let Some(first) = self.backlog.front_mut() {
            match self.file.write(first) {
                Ok(written) => {
                    self.backlog_bytes -= written;
                    first.drain(..written);
                    if first.is_empty() {
                        self.backlog.pop_front();
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return e.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }
}

impl AsFd for TunnelChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
