//! The sending half of an endpoint.

use std::os::fd::AsRawFd;

use ipcmark_transport::{Error, Settings, Step, Wait};
use nix::{
    errno::Errno,
    sys::socket::{MsgFlags, recv, send},
};

use super::{
    part::{self, HEAD, PartHeader},
    sockets::{OBJECT, Sockets},
};
use crate::{
    buffer::{ALIGNMENT, Buffer, Spares},
    frame::refused,
};

/// The number of failed checks for a credit before a sender with a full window drops the message: about
/// 200 ms, more than a scheduler delays a runnable process.
fn full_retries(wait: Wait) -> u32 {
    if wait == Wait::Spin { 100_000 } else { 40 }
}

/// The sending half.
pub struct Sender {
    /// A line for the first header, then the message.
    buffer: Buffer,
    /// The other buffers, if there are several.
    spares: Spares,
    /// The length of the message on loan, the number of its bytes sent, and its sequence number.
    pub len: usize,
    sent: usize,
    message: u32,
    /// The number of parts that may be in flight.
    window: u32,
    /// The number of parts that the receiver is known to have.
    credited: u32,
    /// The number of failed checks since the last credit.
    failed_checks: u32,
    full_retries: u32,
}

impl Sender {
    /// Creates the half for a receiver with this window.
    pub fn new(settings: &Settings, window: u32) -> Result<Self, Error> {
        Ok(Self {
            buffer: Buffer::new(ALIGNMENT + settings.payload),
            spares: Spares::new(ALIGNMENT + settings.payload, settings)?,
            len: 0,
            sent: 0,
            message: 0,
            window,
            credited: 0,
            failed_checks: 0,
            full_retries: full_retries(settings.wait),
        })
    }

    /// The room on loan.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[ALIGNMENT..ALIGNMENT + self.len]
    }

    /// Exchanges the buffer.
    pub fn next(&mut self) {
        self.spares.exchange(&mut self.buffer);
    }

    /// Sends as much as the window allows; sleeps at most once.
    #[inline]
    pub fn publish(&mut self, sockets: &Sockets) -> Result<Step, Error> {
        while self.sent < self.len {
            let head = PartHeader::at(self.sent, self.message, self.len);
            if head.index >= self.credited.saturating_add(self.window) {
                return self.await_credit(sockets);
            }
            let at = ALIGNMENT + self.sent - HEAD;
            self.buffer[at..at + HEAD].copy_from_slice(&head.to_bytes());
            let datagram = &self.buffer[at..at + HEAD + head.len()];
            match send(sockets.data.as_raw_fd(), datagram, MsgFlags::MSG_NOSIGNAL) {
                Ok(_) => self.sent += head.len(),
                Err(Errno::ENOBUFS) => return Ok(Step::WouldBlock),
                Err(errno) => return refused(errno, "write to", OBJECT),
            }
        }
        Ok(self.finish())
    }

    /// Checks for a credit. After too many failed checks the message is lost, which is no error.
    fn await_credit(&mut self, sockets: &Sockets) -> Result<Step, Error> {
        let mut credit = [0; HEAD];
        match recv(sockets.credit.as_raw_fd(), &mut credit, MsgFlags::empty()) {
            Ok(count) => {
                self.accept(PartHeader::from_bytes(credit), count);
                Ok(Step::WouldBlock)
            }
            Err(Errno::EAGAIN) => {
                self.failed_checks += 1;
                let lost = self.failed_checks > self.full_retries;
                Ok(if lost { self.finish() } else { Step::WouldBlock })
            }
            Err(errno) => refused(errno, "hear from", OBJECT),
        }
    }

    /// Counts a credit, unless it is for an earlier message.
    fn accept(&mut self, credit: PartHeader, count: usize) {
        if count == HEAD && credit.message == self.message && credit.index > self.credited {
            self.credited = credit.index.min(part::count(self.len));
            self.failed_checks = 0;
        }
    }

    #[inline]
    fn finish(&mut self) -> Step {
        self.sent = 0;
        self.credited = 0;
        self.failed_checks = 0;
        self.message = self.message.wrapping_add(1);
        Step::Done
    }
}
