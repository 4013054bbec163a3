//! `shm-slot`: one slot for each direction in POSIX shared memory, the flag in the same cache line as
//! a small payload.
//!
//! - Mechanism: the sender writes the payload and then, in the same line, one word with its length
//!   and number, and with what it has done with of the other direction; the receiver polls that word.
//!   Up to 48 bytes take one transfer of one cache line, the least that a hop can cost.
//! - Kernel objects: one POSIX shared memory, unlinked as soon as it is made; a futex while an end
//!   sleeps. Copies a message: none.
//! - Blocks: on a futex; the other end wakes it after it has changed its word.
//! - Limits: one message a direction; the next one waits until that is released *and* the other end
//!   has said so, which it does with its next message or its next `take`.

use std::{hint::spin_loop, ptr::NonNull, slice};

use ipcmark_transport::{
    Availability, Definition, Endpoint, Error, HYBRID_POLLS, Rendezvous, Role, Settings, Step,
    Transport, Wait,
};

use crate::shared::{self, futex::Bell, posix, region::Region, slot::Ledger, sync::AtomicU64};

/// Where the slots begin; before them lie the bells.
const SLOTS: usize = 1024;
/// Where the payload begins in its slot: behind the word, aligned for a payload of any type.
const PAYLOAD: usize = 16;

/// The transport.
pub struct ShmSlot;

/// One end.
pub struct ShmSlotEndpoint {
    mine: Slot,
    theirs: Slot,
    ledger: Ledger,
    wait: Wait,
    /// Length of the message on loan; 0 where none is.
    loaned: usize,
    /// Length of the message taken; 0 where none is.
    taken: usize,
    /// What the slots lie in.
    _region: Region,
}

/// The slot that one end writes, and the bell that it sleeps on.
struct Slot {
    word: NonNull<AtomicU64>,
    payload: NonNull<u8>,
    bell: NonNull<Bell>,
}

impl Slot {
    /// The leader's slot is number 0, the follower's number 1.
    fn of(region: &Region, number: usize, payload: usize) -> Self {
        let at = SLOTS + number * distance(payload);
        let bell = region.at(number * size_of::<Bell>()).cast();
        Self { word: region.at(at).cast(), payload: region.at(at + PAYLOAD), bell }
    }

    #[inline]
    fn word(&self) -> &AtomicU64 {
        // SAFETY: aligned and within the region, which the end keeps; used atomically only.
        unsafe { self.word.as_ref() }
    }

    #[inline]
    fn bell(&self) -> &Bell {
        // SAFETY: as above.
        unsafe { self.bell.as_ref() }
    }
}

/// From one slot to the next. Half a page off: of two words at the same place in their pages, some
/// processors take the load of one to depend on the store to the other.
fn distance(payload: usize) -> usize {
    (PAYLOAD + payload).next_multiple_of(4096) + 2048
}

impl Transport for ShmSlot {
    type Endpoint = ShmSlotEndpoint;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        posix::probe()
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<ShmSlotEndpoint, Error> {
        let payload = settings.payload;
        let region = posix::share(settings, peers, SLOTS + 2 * distance(payload))?;
        let (leaders, followers) = (Slot::of(&region, 0, payload), Slot::of(&region, 1, payload));
        let (mine, theirs) = match settings.role {
            Role::Leader => (leaders, followers),
            Role::Follower(_) => (followers, leaders),
        };
        peers.meet()?;
        let (ledger, wait) = (Ledger::new(payload), settings.wait);
        Ok(ShmSlotEndpoint { mine, theirs, ledger, wait, loaned: 0, taken: 0, _region: region })
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        posix::remove(name)
    }
}

impl ShmSlotEndpoint {
    /// Repeats an attempt as the wait says. Whatever an end waits for, a message or room, it is the
    /// other end's word that tells.
    #[inline]
    fn wait_for(
        &mut self,
        attempt: impl Fn(&mut Self) -> Result<Step, Error>,
    ) -> Result<Step, Error> {
        self.acknowledge();
        if attempt(self)? == Step::Done {
            return Ok(Step::Done);
        }
        match self.wait {
            Wait::Spin => return Ok(Step::WouldBlock),
            Wait::Block => {}
            Wait::Hybrid => {
                for _ in 1..HYBRID_POLLS {
                    spin_loop();
                    if attempt(self)? == Step::Done {
                        return Ok(Step::Done);
                    }
                }
            }
        }
        self.mine.bell().sleep(|| Ok(self.ledger.nothing_new(self.theirs.word())))?;
        attempt(self)
    }

    /// Before it waits an end says what it has released: the other one may be waiting for that. In a
    /// ping-pong the answer has said it already.
    #[inline]
    fn acknowledge(&mut self) {
        if self.ledger.acknowledge(self.mine.word()) {
            self.ring();
        }
    }

    #[inline]
    fn ring(&self) {
        if self.wait != Wait::Spin {
            self.theirs.bell().ring();
        }
    }

    #[inline]
    fn look_for_message(&mut self) -> Result<Step, Error> {
        self.ledger.look(self.theirs.word())?;
        let Some(len) = self.ledger.receive() else { return Ok(Step::WouldBlock) };
        self.taken = len;
        Ok(Step::Done)
    }

    #[inline]
    fn look_for_room(&mut self) -> Result<Step, Error> {
        self.ledger.look(self.theirs.word())?;
        Ok(if self.ledger.has_room() { Step::Done } else { Step::WouldBlock })
    }
}

impl Endpoint for ShmSlotEndpoint {
    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        if !self.ledger.has_room() && self.wait_for(Self::look_for_room)? == Step::WouldBlock {
            return Ok(Step::WouldBlock);
        }
        self.loaned = len;
        Ok(Step::Done)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        // SAFETY: within the slot, as `loan` was asked for no more than the payload; this end's
        // alone from `loan`, when the other end had done with it, until `publish` ends the loan.
        unsafe { slice::from_raw_parts_mut(self.mine.payload.as_ptr(), self.loaned) }
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        self.ledger.publish(self.mine.word(), self.loaned);
        self.loaned = 0;
        self.ring();
        Ok(Step::Done)
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        self.wait_for(Self::look_for_message)
    }

    #[inline]
    fn message(&self) -> &[u8] {
        // SAFETY: the length was found to be at most the payload; the other end leaves the slot
        // alone until it hears of `release`.
        unsafe { slice::from_raw_parts(self.theirs.payload.as_ptr(), self.taken) }
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.taken = 0;
        self.ledger.release();
        Ok(())
    }
}

static DEFINITION: Definition = shared::definition(
    "shm-slot",
    "one slot a direction in shared memory, flag and payload in one cache line, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
);

/// `shm-slot`, as it stands in the list.
pub const TRANSPORT: ShmSlot = ShmSlot;
