//! An endpoint of two rings, one per direction. The transport's [`Notifier`] tells the receiver about
//! messages.

use std::collections::BTreeMap;

use ipcmark_transport::{
    Endpoint, Error, HYBRID_POLLS, OptionSpec, Rendezvous, Role, Settings, Step, Wait,
};

use super::{
    pauses::{PAUSE, Pauses},
    region::Region,
    ring::{self, Consumer, Producer},
};

/// The mechanism that tells a receiver about a message in the ring.
pub trait Notifier {
    /// Tells the other end about the message just published. If that would block, it is called
    /// again.
    fn send(&mut self, ring: &Producer) -> Result<Step, Error>;

    /// `Done` if a message may be there; never sleeps.
    fn poll(&mut self) -> Result<Step, Error>;

    /// Sleeps until a message may be there. It may return early.
    fn sleep(&mut self, ring: &mut Consumer) -> Result<Step, Error>;
}

/// The capacity of the ring of each direction.
pub const CAPACITY: OptionSpec = OptionSpec::new(
    "capacity",
    "256..64M",
    "64 KiB; between spinning ends 32 messages, but no more than 8 KiB; four of the largest messages at least",
    "bytes that the ring of each direction holds",
);

/// The options of a ring whose receiver sleeps, or polls something else.
pub static OPTIONS: [OptionSpec; 1] = [CAPACITY];

/// The options of a ring whose receiver can poll the ring itself.
pub static POLLED_OPTIONS: [OptionSpec; 2] = [CAPACITY, PAUSE];

/// The memory size of an endpoint's two rings.
pub fn size(settings: &Settings) -> Result<usize, Error> {
    Ok(2 * ring_size(capacity(settings)?))
}

/// The size of a ring, in whole pages, so that the two rings share no cache line.
fn ring_size(capacity: usize) -> usize {
    ring::size(capacity).next_multiple_of(4096)
}

/// The number of bytes for the slots of a ring.
fn capacity(settings: &Settings) -> Result<usize, Error> {
    let payload = settings.payload;
    let Some(set) = settings.number("capacity") else {
        return Ok(ring::standard(payload, settings.wait));
    };
    let (set, least) = (set as usize, ring::least(payload));
    if set < least {
        let cause = format!("two messages of {payload} bytes take {least}");
        let error = Error::new("make", format!("a ring of {set} bytes"), cause);
        return Err(error.remedy(format!("set capacity to {least} or more")));
    }
    Ok(set)
}

/// One end.
pub struct Duplex<N> {
    // Fields drop in this order: the notifier first, the memory of the rings last.
    notifier: N,
    outgoing: Producer,
    incoming: Consumer,
    wait: Wait,
    /// The pauses while it polls before it sleeps.
    pauses: Pauses,
    /// Those between two looks of a spinning end, if it makes any.
    spinning_pauses: Option<Pauses>,
    capacity: usize,
    /// True if the ring has a message that the other end has not been told about.
    unannounced: bool,
    _region: Region,
}

impl<N: Notifier> Duplex<N> {
    /// Makes an end of a region of [`size`] bytes and waits for the other one.
    pub fn open(
        settings: &Settings,
        peers: &mut dyn Rendezvous,
        region: Region,
        notifier: N,
    ) -> Result<Self, Error> {
        let (payload, wait, capacity) = (settings.payload, settings.wait, capacity(settings)?);
        let (leaders, followers) = (region.at(0), region.at(ring_size(capacity)));
        let (mine, theirs) = match settings.role {
            Role::Leader => (leaders, followers),
            Role::Follower(_) => (followers, leaders),
        };
        // SAFETY: the region is zeroed, page-aligned, of `size(settings)` bytes, and lives as long as
        // the end; one end produces each ring, and the other consumes it.
        let (outgoing, incoming) = unsafe {
            (Producer::new(mine, capacity, payload), Consumer::new(theirs, capacity, payload))
        };
        peers.meet()?;
        Ok(Self {
            notifier,
            outgoing,
            incoming,
            wait,
            pauses: Pauses::new(settings.role),
            spinning_pauses: Pauses::of_ring(settings),
            capacity,
            unannounced: false,
            _region: region,
        })
    }

    #[inline(always)]
    fn attempt(&mut self) -> Result<Step, Error> {
        match self.notifier.poll()? {
            Step::Done => self.incoming.take(),
            Step::WouldBlock => Ok(Step::WouldBlock),
        }
    }

    #[inline(never)]
    fn sleep(&mut self) -> Result<Step, Error> {
        match self.notifier.sleep(&mut self.incoming)? {
            Step::Done => self.incoming.take(),
            Step::WouldBlock => Ok(Step::WouldBlock),
        }
    }

    fn poll_then_sleep(&mut self) -> Result<Step, Error> {
        for _ in 0..HYBRID_POLLS {
            if self.attempt()? == Step::Done {
                return Ok(Step::Done);
            }
            self.pauses.pause();
        }
        self.sleep()
    }

    /// Waits for room in a full ring, which never happens in a ping-pong. The end that waits for room
    /// sleeps on a futex, independent of the notifier.
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
            self.pauses.pause();
        }
        self.outgoing.sleep_until_freed(len)
    }
}

// A round trip takes 60 ns, and a call that the compiler inlines in one loop and not in another costs a tenth of it.
// So only functions that sleep are not inlined.
impl<N: Notifier> Endpoint for Duplex<N> {
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
        if !self.unannounced {
            self.outgoing.publish();
        }
        let step = self.notifier.send(&self.outgoing)?;
        self.unannounced = step == Step::WouldBlock;
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
    fn pause(&self) {
        if let Some(pauses) = &self.spinning_pauses {
            pauses.pause();
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
            self.incoming.header().freed.wake_if_asleep();
        }
        Ok(())
    }

    fn parts_per_message(&self) -> Option<f64> {
        Some(1.0)
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let rings = format!("{} bytes in each direction", self.capacity);
        let mut configuration = BTreeMap::from([("rings".into(), rings)]);
        if self.wait == Wait::Spin {
            let pause = if self.spinning_pauses.is_some() { "after most looks" } else { "none" };
            configuration.insert("pause".into(), pause.into());
        }
        configuration
    }
}

/// The futex as the notifier: the receiver polls the ring itself, and sleeps on its word.
pub struct Futex {
    /// True if the other end may sleep; an end that only spins should not pay for wake-ups.
    wakes: bool,
}

impl Futex {
    /// The notifier of ends with this wait.
    pub fn new(wait: Wait) -> Self {
        Self { wakes: wait != Wait::Spin }
    }
}

impl Notifier for Futex {
    #[inline]
    fn send(&mut self, ring: &Producer) -> Result<Step, Error> {
        if self.wakes {
            ring.header().arrived.wake_if_asleep();
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
