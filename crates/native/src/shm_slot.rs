//! `shm-slot`: one message per direction in POSIX shared memory, with the flag in the same cache line
//! as a small payload.
//!
//! - Mechanism: the sender writes the payload and then, in the same line, one word with its length,
//!   sequence number and room, and with the messages of the other direction that it has released; the
//!   receiver polls that word. In a ping-pong both directions use one line, which moves back and forth
//!   with up to 48 bytes of payload: one transfer per message, the least that a hop can cost.
//! - Kernel objects: one POSIX shared memory object, unlinked as soon as it is created; a futex while
//!   an end sleeps.
//! - Copies per message: none.
//! - Blocks: on a futex; the other end wakes it after changing its word.
//! - Limits: one message per direction; the next one waits until that is released *and* the other end
//!   has said so, which it does with its next message or its next `take`.

use std::{hint::spin_loop, mem, ptr::NonNull, slice};

use ipcmark_transport::{
    Availability, Definition, Endpoint, Error, HYBRID_POLLS, Rendezvous, Role, Settings, Step,
    Transport, Wait,
};

use crate::shared::{
    self, futex::SleepWord, pauses::Pauses, posix, region::Region, slot::PackedWords,
    sync::AtomicU64,
};

/// The offset of the two words, in one cache line; the sleep words are before them.
const WORDS: usize = 1024;
/// The offset of the travelling room: behind the words, aligned for a payload of any type.
const TRAVELLING: usize = WORDS + 2 * size_of::<AtomicU64>();

/// The number of checks before an end pauses. Between two hardware threads of one core a pause takes half a round trip,
/// and an update just after a check waits for the next one: of 1, 4, 7, 9, 15 and 31 checks, 4 was fastest.
const LOOKS: u32 = 4;

/// The transport.
pub struct ShmSlot;

/// One end.
pub struct ShmSlotEndpoint {
    mine: EndMemory,
    theirs: EndMemory,
    /// The room that belongs to one end at a time.
    travelling: NonNull<u8>,
    words: PackedWords,
    wait: Wait,
    pauses: Pauses,
    /// True if this end has not looked for a message since it published one.
    has_just_published: bool,
    /// The message on loan; empty if there is none.
    loaned: MessageLocation,
    /// The taken message; empty if there is none.
    taken: MessageLocation,
    /// The memory of everything above.
    _region: Region,
}

/// The location of a message, in the travelling room or else in one end's own. Not its address: a load of that would wait
/// for its store, while the processor predicts a branch to one of two addresses that have long been loaded.
#[derive(Clone, Copy, Default)]
struct MessageLocation {
    len: usize,
    travels: bool,
}

/// The memory that one end writes, that is its word and its own room, and the word that it sleeps on.
struct EndMemory {
    word: NonNull<AtomicU64>,
    room: NonNull<u8>,
    sleep_word: NonNull<SleepWord>,
}

impl EndMemory {
    /// The leader's side is number 0, the follower's number 1.
    fn of(region: &Region, number: usize, payload: usize) -> Self {
        Self {
            word: region.at(WORDS + number * size_of::<AtomicU64>()).cast(),
            room: region.at(WORDS + (1 + number) * distance(payload)),
            sleep_word: region.at(number * size_of::<SleepWord>()).cast(),
        }
    }

    #[inline]
    fn word(&self) -> &AtomicU64 {
        // SAFETY: aligned and within the region, which the end keeps; only used atomically.
        unsafe { self.word.as_ref() }
    }

    #[inline]
    fn sleep_word(&self) -> &SleepWord {
        // SAFETY: as above.
        unsafe { self.sleep_word.as_ref() }
    }
}

/// The distance between rooms, with an extra half page: for two words at the same offset in their pages,
/// some processors assume that the load of one depends on the store to the other.
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
        let (leaders, followers) =
            (EndMemory::of(&region, 0, payload), EndMemory::of(&region, 1, payload));
        let (mine, theirs) = match settings.role {
            Role::Leader => (leaders, followers),
            Role::Follower(_) => (followers, leaders),
        };
        peers.meet()?;
        Ok(ShmSlotEndpoint {
            mine,
            theirs,
            travelling: region.at(TRAVELLING),
            words: PackedWords::new(payload, settings.role.is_leader()),
            wait: settings.wait,
            pauses: Pauses::new(settings.role),
            has_just_published: false,
            loaned: MessageLocation::default(),
            taken: MessageLocation::default(),
            _region: region,
        })
    }
}

impl ShmSlotEndpoint {
    /// Repeats an attempt according to the wait. An end that waits for a message or for room always waits
    /// for the other end's word.
    #[inline(always)]
    fn wait_for(
        &mut self,
        looks: u32,
        attempt: impl Fn(&mut Self) -> Result<Step, Error>,
    ) -> Result<Step, Error> {
        for _ in 1..looks {
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

    /// Continues to wait, for the waits that do not only poll.
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
        self.mine.sleep_word().sleep(|| Ok(self.words.nothing_new(self.theirs.word())))?;
        attempt(self)
    }

    /// Tells the other end which messages are released, before this end waits: the other may be waiting for
    /// that. In a ping-pong the answer has said it already.
    #[inline(always)]
    fn acknowledge(&mut self) {
        if self.words.acknowledge(self.mine.word()) {
            self.wake_if_asleep();
        }
    }

    #[inline]
    fn wake_if_asleep(&self) {
        if self.wait != Wait::Spin {
            self.theirs.sleep_word().wake_if_asleep();
        }
    }

    #[inline(always)]
    fn look_for_message(&mut self) -> Result<Step, Error> {
        self.words.look(self.theirs.word())?;
        let Some((len, travels)) = self.words.receive() else { return Ok(Step::WouldBlock) };
        self.taken = MessageLocation { len, travels };
        Ok(Step::Done)
    }

    /// Takes any message, or waits for one; if the expected answer has not come in the polls before, polls once more.
    #[inline(never)]
    fn take_any(&mut self) -> Result<Step, Error> {
        let looks = if self.words.awaits_answer() { 1 } else { LOOKS };
        self.wait_for(looks, Self::look_for_message)
    }

    /// The address of a message that lies in the travelling room or else in an end's `own`.
    #[inline(always)]
    fn address(&self, message: MessageLocation, own: NonNull<u8>) -> NonNull<u8> {
        if message.travels { self.travelling } else { in_its_own(own) }
    }

    #[inline(never)]
    fn wait_for_room(&mut self) -> Result<Step, Error> {
        self.wait_for(LOOKS, Self::look_for_room)
    }

    #[inline(always)]
    fn look_for_room(&mut self) -> Result<Step, Error> {
        self.words.look(self.theirs.word())?;
        Ok(if self.words.has_room() { Step::Done } else { Step::WouldBlock })
    }
}

/// A call, so that the compiler does not select one of two addresses, which would wait for both.
#[cold]
#[inline(never)]
fn in_its_own(room: NonNull<u8>) -> NonNull<u8> {
    room
}

impl Endpoint for ShmSlotEndpoint {
    #[inline(always)]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        if !self.words.has_room() && self.wait_for_room()? == Step::WouldBlock {
            return Ok(Step::WouldBlock);
        }
        self.loaned = MessageLocation { len, travels: self.words.holds() };
        Ok(Step::Done)
    }

    #[inline(always)]
    fn room(&mut self) -> &mut [u8] {
        let room = self.address(self.loaned, self.mine.room);
        // SAFETY: within the room, because `loan` was called with at most the payload; exclusive to this end
        // from `loan`, after the other end released it, until `publish` ends the loan.
        unsafe { slice::from_raw_parts_mut(room.as_ptr(), self.loaned.len) }
    }

    #[inline(always)]
    fn publish(&mut self) -> Result<Step, Error> {
        self.words.publish(self.mine.word(), self.loaned.len, self.loaned.travels);
        self.loaned.len = 0;
        self.has_just_published = true;
        self.wake_if_asleep();
        Ok(Step::Done)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<Step, Error> {
        // The answer cannot be there yet, and a look would take the line away from the end that is to write it there.
        if mem::take(&mut self.has_just_published) {
            spin_loop();
        }
        let Some((len, travels)) = self.words.receive_answer(self.theirs.word(), LOOKS) else {
            return self.take_any();
        };
        self.taken = MessageLocation { len, travels };
        Ok(Step::Done)
    }

    #[inline(always)]
    fn pause(&self) {
        self.pauses.pause();
    }

    #[inline(always)]
    fn message(&self) -> &[u8] {
        let room = self.address(self.taken, self.theirs.room);
        // SAFETY: the length was checked to be at most the payload; the other end does not touch the room
        // until it sees `release`.
        unsafe { slice::from_raw_parts(room.as_ptr(), self.taken.len) }
    }

    #[inline(always)]
    fn release(&mut self) -> Result<(), Error> {
        self.words.release(self.taken.travels);
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

/// The entry of `shm-slot` in the list of transports.
pub const TRANSPORT: ShmSlot = ShmSlot;
