//! The blocks of a bare program: round trips between two probes of the distance between its two processes, in turns
//! with a pause before each, as ipcmark measures a row. `modules/shared/c/bare_blocks.h` does the same for C and C++.

use std::{
    fs::File,
    hint::spin_loop,
    io,
    os::fd::AsRawFd,
    ptr::{self, NonNull},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

/// The cache lines of a probe, and the distance between two.
const LINES: usize = 8;
const STRIDE: usize = 4096;

/// The bytes of the file that both processes map.
pub const FILE_BYTES: usize = STRIDE * (LINES + 1);

/// Round trips of a probe in which both processes arrive, and those that count on each line.
const ARRIVAL: u64 = 8;
const CHUNK: u64 = 12;

/// The bits of the step within a word; the number of the probe is above them.
const STEP_BITS: u32 = 16;

/// A probe that takes longer is given up by its leader, and by its follower.
const PROBE_NS: u64 = 200_000;
const NOBODY_COMES_NS: u64 = 20_000_000;

/// Polls between two looks at the clock, and at the number of the last probe that is over.
const POLLS_A_LOOK: u32 = 1 << 10;
const POLLS_A_LOOK_FOR_THE_END: u32 = 1 << 5;

/// The pause before a turn of about 5 ms, and its blocks.
const PAUSE: Duration = Duration::from_micros(200);
const SPINNING_TURN: usize = 9;
const SLEEPING_TURN: usize = 3;

/// What the start of a program leaves to the kernel to free (RCU callbacks) is freed in this time. Until then the
/// processors keep their tick while they are idle, and wake up faster than later.
const SETTLING: Duration = Duration::from_millis(100);

/// What both processes do.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub spins: bool,
    /// Round trips of a block.
    pub round_trips: u64,
    pub blocks: usize,
}

/// A step of the work.
enum Step {
    Settle,
    Pause,
    Probe,
    /// Round trips that do not count.
    Uncounted(u64),
    Block(u64),
}

/// The results of a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeasuredBlock {
    pub elapsed_ns: u64,
    /// The floor's round trip before and after the block, in ns.
    pub before_ns: f64,
    pub after_ns: f64,
    /// Times that the leader's thread went to sleep.
    pub sleeps: u64,
}

impl Work {
    /// The steps of each process, in their order.
    fn steps(&self) -> impl Iterator<Item = Step> + use<> {
        let Self { spins, round_trips, blocks } = *self;
        let turn = if spins { SPINNING_TURN } else { SLEEPING_TURN };
        let warm_up = Step::Uncounted(turn as u64 * round_trips);
        let few = (round_trips / 20).clamp(1, 16);
        let settle = (!spins).then_some(Step::Settle);
        std::iter::once(warm_up).chain(settle).chain((0..blocks).flat_map(move |at| {
            let begin = [Step::Pause, Step::Uncounted(1), Step::Probe];
            let begin = begin.into_iter().filter(move |_| at.is_multiple_of(turn));
            begin.chain([Step::Uncounted(few), Step::Block(round_trips), Step::Probe])
        }))
    }

    /// The leader's part: calls this with the number of each round trip.
    #[inline]
    pub fn lead<E>(
        &self,
        floor: &mut Floor,
        mut round_trip: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<Vec<MeasuredBlock>, E> {
        let mut blocks: Vec<MeasuredBlock> = Vec::with_capacity(self.blocks);
        let (mut number, mut probe_ns, mut unfinished) = (0, 0.0, None);
        let mut run = |count| {
            (0..count).try_for_each(|_| {
                number += 1;
                round_trip(number)
            })
        };
        for step in self.steps() {
            match step {
                Step::Settle => settle(),
                Step::Pause => pause(),
                Step::Uncounted(count) => run(count)?,
                Step::Probe => {
                    probe_ns = floor.measure();
                    let block = unfinished.take();
                    blocks.extend(block.map(|b| MeasuredBlock { after_ns: probe_ns, ..b }));
                }
                Step::Block(count) => {
                    let (sleeps, start) = (sleeps(), now_ns());
                    run(count)?;
                    let elapsed_ns = now_ns() - start;
                    let sleeps = self::sleeps() - sleeps;
                    let before_ns = probe_ns;
                    unfinished =
                        Some(MeasuredBlock { elapsed_ns, before_ns, after_ns: 0.0, sleeps });
                }
            }
        }
        Ok(blocks)
    }

    /// The follower's part: calls this for each message, which it receives and answers.
    #[inline]
    pub fn follow<E>(
        &self,
        floor: &mut Floor,
        mut answer: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        for step in self.steps() {
            match step {
                Step::Uncounted(count) | Step::Block(count) => {
                    (0..count).try_for_each(|_| answer())?;
                }
                Step::Settle => settle(),
                Step::Pause => pause(),
                Step::Probe => floor.reflect(),
            }
        }
        Ok(())
    }
}

/// The lines of the probes.
pub struct Floor {
    pages: NonNull<u8>,
    /// The number of the last probe.
    probe: u64,
}

impl Floor {
    /// Maps a file of [`FILE_BYTES`] zeros.
    pub fn map(file: &File) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address that the system chooses.
        let pages =
            unsafe { libc::mmap(ptr::null_mut(), FILE_BYTES, access, flags, file.as_raw_fd(), 0) };
        match NonNull::new(pages.cast::<u8>()) {
            Some(pages) if pages.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(Self { pages, probe: 0 })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn word(&self, line: usize) -> &AtomicU64 {
        assert!(line <= LINES);
        // SAFETY: the line lies within the mapping, which lives as long as `self`, and is only used through atomics.
        unsafe { self.pages.add(line * STRIDE).cast::<AtomicU64>().as_ref() }
    }

    /// The leader's part of a probe: the floor's round trip in ns; [`PROBE_NS`] if the processors are apart.
    pub fn measure(&mut self) -> f64 {
        self.probe += 1;
        let measured = self.chunks();
        self.word(LINES).store(self.probe, Ordering::Release);
        measured.unwrap_or(PROBE_NS as f64)
    }

    fn chunks(&self) -> Option<f64> {
        let deadline = now_ns() + PROBE_NS;
        let mut step = (self.probe << STEP_BITS) + 1;
        let mut chunks = [0.0; LINES];
        self.round_trips(0, &mut step, ARRIVAL, deadline)?;
        for (line, chunk) in chunks.iter_mut().enumerate() {
            self.round_trips(line, &mut step, 1, deadline)?;
            let start = now_ns();
            self.round_trips(line, &mut step, CHUNK, deadline)?;
            *chunk = (now_ns() - start) as f64 / CHUNK as f64;
        }
        chunks.sort_by(f64::total_cmp);
        Some((chunks[LINES / 2 - 1] + chunks[LINES / 2]) / 2.0)
    }

    /// None if the time is up.
    fn round_trips(&self, line: usize, step: &mut u64, count: u64, deadline: u64) -> Option<()> {
        let word = self.word(line);
        for _ in 0..count {
            word.store(*step, Ordering::Release);
            let mut polls = 0_u32;
            while word.load(Ordering::Acquire) != *step + 1 {
                polls = polls.wrapping_add(1);
                if polls.is_multiple_of(POLLS_A_LOOK) && now_ns() > deadline {
                    return None;
                }
                spin_loop();
            }
            *step += 2;
        }
        Some(())
    }

    /// The follower's part of a probe.
    pub fn reflect(&mut self) {
        self.probe += 1;
        let deadline = now_ns() + NOBODY_COMES_NS;
        let mut step = (self.probe << STEP_BITS) + 1;
        let lines = (0..LINES).flat_map(|line| (0..=CHUNK).map(move |_| line));
        for line in (0..ARRIVAL).map(|_| 0).chain(lines) {
            if !self.answer(line, step, deadline) {
                return;
            }
            step += 2;
        }
    }

    /// Answers one step; false if the probe is over, or nobody comes.
    fn answer(&self, line: usize, expected: u64, deadline: u64) -> bool {
        let word = self.word(line);
        let mut polls = 0_u32;
        loop {
            let seen = word.load(Ordering::Acquire);
            if seen >= expected && seen % 2 == 1 {
                word.store(seen + 1, Ordering::Release);
                return true;
            }
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS_A_LOOK_FOR_THE_END)
                && self.word(LINES).load(Ordering::Acquire) >= expected >> STEP_BITS
            {
                return false;
            }
            if polls.is_multiple_of(POLLS_A_LOOK) {
                if now_ns() > deadline {
                    return false;
                }
                // A thread of the library may still have to deliver what the leader waits for.
                thread::yield_now();
            }
            spin_loop();
        }
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        // SAFETY: `map` made it with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.pages.as_ptr().cast(), FILE_BYTES) };
    }
}

/// The wait of both processes before their first turn.
pub fn settle() {
    thread::sleep(SETTLING);
}

/// The pause of both processes before a turn.
pub fn pause() {
    thread::sleep(PAUSE);
}

/// Times that this thread went to sleep so far.
fn sleeps() -> u64 {
    // SAFETY: zeros are a valid value, and a valid location for the result.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_nvcsw as u64
    }
}

pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid location for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
