//! `shm-slot`: one message a direction in POSIX shared memory, the flag in the same cache line as a
//! small payload.
//!
//! - Mechanism: the sender writes the payload and then, in the same line, one word with its length,
//!   number and place, and with what it has done with of the other direction; the receiver polls that
//!   word. In a ping-pong both directions use one line, which passes to and fro with up to 48 bytes
//!   of payload: one transfer a message, the least that a hop can cost.
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

/// Where the two words lie, in one cache line; before them lie the bells.
const WORDS: usize = 1024;
/// Where the travelling room lies: behind the words, aligned for a payload of any type.
const TRAVELLING: usize = WORDS + 2 * size_of::<AtomicU64>();

/// How often an end looks before it pauses. Between two hardware threads of one core a pause is as long as half a round
/// trip, and what comes just after a look waits for the next one: of 1, 4, 7, 9, 15 and 31 looks, 4 took the least.
const LOOKS: u32 = 4;

/// The transport.
pub struct ShmSlot;

/// One end.
pub struct ShmSlotEndpoint {
    mine: Side,
    theirs: Side,
    /// The room that belongs to one end at a time.
    travelling: NonNull<u8>,
    ledger: Ledger,
    wait: Wait,
    /// The message on loan; empty where none is.
    loaned: Message,
    /// The message taken; empty where none is.
    taken: Message,
    /// What everything lies in.
    _region: Region,
}

/// Where a message lies.
#[derive(Clone, Copy)]
struct Message {
    room: NonNull<u8>,
    len: usize,
}

impl Message {
    /// No message.
    const NONE: Self = Self { room: NonNull::dangling(), len: 0 };
}

/// What one end writes: its word, its own room, and the bell that it sleeps on.
struct Side {
    word: NonNull<AtomicU64>,
    room: NonNull<u8>,
    bell: NonNull<Bell>,
}

impl Side {
    /// The leader's side is number 0, the follower's number 1.
    fn of(region: &Region, number: usize, payload: usize) -> Self {
        Self {
            word: region.at(WORDS + number * size_of::<AtomicU64>()).cast(),
            room: region.at(WORDS + (1 + number) * distance(payload)),
            bell: region.at(number * size_of::<Bell>()).cast(),
        }
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

/// From one room to the next. Half a page off: of two words at the same place in their pages, some
/// processors take the load of one to depend on the store to the other.
fn distance(payload: usize) -> usize {
    (TRAVELLING - WORDS + payload).next_multiple_of(4096) + 2048
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
        let region = posix::share(settings, peers, WORDS + 3 * distance(payload))?;
        let (leaders, followers) = (Side::of(&region, 0, payload), Side::of(&region, 1, payload));
        let (mine, theirs) = match settings.role {
            Role::Leader => (leaders, followers),
            Role::Follower(_) => (followers, leaders),
        };
        peers.meet()?;
        Ok(ShmSlotEndpoint {
            mine,
            theirs,
            travelling: region.at(TRAVELLING),
            ledger: Ledger::new(payload, settings.role.is_leader()),
            wait: settings.wait,
            loaned: Message::NONE,
            taken: Message::NONE,
            _region: region,
        })
    }
}

impl ShmSlotEndpoint {
    /// Repeats an attempt as the wait says. Whatever an end waits for, a message or room, it is the
    /// other end's word that tells.
    #[inline(always)]
    fn wait_for(
        &mut self,
        attempt: impl Fn(&mut Self) -> Result<Step, Error>,
    ) -> Result<Step, Error> {
        for _ in 1..LOOKS {
            if attempt(self)? == Step::Done {
                return Ok(Step::Done);
            }
        }
        self.acknowledge();
        match attempt(self)? {
            Step::WouldBlock if self.wait != Wait::Spin => self.wait_longer(attempt),
            step => Ok(step),
        }
    }

    /// Goes on as long as an end may that does not only poll.
    #[inline(never)]
    fn wait_longer(
        &mut self,
        attempt: impl Fn(&mut Self) -> Result<Step, Error>,
    ) -> Result<Step, Error> {
        let polls = if self.wait == Wait::Hybrid { HYBRID_POLLS } else { 1 };
        for _ in 1..polls {
            spin_loop();
            if attempt(self)? == Step::Done {
                return Ok(Step::Done);
            }
        }
        self.mine.bell().sleep(|| Ok(self.ledger.nothing_new(self.theirs.word())))?;
        attempt(self)
    }

    /// Before it waits an end says what it has released: the other one may be waiting for that. In a
    /// ping-pong the answer has said it already.
    #[inline(always)]
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

    #[inline(always)]
    fn look_for_message(&mut self) -> Result<Step, Error> {
        self.ledger.look(self.theirs.word())?;
        let Some((len, travels)) = self.ledger.receive() else { return Ok(Step::WouldBlock) };
        self.taken = self.place(travels, self.theirs.room, len);
        Ok(Step::Done)
    }

    /// A message in the travelling room, or else in one end's own.
    #[inline(always)]
    fn place(&self, travels: bool, own: NonNull<u8>, len: usize) -> Message {
        // Not a choice of one of two addresses, for which both would be waited for: what the processor is sure to guess.
        if travels { Message { room: self.travelling, len } } else { in_its_own(own, len) }
    }

    /// Whether a message lies in the travelling room.
    #[inline(always)]
    fn travels(&self, message: Message) -> bool {
        message.room == self.travelling
    }

    #[inline(always)]
    fn look_for_room(&mut self) -> Result<Step, Error> {
        self.ledger.look(self.theirs.word())?;
        Ok(if self.ledger.has_room() { Step::Done } else { Step::WouldBlock })
    }
}

#[cold]
#[inline(never)]
fn in_its_own(room: NonNull<u8>, len: usize) -> Message {
    Message { room, len }
}

impl Endpoint for ShmSlotEndpoint {
    #[inline(always)]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        if !self.ledger.has_room() && self.wait_for(Self::look_for_room)? == Step::WouldBlock {
            return Ok(Step::WouldBlock);
        }
        self.loaned = self.place(self.ledger.holds(), self.mine.room, len);
        Ok(Step::Done)
    }

    #[inline(always)]
    fn room(&mut self) -> &mut [u8] {
        // SAFETY: within the room, as `loan` was asked for no more than the payload; this end's
        // alone from `loan`, when the other end had done with it, until `publish` ends the loan.
        unsafe { slice::from_raw_parts_mut(self.loaned.room.as_ptr(), self.loaned.len) }
    }

    #[inline(always)]
    fn publish(&mut self) -> Result<Step, Error> {
        let travels = self.travels(self.loaned);
        self.ledger.publish(self.mine.word(), self.loaned.len, travels);
        self.loaned.len = 0;
        self.ring();
        Ok(Step::Done)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<Step, Error> {
        self.wait_for(Self::look_for_message)
    }

    #[inline(always)]
    fn message(&self) -> &[u8] {
        // SAFETY: the length was found to be at most the payload; the other end leaves the room
        // alone until it hears of `release`.
        unsafe { slice::from_raw_parts(self.taken.room.as_ptr(), self.taken.len) }
    }

    #[inline(always)]
    fn release(&mut self) -> Result<(), Error> {
        self.ledger.release(self.travels(self.taken));
        self.taken.len = 0;
        Ok(())
    }
}

static DEFINITION: Definition = shared::definition(
    "shm-slot",
    "one message a direction in shared memory, flags and payload in one cache line, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
    &[],
);

/// `shm-slot`, as it stands in the list.
pub const TRANSPORT: ShmSlot = ShmSlot;
