//! Flow control, and the notice that the other end has closed. The receiver counts the frames that it has released in a
//! page that both ends map. A sender that sleeps for room says so in that page, and the receiver wakes it through a
//! socket, whose hang-up also shows that the other end is closed.

use std::{
    cell::Cell,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

use ipcmark_transport::{Error, NOTICES, Rendezvous, Role};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair},
};

use super::socket::WINDOW;
use crate::{
    descriptors,
    shared::region::{Region, sealed},
};

const OBJECT: &str = "the socket pair";

/// Bytes that both ends share.
const LEN: usize = 4096;

/// The mark of a number in `wanted`; there is none in 0.
const WANTED: u64 = 1 << 32;

/// A closed end's last frames may still be on their way: so many looks for them are enough.
const LAST_LOOKS: u32 = 1 << 16;

/// The frames of one direction.
#[repr(C, align(64))]
struct DirectionCounts {
    /// The number of frames sent; the sender writes it.
    sent: CacheLines<AtomicU32>,
    /// The number of frames that the receiver has released.
    released: CacheLines<AtomicU32>,
    /// The number of released frames that a sleeping sender waits for.
    wanted: CacheLines<AtomicU64>,
}

#[repr(C, align(64))]
struct CacheLines<T>(T);

/// The counts of an end.
pub struct Credit {
    life: OwnedFd,
    outgoing: NonNull<DirectionCounts>,
    incoming: NonNull<DirectionCounts>,
    sent: Cell<u32>,
    received: Cell<u32>,
    /// The number of frames that the other end had released at the last look.
    released: Cell<u32>,
    last_looks: Cell<u32>,
    sleeps: bool,
    _region: Region,
}

// SAFETY: the pointers lead into its own region, which belongs to no thread.
unsafe impl Send for Credit {}

impl Credit {
    /// Makes the page and the socket pair in the leader, and hands them to the follower.
    pub fn open(role: Role, sleeps: bool, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let region = Region::share(role, peers, LEN, || sealed(NOTICES, LEN))?;
        let life = if role.is_leader() { lead(peers)? } else { follow(peers)? };
        let ways = [region.at(0).cast(), region.at(size_of::<DirectionCounts>()).cast()];
        let [outgoing, incoming] = if role.is_leader() { ways } else { [ways[1], ways[0]] };
        let zero = || Cell::new(0);
        let (sent, received, released, last_looks) = (zero(), zero(), zero(), Cell::new(0));
        Ok(Self {
            life,
            outgoing,
            incoming,
            sent,
            received,
            released,
            last_looks,
            sleeps,
            _region: region,
        })
    }

    #[inline]
    fn outgoing(&self) -> &DirectionCounts {
        // SAFETY: aligned, within the zeroed region, which lives as long as this; atomics all through.
        unsafe { self.outgoing.as_ref() }
    }

    #[inline]
    fn incoming(&self) -> &DirectionCounts {
        // SAFETY: as above.
        unsafe { self.incoming.as_ref() }
    }

    /// The number of the next frame to send.
    #[inline]
    pub fn sent(&self) -> u16 {
        self.sent.get() as u16
    }

    /// The number of the next frame to come.
    #[inline]
    pub fn received(&self) -> u16 {
        self.received.get() as u16
    }

    /// True if one more frame may be sent.
    #[inline]
    pub fn has_room(&self) -> bool {
        let fits = || self.sent.get().wrapping_sub(self.released.get()) < WINDOW;
        if fits() {
            return true;
        }
        // Paired with the release in `add_received`: the place of the frame is free.
        self.released.set(self.outgoing().released.0.load(Ordering::Acquire));
        fits()
    }

    /// Counts a frame that goes.
    #[inline]
    pub fn add_sent(&self) {
        self.sent.set(self.sent.get().wrapping_add(1));
        self.outgoing().sent.0.store(self.sent.get(), Ordering::Release);
    }

    /// Counts a frame that this end is done with.
    #[inline]
    pub fn add_received(&self) {
        let received = self.received.get().wrapping_add(1);
        self.received.set(received);
        self.incoming().released.0.store(received, Ordering::Release);
        if self.sleeps {
            self.wake(received);
        }
    }

    /// Wakes a sender that waits for no more than this.
    fn wake(&self, received: u32) {
        // Paired with the fence of `sleep_for_room`: either the sender sees the count, or this sees the awaited.
        fence(Ordering::SeqCst);
        let wanted = &self.incoming().wanted.0;
        let awaited = wanted.load(Ordering::Relaxed);
        if awaited & WANTED != 0 && received.wrapping_sub(awaited as u32) as i32 >= 0 {
            wanted.store(0, Ordering::Relaxed);
            let _ =
                send(self.life.as_raw_fd(), &[0], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL);
        }
    }

    /// Sleeps until half of the frames under way have come.
    #[cold]
    pub fn sleep_for_room(&self) -> Result<(), Errno> {
        let awaited = self.sent.get().wrapping_sub(WINDOW / 2);
        self.outgoing().wanted.0.store(WANTED | u64::from(awaited), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let released = self.outgoing().released.0.load(Ordering::Acquire);
        if released.wrapping_sub(awaited) as i32 >= 0 {
            return Ok(());
        }
        let mut wanted = [PollFd::new(self.life.as_fd(), PollFlags::POLLIN)];
        poll(&mut wanted, PollTimeout::NONE)?;
        let closed = hung_up(&wanted[0]);
        // Whatever woke it: the count is looked at again.
        let _ = recv(self.life.as_raw_fd(), &mut [0; 64], MsgFlags::MSG_DONTWAIT);
        if closed { Err(Errno::EPIPE) } else { Ok(()) }
    }

    /// Sleeps until there is a frame; false if there will be none any more.
    #[cold]
    pub fn sleep_for_frame(&self, xsk: BorrowedFd<'_>) -> Result<bool, Errno> {
        let life = PollFd::new(self.life.as_fd(), PollFlags::empty());
        let mut wanted = [PollFd::new(xsk, PollFlags::POLLIN), life];
        poll(&mut wanted, PollTimeout::NONE)?;
        Ok(!hung_up(&wanted[1]) || self.expects_frames())
    }

    /// True if the other end is open, or its last frames have not arrived yet.
    #[cold]
    pub fn is_peer_there(&self) -> Result<bool, Errno> {
        let mut life = [PollFd::new(self.life.as_fd(), PollFlags::empty())];
        poll(&mut life, PollTimeout::ZERO)?;
        Ok(!hung_up(&life[0]) || self.expects_frames())
    }

    /// True if frames of a closed end have not arrived yet.
    fn expects_frames(&self) -> bool {
        self.last_looks.set(self.last_looks.get() + 1);
        let sent = self.incoming().sent.0.load(Ordering::Acquire);
        sent != self.received.get() && self.last_looks.get() < LAST_LOOKS
    }
}

fn hung_up(polled: &PollFd<'_>) -> bool {
    polled.revents().is_some_and(|found| found.contains(PollFlags::POLLHUP))
}

fn lead(peers: &mut dyn Rendezvous) -> Result<OwnedFd, Error> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let (own, theirs) = socketpair(AddressFamily::Unix, SockType::Stream, None, flags)
        .map_err(|errno| Error::scarce("create", OBJECT, errno))?;
    peers.send(0, b"life", &[theirs.as_fd()])?;
    Ok(own)
}

fn follow(peers: &mut dyn Rendezvous) -> Result<OwnedFd, Error> {
    let [own] = descriptors::receive(peers, OBJECT)?;
    Ok(own)
}
