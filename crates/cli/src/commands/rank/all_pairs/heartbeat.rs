//! Liveness of the ranks: each increments a counter in a file of its own, and its watchers check if the counter
//! changes. The clocks of two hosts are never compared.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    super::{
        rendezvous::RankRendezvous,
        status::{left, overall_status},
    },
    halt::{Halt, HaltCause},
};
use crate::interrupts::Interrupts;

/// The interval at which the thread checks for what ends the job.
const LOOK: Duration = Duration::from_millis(200);

/// A rank counts at least this often within the time after which it is considered dead, and never less often than
/// [`SLOWEST`].
const COUNTS: u32 = 10;
const SLOWEST: Duration = Duration::from_secs(5);

/// The file with which rank 0 ends all measurements.
pub(super) const STOP: &str = "stop";

/// The file with a rank's counter.
fn alive(rank: u32) -> String {
    format!("alive-{rank}")
}

/// The context of a rank's thread that counts and watches others.
pub(super) struct Heartbeat<'a> {
    pub rendezvous: &'a RankRendezvous<'a>,
    pub rank: u32,
    /// A rank is considered dead if its counter does not change for this long.
    pub time_limit: Duration,
    pub halt: &'a Halt,
    pub interrupts: &'a Interrupts,
    /// The ranks to watch, with their names, set once they have joined.
    pub watched: OnceLock<Vec<(u32, String)>>,
    /// True once the thread must end.
    pub is_over: AtomicBool,
}

/// The last counter of a rank, and the time since when it has this value.
struct LastCounter {
    number: Option<String>,
    since: Instant,
}

impl Heartbeat<'_> {
    /// Counts and watches until `is_over`. Rank 0 goes on counting while it ends the job.
    pub(super) fn run(&self) {
        let mut counters: BTreeMap<u32, LastCounter> = BTreeMap::new();
        let (every, mut number, mut next) = (self.every(), 0_u64, Instant::now());
        while !self.is_over.load(Ordering::Relaxed) {
            let now = Instant::now();
            if now >= next && !self.is_deserted() {
                number += 1;
                // If this fails, the others consider this rank dead, and report it.
                let _ = self.count(number);
                next = now + every;
            }
            if !self.halt.is_set() {
                self.look(&mut counters);
            }
            thread::sleep(LOOK.min(every));
        }
    }

    /// Counts for the first time, so that the file exists before this rank announces itself.
    pub(super) fn begin(&self) -> Result<(), String> {
        self.count(0).map_err(|e| format!("cannot write {}: {e}", alive(self.rank)))
    }

    fn every(&self) -> Duration {
        (self.time_limit / COUNTS).clamp(Duration::from_millis(10), SLOWEST)
    }

    /// A rank that counts after rank 0 is gone would keep the directory from being removed.
    fn is_deserted(&self) -> bool {
        matches!(self.halt.cause(), Some(HaltCause::Deserted(_)))
    }

    fn count(&self, number: u64) -> std::io::Result<()> {
        let name = alive(self.rank);
        let hidden = self.rendezvous.path(&format!(".{name}"));
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&hidden)?.write_all(number.to_string().as_bytes())?;
        fs::rename(&hidden, self.rendezvous.path(&name))
    }

    /// Checks for what ends the job.
    fn look(&self, counters: &mut BTreeMap<u32, LastCounter>) {
        if self.interrupts.signal().is_some() {
            self.halt.set(HaltCause::Signal);
        } else if self.rank != 0 && overall_status(self.rendezvous).is_some() {
            // The job is over: a silent rank has left regularly.
        } else if self.rank != 0 && self.rendezvous.has(STOP) {
            self.halt.set(HaltCause::Ordered);
        } else if self.rank != 0 && !self.rendezvous.is_there() {
            self.halt.set(HaltCause::Deserted("rank 0 has ended without a result".into()));
        } else if let Some((ranks, why)) = self.silent(counters) {
            self.halt.set(match self.rank {
                0 => HaltCause::Died(ranks, why),
                _ => HaltCause::Deserted(why),
            });
        }
    }

    /// The watched ranks that are gone, and a sentence about them.
    fn silent(&self, counters: &mut BTreeMap<u32, LastCounter>) -> Option<(Vec<u32>, String)> {
        let (mut ranks, mut sentences) = (Vec::new(), Vec::new());
        for (rank, name) in self.watched.get().into_iter().flatten() {
            if let Some(what) = self.gone(*rank, counters) {
                ranks.push(*rank);
                sentences.push(format!("rank {rank} ({name}) {what}"));
            }
        }
        (!ranks.is_empty()).then(|| (ranks, sentences.join(", and ")))
    }

    fn gone(&self, rank: u32, counters: &mut BTreeMap<u32, LastCounter>) -> Option<String> {
        if self.rendezvous.has(&left(rank)) {
            return Some("has left before the end".into());
        }
        let number = self.rendezvous.read(&alive(rank));
        let now = Instant::now();
        let last = counters.entry(rank).or_insert(LastCounter { number: None, since: now });
        if number.is_some() && number != last.number {
            *last = LastCounter { number, since: now };
        }
        let silence = now - last.since;
        let sentence = || format!("has died: no heartbeat for {} s", silence.as_secs().max(1));
        (silence > self.time_limit).then(sentence)
    }
}
