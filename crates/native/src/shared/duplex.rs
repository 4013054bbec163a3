//! An endpoint of two rings, one for each direction. How the receiver learns of a message is the
//! transport's own: its [`Notice`].

use std::{collections::BTreeMap, hint::spin_loop};

use ipcmark_transport::{
    Endpoint, Error, HYBRID_POLLS, OptionSpec, Rendezvous, Role, Settings, Step, Wait,
};

use super::{
    region::Region,
    ring::{self, Consumer, LINE, Producer},
};

/// How a receiver learns that a message lies in the ring.
pub trait Notice {
    /// Tells the other end of the message just published. Where that would block, it is called
    /// again.
    fn send(&mut self, ring: &Producer) -> Result<Step, Error>;

    /// Whether a message may be there; never sleeps.
    fn poll(&mut self) -> Result<Step, Error>;

    /// Sleeps until a message may be there. It may return early.
    fn sleep(&mut self, ring: &mut Consumer) -> Result<Step, Error>;
}

/// What the ring of each direction holds.
pub const CAPACITY: OptionSpec = OptionSpec::new(
    "capacity",
    "64k..64M",
    "64 KiB, or four of the largest messages",
    "bytes that the ring of each direction holds",
);

/// What users can set.
pub static OPTIONS: [OptionSpec; 1] = [CAPACITY];

/// How much memory the two rings of an endpoint take.
pub fn size(settings: &Settings) -> Result<usize, Error> {
    Ok(2 * ring_size(capacity(settings)?))
}

/// A ring begins on a page, so that no line of the two shares one.
fn ring_size(capacity: usize) -> usize {
    ring::size(capacity).next_multiple_of(4096)
}

/// How many bytes the records of a ring have.
fn capacity(settings: &Settings) -> Result<usize, Error> {
    let payload = settings.payload;
    let Some(set) = settings.number("capacity") else { return Ok(ring::standard(payload)) };
    let (set, least) = (set as usize, ring::least(payload));
    if set < least {
        let cause = format!("two messages of {payload} bytes take {least}");
        let error = Error::new("make", format!("a ring of {set} bytes"), cause);
        return Err(error.remedy(format!("set capacity to {least} or more")));
    }
    // A ring is whole cache lines; what is set can be any number.
    Ok(set / LINE * LINE)
}

/// One end.
pub struct Duplex<N> {
    // Fields drop in this order: the notice first, the memory that the rings lie in last.
    notice: N,
    outgoing: Producer,
    incoming: Consumer,
    wait: Wait,
    capacity: usize,
    /// A message lies in the ring of which the other end has not been told.
    untold: bool,
    _region: Region,
}

impl<N: Notice> Duplex<N> {
    /// Makes an end of a region of [`size`] bytes and waits for the other one.
    pub fn open(
        settings: &Settings,
        peers: &mut dyn Rendezvous,
        region: Region,
        notice: N,
    ) -> Result<Self, Error> {
        let (payload, wait, capacity) = (settings.payload, settings.wait, capacity(settings)?);
        let (leaders, followers) = (region.at(0), region.at(ring_size(capacity)));
        let (mine, theirs) = match settings.role {
            Role::Leader => (leaders, followers),
            Role::Follower(_) => (followers, leaders),
        };
        // SAFETY: the region is zeroed, page-aligned, of `size(settings)` bytes, and lives as long as
        // the end; each ring is produced by the one end and consumed by the other.
        let (outgoing, incoming) =
            unsafe { (Producer::new(mine, capacity), Consumer::new(theirs, capacity, payload)) };
        peers.meet()?;
        Ok(Self { notice, outgoing, incoming, wait, capacity, untold: false, _region: region })
    }

    #[inline(always)]
    fn attempt(&mut self) -> Result<Step, Error> {
        match self.notice.poll()? {
            Step::Done => self.incoming.take(),
            Step::WouldBlock => Ok(Step::WouldBlock),
        }
    }

    #[inline(never)]
    fn sleep(&mut self) -> Result<Step, Error> {
        match self.notice.sleep(&mut self.incoming)? {
            Step::Done => self.incoming.take(),
            Step::WouldBlock => Ok(Step::WouldBlock),
        }
    }

    fn poll_then_sleep(&mut self) -> Result<Step, Error> {
        for _ in 0..HYBRID_POLLS {
            if self.attempt()? == Step::Done {
                return Ok(Step::Done);
            }
            spin_loop();
        }
        self.sleep()
    }

    /// The ring is full, which a ping-pong never sees. Whatever the notice of messages is, the end
    /// that waits for room sleeps on a futex.
    #[cold]
    fn wait_for_room(&mut self, len: usize) -> Result<Step, Error> {
        let polls = match self.wait {
            Wait::Spin => return Ok(Step::WouldBlock),
            Wait::Block => 0,
            Wait::Hybrid => HYBRID_POLLS,
        };
        for _ in 0..polls {
            if self.outgoing.loan(len)? == Step::Done {
                return Ok(Step::Done);
            }
            spin_loop();
        }
        self.outgoing.sleep_until_freed(len)
    }
}

// A round trip takes 60 ns: a call that the compiler leaves in one loop and not in another makes a tenth of it. What sleeps
// is called.
impl<N: Notice> Endpoint for Duplex<N> {
    #[inline(always)]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        match self.outgoing.loan(len)? {
            Step::Done => Ok(Step::Done),
            Step::WouldBlock => self.wait_for_room(len),
        }
    }

    #[inline(always)]
    fn room(&mut self) -> &mut [u8] {
        self.outgoing.room()
    }

    #[inline(always)]
    fn publish(&mut self) -> Result<Step, Error> {
        if !self.untold {
            self.outgoing.publish();
        }
        let step = self.notice.send(&self.outgoing)?;
        self.untold = step == Step::WouldBlock;
        Ok(step)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<Step, Error> {
        match self.wait {
            Wait::Spin => self.attempt(),
            Wait::Block => self.sleep(),
            Wait::Hybrid => self.poll_then_sleep(),
        }
    }

    #[inline(always)]
    fn message(&self) -> &[u8] {
        self.incoming.message()
    }

    #[inline(always)]
    fn release(&mut self) -> Result<(), Error> {
        self.incoming.release();
        if self.wait != Wait::Spin {
            self.incoming.header().freed.ring();
        }
        Ok(())
    }

    fn parts_per_message(&self) -> Option<f64> {
        Some(1.0)
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let rings = format!("{} bytes in each direction", self.capacity);
        BTreeMap::from([("rings".into(), rings)])
    }
}

/// The futex as the notice: the receiver looks into the ring itself, and sleeps on its bell.
pub struct Futex {
    /// Whether the other end ever sleeps; one that spins is not to pay for that.
    rings: bool,
}

impl Futex {
    /// The notice of ends that wait like this.
    pub fn new(wait: Wait) -> Self {
        Self { rings: wait != Wait::Spin }
    }
}

impl Notice for Futex {
    #[inline]
    fn send(&mut self, ring: &Producer) -> Result<Step, Error> {
        if self.rings {
            ring.header().arrived.ring();
        }
        Ok(Step::Done)
    }

    #[inline]
    fn poll(&mut self) -> Result<Step, Error> {
        Ok(Step::Done)
    }

    #[inline]
    fn sleep(&mut self, ring: &mut Consumer) -> Result<Step, Error> {
        ring.sleep_until_arrived()?;
        Ok(Step::Done)
    }
}
