//! One pair of ranks: its leader and its follower meet in a directory of their own inside the
//! rendezvous directory.

use std::{
    io::Write,
    os::unix::net::UnixStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use ipcmark_results::{RunResult, parse, write_atomically};

use super::{
    super::{
        arguments::RankArguments,
        rank_host::{leader, listen, reaches},
        rendezvous::{Missing, RankRendezvous},
        rounds::RankPair,
    },
    halt::Halt,
};
use crate::{
    arguments::by_hand::FollowerArguments,
    by_hand,
    measurement::{ByHandLeader, RunRequest, measure_pair},
    registry::Transports,
};

/// The largest result of a pair that rank 0 reads: 256 MiB.
const LARGEST: u64 = 1 << 28;

/// The interval at which a follower checks if its leader has ended.
const LOOK: Duration = Duration::from_millis(100);

/// The context of a rank's part in a pair.
pub(super) struct PairContext<'a> {
    pub rendezvous: &'a RankRendezvous<'a>,
    pub arguments: &'a RankArguments,
    pub transports: &'a Transports,
    pub halt: &'a Halt,
}

/// An order to measure a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PairOrder {
    pub pair: RankPair,
    /// True if both are on one machine and in one network.
    pub is_beside: bool,
}

impl PairOrder {
    /// The order as a line of a file.
    pub(super) fn line(&self) -> String {
        let (leader, follower) = self.pair;
        format!("{leader} {follower} {}\n", u8::from(self.is_beside))
    }

    /// The orders in a file.
    pub(super) fn all(text: &str) -> Vec<Self> {
        text.lines().filter_map(Self::of_line).collect()
    }

    fn of_line(line: &str) -> Option<Self> {
        let numbers: Vec<u32> = line.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [leader, follower, is_beside] = numbers[..] else { return None };
        Some(Self { pair: (leader, follower), is_beside: is_beside == 1 })
    }

    fn place(&self) -> String {
        let (leader, follower) = self.pair;
        format!("{leader}-{follower}")
    }

    /// The file name for the leader's result, partial or complete.
    fn result(&self) -> String {
        format!("result-{}", self.place())
    }

    /// The name of the file in which the leader reports its end: empty, or with the reason why nothing more was
    /// measured.
    pub(super) fn led(&self) -> String {
        format!("led-{}", self.place())
    }

    /// The same for the follower.
    pub(super) fn followed(&self) -> String {
        format!("followed-{}", self.place())
    }
}

/// The run between two ranks, and the transports that are left out; an error is one of the command line.
pub(super) fn request(
    arguments: &RankArguments,
    transports: &Transports,
) -> Result<(RunRequest, Vec<String>), String> {
    let mut request = RunRequest::new(&arguments.run, &transports.registry)?;
    let left = request.keep_across_hosts(&transports.registry)?;
    Ok((request, left))
}

impl PairContext<'_> {
    /// The run between two ranks, and the transports that are left out.
    pub(super) fn request(&self) -> Result<(RunRequest, Vec<String>), String> {
        request(self.arguments, self.transports)
    }

    /// Leads a pair and reports its end to rank 0.
    pub(super) fn lead(&self, order: &PairOrder) -> Result<(), String> {
        let ended = self.led(order);
        self.rendezvous.put(&order.led(), &ended.err().unwrap_or_default())
    }

    /// Leads a pair. The result so far is in a file.
    fn led(&self, order: &PairOrder) -> Result<(), String> {
        let path = self.rendezvous.path(&order.result());
        let is_halted = || self.halt.is_set();
        let place = self.rendezvous.path(&order.place());
        let time_limit = self.arguments.meet_within;
        let rendezvous = RankRendezvous::open(place, time_limit, &is_halted)?;
        let measured = || {
            let listens = listen(&rendezvous, order.is_beside, self.arguments.address.as_deref())?;
            let leader = ByHandLeader {
                address: by_hand::address_of(&listens)?,
                time_limit: Some(time_limit),
                is_announced: false,
            };
            let (registry, stop) = (&self.transports.registry, &self.halt.readable);
            let (request, _) = self.request()?;
            measure_pair(request, registry, &leader, stop, Some(path.clone())).map_err(|error| {
                format!("rank {} with rank {}: {error}", order.pair.0, order.pair.1)
            })
        };
        let measured = measured();
        rendezvous.remove();
        match measured? {
            Some(result) => write_atomically(&path, &result).map_err(|e| e.to_string()),
            None => Err("the job ended before it began".into()),
        }
    }

    /// Follows in a pair.
    pub(super) fn follow(&self, order: &PairOrder) -> Result<(), String> {
        let ended = self.followed(order);
        self.rendezvous.put(&order.followed(), &ended.err().unwrap_or_default())
    }

    fn followed(&self, order: &PairOrder) -> Result<(), String> {
        // A leader that failed has left no directory to meet in.
        let is_ended = || self.halt.is_set() || self.rendezvous.has(&order.led());
        let place = self.rendezvous.path(&order.place());
        let time_limit = self.arguments.meet_within;
        let late = format!("rank {} did not report its address", order.pair.0);
        let rendezvous =
            RankRendezvous::join(place, time_limit, &is_ended).map_err(|_| late.clone())?;
        let found = match rendezvous.until(LOOK, &|| leader(&rendezvous)) {
            Ok(found) => found,
            Err(Missing::Interrupted) => return Ok(()),
            Err(Missing::Late) => return Err(late),
        };
        let plain = FollowerArguments::plain(&self.arguments.run.module);
        let follower = reaches(found, &rendezvous, plain);
        let (stop, stopped) = UnixStream::pair().map_err(|e| e.to_string())?;
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) && !is_ended() {
                    thread::sleep(LOOK);
                }
                let _ = (&stopped).write_all(b"!");
            });
            let served = by_hand::follow_until(&follower, &stop);
            is_over.store(true, Ordering::Relaxed);
            served.map(drop)
        })
    }

    /// The result of a pair, if there is one, and the reason why it is incomplete, if it is.
    pub(super) fn found(&self, order: &PairOrder) -> (Option<RunResult>, Option<String>) {
        let name = order.result();
        let bytes = match self.rendezvous.has(&name) {
            true => self.rendezvous.bytes(&name, LARGEST),
            false => Err("there is no result".into()),
        };
        let read = bytes.and_then(|bytes| {
            parse(&bytes).map_err(|cause| format!("cannot read {name}: {cause}"))
        });
        let _ = std::fs::remove_file(self.rendezvous.path(&name));
        let why = self.reason(order);
        match read {
            Ok(result) => (Some(result), why),
            Err(cause) => (None, Some(why.unwrap_or(cause))),
        }
    }

    /// The reason why a pair ended early, as reported by its leader and its follower.
    fn reason(&self, order: &PairOrder) -> Option<String> {
        let said = |name: String| self.rendezvous.read(&name).filter(|why| !why.is_empty());
        let words: Vec<String> =
            [said(order.led()), said(order.followed())].into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_read_back_as_written_and_invalid_lines_are_ignored() {
        let orders = [
            PairOrder { pair: (0, 3), is_beside: true },
            PairOrder { pair: (1, 2), is_beside: false },
        ];
        let text: String = orders.iter().map(PairOrder::line).collect();
        assert_eq!(PairOrder::all(&text), orders);
        assert_eq!(PairOrder::all("1 2\nx 2 1\n\n1 2 1 3\n"), []);
    }
}
