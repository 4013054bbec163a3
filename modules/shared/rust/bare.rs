//! Common code of bare programs of a library in Rust: the arguments, the head of a message, and round trips timed with
//! one clock reading each, like `modules/shared/c/bare.h` for C and C++. It is started as
//!
//!   bare-NAME spin|block PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU
//!
//! starts itself again with a path or a name after these words, and prints the median round trip in nanoseconds.

use std::{
    env,
    process::{Child, Command, exit},
};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// One warm-up round trip for every four that count.
const WARM_UP: usize = 4;

/// The bytes of a message that are written and read, as many as with `--touch head`.
const HEAD: usize = 16;

/// The arguments of the program.
pub struct Asked {
    words: Vec<String>,
    pub spins: bool,
    pub payload: usize,
    round_trips: usize,
    pub leader_cpu: usize,
    pub follower_cpu: usize,
    /// The word that the first process passes to the second.
    pub told: Option<String>,
}

impl Asked {
    pub fn read() -> Result<Self, Failure> {
        let mut words: Vec<String> = env::args().collect();
        let told = if words.len() == 7 { words.pop() } else { None };
        let [_, wait, payload, round_trips, leader_cpu, follower_cpu] = &words[..] else {
            eprintln!("usage: bare-NAME spin|block PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU");
            exit(2);
        };
        Ok(Self {
            spins: wait == "spin",
            payload: payload.parse()?,
            round_trips: round_trips.parse()?,
            leader_cpu: leader_cpu.parse()?,
            follower_cpu: follower_cpu.parse()?,
            told,
            words,
        })
    }

    /// Starts the other process.
    pub fn start_other(&self, told: &str) -> Result<Child, Failure> {
        Ok(Command::new(&self.words[0]).args(&self.words[1..]).arg(told).spawn()?)
    }

    /// The round trips including the warm-up.
    pub fn all_round_trips(&self) -> usize {
        self.warm_up() + self.round_trips
    }

    fn warm_up(&self) -> usize {
        self.round_trips / WARM_UP + 1
    }

    /// Times round trips, each with its number, and prints their median.
    #[inline]
    pub fn time(
        &self,
        mut round_trip: impl FnMut(u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (warm_up, count) = (self.warm_up(), self.round_trips);
        let mut times = vec![1_u64; count];
        let mut before = now();
        for n in 0..warm_up + count {
            round_trip(n as u64)?;
            let after = now();
            if n >= warm_up {
                times[n - warm_up] = after - before;
            }
            before = after;
        }
        times.sort_unstable();
        println!("{}", times[count / 2]);
        Ok(())
    }
}

/// Writes a number in the head of a message.
#[inline]
pub fn write(message: &mut [u8], number: u64) {
    let (first, second) = message[..HEAD].split_at_mut(HEAD / 2);
    first.copy_from_slice(&number.to_ne_bytes());
    second.copy_from_slice(&number.to_ne_bytes());
}

/// The number in the head of a message of this length.
#[inline]
pub fn read(message: &[u8], payload: usize) -> Result<u64, Failure> {
    assert_eq!(message.len(), payload);
    let (first, second) = message[..HEAD].split_at(HEAD / 2);
    assert_eq!(first, second);
    Ok(u64::from_ne_bytes(first.try_into()?))
}

/// A unique name for this process.
pub fn name() -> String {
    format!("ipcmark-bare-{}", std::process::id())
}

/// Pins the calling thread to a processor; threads started by a library are not pinned.
pub fn pin(cpu: usize) {
    // SAFETY: a zeroed set is empty, and the call only affects this thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` has room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
