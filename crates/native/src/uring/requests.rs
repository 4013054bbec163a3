//! A ring through which an end sends and receives: at most one request of each kind is pending.
//!
//! A request that does not complete at once stays with the kernel, which has the address of its bytes until it
//! completes. So a repeated attempt waits for the request of the previous one, and a ring cancels its pending requests
//! before it is dropped.

use std::{cell::Cell, io};

use io_uring::{IoUring, opcode, squeue::Entry};
use ipcmark_transport::{Error, Settings, Wait};
use nix::errno::Errno;

use super::{OBJECT, setup};

/// The kind of a request: its slot, and the number in its completion.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A send request.
    Send = 0,
    /// A receive request.
    Receive = 1,
}

/// The number of a cancel request.
const CANCEL: u64 = 2;

/// The state of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestState {
    /// No request.
    None,
    /// The kernel has the request.
    OnItsWay,
    /// The request is complete, with this result.
    Complete(i32),
}

/// A ring and its requests.
pub struct Requests {
    ring: IoUring,
    of: [Cell<RequestState>; 2],
    /// True if an attempt sleeps.
    sleeps: bool,
    /// The flags that the ring was set up with.
    flags: &'static str,
}

impl Requests {
    /// Creates a ring for these settings.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let (ring, flags) = setup::ring(settings)?;
        let of = [Cell::new(RequestState::None), Cell::new(RequestState::None)];
        Ok(Self { ring, of, sleeps: settings.wait == Wait::Block, flags })
    }

    /// The ring, for registering the resources of its requests.
    pub fn ring(&self) -> &IoUring {
        &self.ring
    }

    /// The flags that the ring was set up with.
    pub fn flags(&self) -> &'static str {
        self.flags
    }

    /// Makes a request unless one of its kind is pending, and checks for its completion: returns the number of bytes
    /// moved, or EAGAIN while it is not complete.
    ///
    /// # Safety
    /// The bytes of the request do not move, and nothing else uses them, until it is complete or this value is
    /// dropped.
    #[inline]
    pub unsafe fn attempt(
        &self,
        kind: Kind,
        request: impl FnOnce() -> Entry,
    ) -> Result<usize, Errno> {
        let place = &self.of[kind as usize];
        if place.get() == RequestState::None {
            // SAFETY: the caller's contract.
            unsafe { self.push(&request().user_data(kind as u64)) };
            place.set(RequestState::OnItsWay);
            self.call(usize::from(self.sleeps))?;
        } else if self.sleeps || self.has_work() {
            self.call(usize::from(self.sleeps))?;
        }
        self.reap();
        let RequestState::Complete(result) = place.get() else { return Err(Errno::EAGAIN) };
        place.set(RequestState::None);
        if result < 0 { Err(Errno::from_raw(-result)) } else { Ok(result as usize) }
    }

    /// Puts an entry into the queue, which has room for every request.
    ///
    /// # Safety
    /// As for [`Self::attempt`].
    #[inline]
    unsafe fn push(&self, entry: &Entry) {
        // SAFETY: no other view of the queue is alive; the rest is the caller's contract.
        let pushed = unsafe { self.ring.submission_shared().push(entry) };
        debug_assert!(pushed.is_ok(), "there are no more requests than entries");
    }

    /// True if there are completions that only a call of this thread processes, or requests that are not submitted.
    #[inline]
    fn has_work(&self) -> bool {
        // SAFETY: no other view of the queue is alive.
        let queue = unsafe { self.ring.submission_shared() };
        queue.taskrun() || queue.cq_overflow() || !queue.is_empty()
    }

    /// Submits new requests, and waits until `wanted` have completed. A call that was interrupted, or that the kernel
    /// currently has no memory for, is repeated by the next attempt.
    #[inline]
    fn call(&self, wanted: usize) -> Result<(), Errno> {
        match self.ring.submit_and_wait(wanted) {
            Ok(_) => Ok(()),
            Err(error) => passing(&error),
        }
    }

    /// Removes completions from the queue.
    #[inline]
    fn reap(&self) {
        // SAFETY: no other view of the queue is alive.
        for entry in unsafe { self.ring.completion_shared() } {
            if let Some(place) = self.of.get(entry.user_data() as usize) {
                place.set(RequestState::Complete(entry.result()));
            }
        }
    }

    /// Cancels pending requests: afterwards the kernel writes into no buffer of this end, and the other end
    /// notices at once that the descriptors are closed.
    fn take_back(&self) -> Result<(), Errno> {
        let on_its_way = || self.of.iter().any(|place| place.get() == RequestState::OnItsWay);
        self.reap();
        for (number, place) in self.of.iter().enumerate() {
            if place.get() == RequestState::OnItsWay {
                // SAFETY: the request refers to no memory.
                unsafe {
                    self.push(&opcode::AsyncCancel::new(number as u64).build().user_data(CANCEL))
                };
            }
        }
        while on_its_way() {
            self.call(1)?;
            self.reap();
        }
        Ok(())
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        if self.take_back().is_ok() {
            // A ring is torn down some time after its close, and holds the files until then.
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

#[cold]
fn passing(error: &io::Error) -> Result<(), Errno> {
    match error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw) {
        Errno::EINTR | Errno::EAGAIN | Errno::EBUSY => Ok(()),
        errno => Err(errno),
    }
}

/// Registers the files that requests refer to by index.
pub fn register_files(ring: &IoUring, files: &[i32]) -> Result<(), Error> {
    let registered = ring.submitter().register_files(files);
    registered.map_err(|e| Error::scarce("register descriptors with", OBJECT, e))
}
