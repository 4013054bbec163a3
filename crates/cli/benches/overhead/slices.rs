//! A transport against the floor on its own cache line: two forked processes that alternate slices of bare round trips
//! and of round trips through the transport. The floor's word lies behind the message in the same cache line, so
//! neither the line's address nor its home processor can cause a difference.

use std::{
    hint::spin_loop,
    os::fd::{BorrowedFd, OwnedFd},
    process::exit,
    ptr,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::{
    Collect, Endpoint, Error, Rendezvous, Role, RunId, Settings, Step, Transport, Wait,
};

use crate::{
    bare::{begin_follower, pin, shared_page, unpin},
    blocks::now_ns,
};

/// The bytes of a message: together with the words of `shm-slot` it leaves 16 bytes in the line.
const PAYLOAD: usize = 32;

const LINE: usize = 64;
/// The offset of the floor's word in the line.
const WORD: usize = LINE - size_of::<AtomicU64>();

/// The length of a slice in nanoseconds.
const SLICE_NS: f64 = 5e6;

/// The number of slices of each kind.
const SLICES: usize = 401;

/// The warm-up round trips at the start of a slice.
const FIRST: u64 = 200;

/// Two slices of the floor around one of the transport count as one distance if their ratio is below this: distances
/// differ by several times that.
const ALIKE: f64 = 1.15;

/// The ratios of transport and floor at one distance, and the floor's median there, in ns.
pub(crate) struct SliceRatios {
    pub floor_ns: f64,
    pub ratios: Vec<f64>,
}

/// Measures slices of the transport with this name.
pub(crate) struct Slices(pub &'static str);

impl Collect for Slices {
    type Item = Option<Vec<SliceRatios>>;

    fn item<T: Transport>(&mut self, transport: T) -> Self::Item {
        (transport.definition().name == self.0).then(|| by_distance(&measure(&transport)))
    }
}

/// A rendezvous over the socket to the other end.
struct Pair(FrameSocket);

impl Rendezvous for Pair {
    fn peers(&self) -> usize {
        1
    }

    fn send(&mut self, _: usize, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        self.0.send(bytes, fds)
    }

    fn receive(&mut self, _: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        self.0.receive()
    }
}

/// The kind of a slice.
#[derive(Clone, Copy, PartialEq)]
enum SliceKind {
    Floor,
    Transport,
}

/// The leader's message to the follower about the next slice, on a cache line of its own.
#[repr(align(128))]
struct Control {
    /// The slice's number, from 1; `u64::MAX` is the end. Even numbers are the floor's.
    slice: AtomicU64,
    round_trips: AtomicU64,
}

/// The time of a round trip in each slice in turn, in ns: floor, transport, floor, and so on.
fn measure<T: Transport>(transport: &T) -> Vec<f64> {
    let (mut leader, mut follower) = open(transport, PAYLOAD);
    // SAFETY: a new mapping of zeros, which are a valid control, for this process and its child.
    let control = unsafe { &*shared_page().cast::<Control>() };
    // SAFETY: the threads that opened the ends have ended, and the child only runs the loops.
    match unsafe { libc::fork() } {
        0 => {
            begin_follower();
            follow(&mut follower, control);
            exit(0);
        }
        child => {
            pin(0);
            let times = lead(&mut leader, control);
            // SAFETY: reaps the child, which has seen the end.
            unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
            unpin();
            times
        }
    }
}

/// Opens both spinning ends in two threads, which meet through a pair of sockets.
pub(crate) fn open<T: Transport>(transport: &T, payload: usize) -> (T::Endpoint, T::Endpoint) {
    let (a, b) = FrameSocket::pair().expect("a pair of sockets");
    thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let settings = settings(Role::Follower(0), payload);
            SendEnd(transport.open(&settings, &mut Pair(b)).expect("the follower opens"))
        });
        let leader = transport.open(&settings(Role::Leader, payload), &mut Pair(a));
        (leader.expect("the leader opens"), follower.join().expect("a follower").0)
    })
}

/// Lets an end move to the thread that forks.
struct SendEnd<E>(E);

// SAFETY: the thread that opened it ends before any other uses it.
unsafe impl<E> Send for SendEnd<E> {}

fn settings(role: Role, payload: usize) -> Settings {
    Settings {
        role,
        wait: Wait::Spin,
        payload,
        subscribers: 1,
        name: RunId::new(std::process::id()).session(1),
        directory: std::env::temp_dir(),
        address: None,
        connect_within: Duration::from_secs(60),
        options: Default::default(),
    }
}

fn lead<E: Endpoint>(end: &mut E, control: &Control) -> Vec<f64> {
    let mut leader = Leader { end, control, slice: 0, seq: 0, word: None };
    let first = [1, 0].map(|_| leader.slice(10_000));
    // The first slice of each kind sets the round trips per slice.
    let count = first.map(|ns| (SLICE_NS / ns) as u64);
    let times = (0..2 * SLICES).map(|at| leader.slice(count[at % 2])).collect();
    control.slice.store(u64::MAX, Ordering::Release);
    times
}

struct Leader<'a, E> {
    end: &'a mut E,
    control: &'a Control,
    slice: u64,
    seq: u64,
    /// The floor's word; its address is known after the first message.
    word: Option<&'a AtomicU64>,
}

impl<E: Endpoint> Leader<'_, E> {
    /// The time of a round trip in the next slice, in ns.
    fn slice(&mut self, count: u64) -> f64 {
        self.slice += 1;
        self.control.round_trips.store(FIRST + count, Ordering::Relaxed);
        self.control.slice.store(self.slice, Ordering::Release);
        let kind = kind(self.slice);
        self.round_trips(kind, FIRST);
        let start = now_ns();
        self.round_trips(kind, count);
        (now_ns() - start) as f64 / count as f64
    }

    fn round_trips(&mut self, kind: SliceKind, count: u64) {
        match kind {
            SliceKind::Floor => self.bare(count),
            SliceKind::Transport => (0..count).for_each(|_| self.carried()),
        }
    }

    #[inline(never)]
    fn bare(&mut self, count: u64) {
        let word = self.word.expect("a message came first");
        for _ in 0..count {
            word.store(1, Ordering::Release);
            while word.load(Ordering::Acquire) != 0 {
                spin_loop();
            }
        }
    }

    #[inline(always)]
    fn carried(&mut self) {
        self.seq += 1;
        let room = send(self.end, self.seq);
        if self.word.is_none() {
            // SAFETY: the room's line belongs to the mapping of both ends, which live as long as this.
            self.word = Some(unsafe { word_behind(room) });
        }
        assert_eq!(receive(self.end), self.seq, "another message came");
    }
}

fn follow<E: Endpoint>(end: &mut E, control: &Control) {
    let (mut done, mut word) = (0, None);
    loop {
        let slice = control.slice.load(Ordering::Acquire);
        if slice == u64::MAX {
            return;
        }
        if slice == done {
            spin_loop();
            continue;
        }
        done = slice;
        let count = control.round_trips.load(Ordering::Relaxed);
        match kind(slice) {
            SliceKind::Floor => reflect(word.expect("a message came first"), count),
            SliceKind::Transport => {
                for _ in 0..count {
                    let (seq, at) = received(end);
                    // SAFETY: as in the leader.
                    word.get_or_insert_with(|| unsafe { word_behind(at) });
                    send(end, seq);
                }
            }
        }
    }
}

#[inline(never)]
fn reflect(word: &AtomicU64, count: u64) {
    for _ in 0..count {
        while word.load(Ordering::Acquire) != 1 {
            spin_loop();
        }
        word.store(0, Ordering::Release);
    }
}

fn kind(slice: u64) -> SliceKind {
    if slice.is_multiple_of(2) { SliceKind::Floor } else { SliceKind::Transport }
}

/// Sends a message with this head and returns its address.
#[inline(always)]
fn send<E: Endpoint>(end: &mut E, seq: u64) -> *const u8 {
    complete(end, |end| end.loan(PAYLOAD));
    let room = end.room();
    room[..8].copy_from_slice(&seq.to_ne_bytes());
    room[8..16].copy_from_slice(&(PAYLOAD as u64).to_ne_bytes());
    let at = room.as_ptr();
    complete(end, E::publish);
    at
}

#[inline(always)]
fn receive<E: Endpoint>(end: &mut E) -> u64 {
    received(end).0
}

/// The next message's head and its address.
#[inline(always)]
fn received<E: Endpoint>(end: &mut E) -> (u64, *const u8) {
    complete(end, E::take);
    let message = end.message();
    let word = |at: usize| u64::from_ne_bytes(message[at..at + 8].try_into().expect("8 bytes"));
    let (seq, at) = (word(0), message.as_ptr());
    assert_eq!(word(8), PAYLOAD as u64, "another length");
    end.release().expect("the message is released");
    (seq, at)
}

#[inline(always)]
pub(crate) fn complete<E: Endpoint>(end: &mut E, attempt: impl Fn(&mut E) -> Result<Step, Error>) {
    while attempt(end).expect("the transport works") == Step::WouldBlock {
        end.pause();
    }
}

/// The word in the last bytes of a message's cache line.
///
/// # Safety
/// The line stays mapped for as long as the word is used, and the message does not reach these bytes.
unsafe fn word_behind<'a>(message: *const u8) -> &'a AtomicU64 {
    let offset = message as usize % LINE;
    assert!(offset + PAYLOAD <= WORD, "the message lies in the way");
    // SAFETY: the caller's promise; the address is a multiple of eight.
    unsafe { AtomicU64::from_ptr(message.add(WORD - offset).cast_mut().cast()) }
}

/// Each slice of the transport divided by the mean of the two floor slices around it, where both were at
/// one distance.
fn by_distance(times: &[f64]) -> Vec<SliceRatios> {
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for around in times.windows(3).skip(1).step_by(2) {
        let [before, ours, after] = around else { continue };
        let floor = (before + after) / 2.0;
        if before.max(*after) / before.min(*after) < ALIKE {
            pairs.push((floor, ours / floor));
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Neighbours that differ by more belong to two distances.
    let groups = pairs.chunk_by(|a, b| b.0 / a.0 < ALIKE);
    let group = |pairs: &[(f64, f64)]| SliceRatios {
        floor_ns: pairs[pairs.len() / 2].0,
        ratios: pairs.iter().map(|(_, ratio)| *ratio).collect(),
    };
    groups.map(group).collect()
}
