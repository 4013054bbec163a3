//! Common code of bare programs of a library in Rust: the arguments, the head of a message, and the measured blocks,
//! like `modules/shared/c/bare.h` for C and C++. It is started as
//!
//!   bare-NAME spin|block PAYLOAD ROUND_TRIPS BLOCKS LEADER_CPU FOLLOWER_CPU FILE
//!
//! starts itself again with a path or a name after these words, and prints a line for each block of so many round trips:
//! its time in nanoseconds, the floor's round trip before and after it, and how often the leader went to sleep. FILE has
//! [`blocks::FILE_BYTES`] of zeros.

#[path = "blocks.rs"]
mod blocks;

use std::{
    env,
    fs::OpenOptions,
    process::{Child, Command, exit},
};

use blocks::{Floor, MeasuredBlock, Work};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The bytes of a message that are written and read, as many as with `--touch head`.
const HEAD: usize = 16;

/// The arguments of the program.
pub struct Asked {
    words: Vec<String>,
    pub spins: bool,
    pub payload: usize,
    work: Work,
    pub leader_cpu: usize,
    pub follower_cpu: usize,
    /// The word that the first process passes to the second.
    pub told: Option<String>,
}

impl Asked {
    pub fn read() -> Result<Self, Failure> {
        let mut words: Vec<String> = env::args().collect();
        let told = if words.len() == 9 { words.pop() } else { None };
        let [_, wait, payload, round_trips, blocks, leader_cpu, follower_cpu, _] = &words[..]
        else {
            eprintln!(
                "usage: bare-NAME spin|block PAYLOAD ROUND_TRIPS BLOCKS LEADER_CPU FOLLOWER_CPU FILE"
            );
            exit(2);
        };
        let spins = wait == "spin";
        let work = Work { spins, round_trips: round_trips.parse()?, blocks: blocks.parse()? };
        Ok(Self {
            spins,
            payload: payload.parse()?,
            work,
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

    /// The leader's part: measures round trips, each with its number, and prints their blocks.
    #[inline]
    pub fn lead(&self, round_trip: impl FnMut(u64) -> Result<(), Failure>) -> Result<(), Failure> {
        for block in self.work.lead(&mut self.floor()?, round_trip)? {
            let MeasuredBlock { elapsed_ns, before_ns, after_ns, sleeps } = block;
            println!("{elapsed_ns} {before_ns:.1} {after_ns:.1} {sleeps}");
        }
        Ok(())
    }

    /// The follower's part: receives each message and answers it.
    #[inline]
    pub fn follow(&self, answer: impl FnMut() -> Result<(), Failure>) -> Result<(), Failure> {
        self.work.follow(&mut self.floor()?, answer)
    }

    fn floor(&self) -> Result<Floor, Failure> {
        let file = OpenOptions::new().read(true).write(true).open(&self.words[7])?;
        Ok(Floor::map(&file)?)
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
