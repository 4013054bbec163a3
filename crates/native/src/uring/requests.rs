//! A ring through which an end sends and receives: one request of each kind is on its way at most.
//!
//! A request that is not done at once stays with the kernel, which has the address of its bytes until it completes. So
//! an attempt that is made again waits for the request of the one before, and a ring takes back what is on its way
//! before it is dropped.

use std::{cell::Cell, io};

use io_uring::{IoUring, opcode, squeue::Entry};
use ipcmark_transport::{Error, Settings, Wait};
use nix::errno::Errno;

use super::{OBJECT, setup};

/// What a request is for: its place, and the number that its completion carries.
#[derive(Clone, Copy)]
pub enum Kind {
    /// It sends.
    Send = 0,
    /// It receives.
    Receive = 1,
}

/// The number of a request to take another one back.
const CANCEL: u64 = 2;

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Request {
    /// There is none.
    None,
    /// The kernel has it.
    OnItsWay,
    /// It is complete, with this result.
    Complete(i32),
}

/// A ring and its requests.
pub struct Requests {
    ring: IoUring,
    of: [Cell<Request>; 2],
    /// Whether an attempt sleeps.
    sleeps: bool,
    /// What was set of the ring.
    flags: &'static str,
}

impl Requests {
    /// A ring as the settings want it.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let (ring, flags) = setup::ring(settings)?;
        let of = [Cell::new(Request::None), Cell::new(Request::None)];
        Ok(Self { ring, of, sleeps: settings.wait == Wait::Block, flags })
    }

    /// The ring, to register what its requests use.
    pub fn ring(&self) -> &IoUring {
        &self.ring
    }

    /// What was set of the ring.
    pub fn flags(&self) -> &'static str {
        self.flags
    }

    /// Makes a request unless one of its kind is on its way, and looks for its completion: the bytes that it moved, or
    /// EAGAIN as long as it is not complete.
    ///
    /// # Safety
    /// The bytes of the request stay where they are, and nobody else uses them, until it is complete or this is
    /// dropped.
    #[inline]
    pub unsafe fn attempt(
        &self,
        kind: Kind,
        request: impl FnOnce() -> Entry,
    ) -> Result<usize, Errno> {
        let place = &self.of[kind as usize];
        if place.get() == Request::None {
            // SAFETY: the caller's promise.
            unsafe { self.push(&request().user_data(kind as u64)) };
            place.set(Request::OnItsWay);
            self.call(usize::from(self.sleeps))?;
        } else if self.sleeps || self.has_work() {
            self.call(usize::from(self.sleeps))?;
        }
        self.reap();
        let Request::Complete(result) = place.get() else { return Err(Errno::EAGAIN) };
        place.set(Request::None);
        if result < 0 { Err(Errno::from_raw(-result)) } else { Ok(result as usize) }
    }

    /// Puts an entry into the queue, which has a place for each.
    ///
    /// # Safety
    /// As for [`Self::attempt`].
    #[inline]
    unsafe fn push(&self, entry: &Entry) {
        // SAFETY: no other view of the queue is alive; the rest is the caller's promise.
        let pushed = unsafe { self.ring.submission_shared().push(entry) };
        debug_assert!(pushed.is_ok(), "there are no more requests than entries");
    }

    /// Whether requests became ready that complete in a call of this thread only, or have not been submitted.
    #[inline]
    fn has_work(&self) -> bool {
        // SAFETY: no other view of the queue is alive.
        let queue = unsafe { self.ring.submission_shared() };
        queue.taskrun() || queue.cq_overflow() || !queue.is_empty()
    }

    /// Submits what is new, and waits until so many have completed. A call that was interrupted, or that the kernel has
    /// no memory for at the moment, is made again with the next attempt.
    #[inline]
    fn call(&self, wanted: usize) -> Result<(), Errno> {
        match self.ring.submit_and_wait(wanted) {
            Ok(_) => Ok(()),
            Err(error) => passing(&error),
        }
    }

    /// Takes what has completed out of the queue.
    #[inline]
    fn reap(&self) {
        // SAFETY: no other view of the queue is alive.
        for entry in unsafe { self.ring.completion_shared() } {
            if let Some(place) = self.of.get(entry.user_data() as usize) {
                place.set(Request::Complete(entry.result()));
            }
        }
    }

    /// Takes back what is on its way: afterwards the kernel writes into no buffer of this end any more, and the other
    /// end learns at once that the descriptors are closed.
    fn take_back(&self) -> Result<(), Errno> {
        let on_its_way = || self.of.iter().any(|place| place.get() == Request::OnItsWay);
        self.reap();
        for (number, place) in self.of.iter().enumerate() {
            if place.get() == Request::OnItsWay {
                // SAFETY: the request has no memory.
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
            // A ring is torn down some time after it was closed, and has the files until then.
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

/// Registers the files that requests name by their places.
pub fn register_files(ring: &IoUring, files: &[i32]) -> Result<(), Error> {
    let registered = ring.submitter().register_files(files);
    registered.map_err(|e| Error::scarce("register descriptors with", OBJECT, e))
}
