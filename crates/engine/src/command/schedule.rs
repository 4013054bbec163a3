//! The order of a trial's measurements. Every trial is a complete randomised block: every row once, in its own
//! order that follows from the seed.

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use ipcmark_machine::limits;
use ipcmark_transport::Wait;

use super::{plan::Plan, request::Slot};

/// Sessions that are open side by side, and their slots, which are measured one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedRound {
    /// The indices of the plan's sessions; all have the same wait.
    pub sessions: Vec<usize>,
    pub slots: Vec<Slot>,
}

impl PlannedRound {
    /// A round for each of its sessions that `leaves` it before the slot at this index: by itself, with the rest of the
    /// slots.
    pub(crate) fn apart(
        &self,
        from: usize,
        mut leaves: impl FnMut(usize) -> bool,
    ) -> Vec<PlannedRound> {
        let slots = &self.slots[from..];
        if self.sessions.len() == 1 || slots.is_empty() {
            return Vec::new();
        }
        let leaving = self.sessions.iter().filter(|at| leaves(**at));
        leaving.map(|at| Self { sessions: vec![*at], slots: slots.to_vec() }).collect()
    }
}

/// The most sessions side by side: each has three processes or more, with their memory and descriptors.
const MOST_SIDE_BY_SIDE: usize = 24;

/// Descriptors that the command holds for each session, and for itself.
const DESCRIPTORS: (u64, u64) = (10, 40);

/// The memory that a session may take, most of it shared and touched: buffers of 4 MiB and a daemon's pools.
const MEMORY_BYTES: u64 = 400 << 20;

/// The number of rows of the plan that may be open side by side on this machine now.
pub(crate) fn width(plan: &Plan) -> usize {
    let pairs = u64::from(plan.pairs.max(1));
    let by_descriptors = limits::open_files().saturating_sub(DESCRIPTORS.1) / DESCRIPTORS.0 / pairs;
    let bytes = (MEMORY_BYTES * pairs).saturating_add(plan.buffer_bytes);
    let by_memory = limits::available_memory_bytes() / 2 / bytes;
    let most = MOST_SIDE_BY_SIDE as u64 / pairs;
    by_descriptors.min(by_memory).min(most).max(1) as usize
}

/// The random orders of one trial.
pub(crate) struct Schedule(ChaCha8Rng);

impl Schedule {
    /// The orders of the trial with this number, from 1.
    pub(crate) fn new(seed: u64, trial: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(trial));
        Self(random)
    }

    /// The rounds of the trial: all sessions with something to measure that `runs` selects, at most `width` side by
    /// side, and each session selected by `alone` by itself.
    pub(crate) fn rounds(
        &mut self,
        plan: &Plan,
        width: usize,
        runs: impl Fn(usize) -> bool,
        alone: impl Fn(usize) -> bool,
    ) -> Vec<PlannedRound> {
        let mut rounds = Vec::new();
        for wait in Wait::ALL {
            let of_wait = |at: &usize| plan.sessions[*at].wait == *wait && runs(*at);
            let mut sessions: Vec<usize> = (0..plan.sessions.len()).filter(of_wait).collect();
            self.shuffle(&mut sessions);
            let (single, together): (Vec<_>, Vec<_>) =
                sessions.into_iter().partition(|at| alone(*at));
            // As even as possible: a last round of one row would have nothing to be compared with.
            let count = together.len().div_ceil(width.max(1));
            let size = together.len().div_ceil(count.max(1)).max(1);
            rounds.extend(together.chunks(size).map(<[usize]>::to_vec));
            rounds.extend(single.into_iter().map(|at| vec![at]));
        }
        self.shuffle(&mut rounds);
        rounds.into_iter().map(|sessions| self.round(plan, sessions)).collect()
    }

    fn round(&mut self, plan: &Plan, sessions: Vec<usize>) -> PlannedRound {
        let rows = plan.rows.iter().filter(|row| row.verdict.is_none());
        let of_round = rows.filter(|row| sessions.contains(&row.session));
        let mut slots: Vec<Slot> = of_round.map(|row| row.slot).collect();
        slots.sort();
        slots.dedup();
        self.shuffle(&mut slots);
        PlannedRound { sessions, slots }
    }

    /// The Fisher-Yates shuffle.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// A number below `bound`, each equally likely (Lemire, "Fast random integer generation in an interval", 2019):
    /// numbers that a plain remainder would favour are drawn again.
    fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(bound);
            if product as u64 >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use ipcmark_results::{Load, Outcome, Touch};
    use ipcmark_transport::Pattern;

    use super::*;
    use crate::command::{
        plan::{PlannedRow, PlannedSession},
        request::Trials,
    };

    fn plan(sessions: usize) -> Plan {
        let session = |transport| PlannedSession {
            transport,
            wait: [Wait::Spin, Wait::Block][transport % 2],
            library_version: None,
            options: BTreeMap::new(),
        };
        let slot = |payload| Slot {
            pattern: Pattern::Latency,
            payload,
            touch: Touch::All,
            load: Load::Closed,
        };
        let rows = (0..sessions).flat_map(|session| {
            [64, 4096, 65536].map(|payload| PlannedRow {
                session,
                slot: slot(payload),
                verdict: None,
            })
        });
        Plan {
            rows: rows.collect(),
            sessions: (0..sessions).map(session).collect(),
            subscribers: 1,
            silent: 0,
            pairs: 1,
            buffer_bytes: 0,
            trace: None,
            trials: Trials::Fixed(1),
            first_trial: 1,
            length: None,
            has_final: false,
            seed: 1,
        }
    }

    #[test]
    fn a_trial_has_every_session_once_and_only_with_its_like() {
        let plan = plan(21);
        let rounds = Schedule::new(7, 1).rounds(&plan, 4, |_| true, |at| at == 3);
        let mut all: Vec<usize> = rounds.iter().flat_map(|round| round.sessions.clone()).collect();
        all.sort();
        assert_eq!(all, (0..21).collect::<Vec<_>>());
        for PlannedRound { sessions, slots } in &rounds {
            assert!(sessions.len() <= 4 && (sessions.len() > 1 || *sessions == [3]), "{rounds:?}");
            let waits: BTreeSet<Wait> = sessions.iter().map(|at| plan.sessions[*at].wait).collect();
            assert_eq!((waits.len(), slots.len()), (1, 3));
        }
    }

    #[test]
    fn every_trial_has_an_order_of_its_own_that_the_seed_repeats() {
        let plan = plan(8);
        let rounds =
            |seed, trial| Schedule::new(seed, trial).rounds(&plan, 99, |_| true, |_| false);
        assert_eq!(rounds(7, 1), rounds(7, 1));
        // Neighbouring seeds too: `seed | 1` once gave two of them the same orders.
        let orders: Vec<_> =
            (0..4).flat_map(|seed| (1..6).map(move |trial| (seed, trial))).collect();
        let distinct: BTreeSet<String> =
            orders.iter().map(|(seed, trial)| format!("{:?}", rounds(*seed, *trial))).collect();
        assert_eq!(distinct.len(), orders.len());
    }

    #[test]
    fn rounds_are_as_even_as_can_be() {
        let plan = plan(10);
        let rounds = Schedule::new(7, 1).rounds(&plan, 4, |_| true, |_| false);
        let mut sizes: Vec<usize> = rounds.iter().map(|round| round.sessions.len()).collect();
        sizes.sort();
        assert_eq!(sizes, [2, 2, 3, 3], "five of each wait: none is left alone");
    }

    #[test]
    fn a_session_that_leaves_a_round_has_the_rest_of_its_slots_alone() {
        let [round] = &Schedule::new(7, 1).rounds(&plan(5), 9, |at| at % 2 == 0, |_| false)[..]
        else {
            panic!("there is one wait")
        };
        let apart = round.apart(1, |at| at == 4);
        assert_eq!(apart, [PlannedRound { sessions: vec![4], slots: round.slots[1..].to_vec() }]);
        assert_eq!(round.apart(3, |_| true), [], "nothing is left to measure");
        assert_eq!(apart[0].apart(1, |_| true), [], "it is alone already");
    }

    #[test]
    fn a_round_contains_only_rows_still_to_be_measured() {
        let mut plan = plan(4);
        for row in plan.rows.iter_mut().filter(|row| row.slot.payload != 64) {
            row.verdict = Some(Outcome::Unsupported { reason: "it is too large".into() });
        }
        let rounds = Schedule::new(7, 1).rounds(&plan, 99, |at| at != 2, |_| false);
        let slots: Vec<usize> = rounds.iter().map(|round| round.slots.len()).collect();
        let mut sessions: Vec<usize> =
            rounds.iter().flat_map(|round| round.sessions.clone()).collect();
        sessions.sort();
        assert_eq!((slots, sessions), (vec![1, 1], vec![0, 1, 3]));
        assert!(Schedule::new(7, 1).rounds(&plan, 99, |_| false, |_| false).is_empty());
    }

    #[test]
    fn some_sessions_are_side_by_side_on_any_machine() {
        let of = |pairs| width(&Plan { pairs, ..plan(1) });
        assert!((1..=MOST_SIDE_BY_SIDE).contains(&of(1)));
        assert!(of(3) <= of(1).div_ceil(3) && of(1000) == 1, "the pairs of a row are open at once");
        assert_eq!(width(&Plan { buffer_bytes: u64::MAX, ..plan(9) }), 1, "buffers take memory");
        let (plan, none) = (plan(3), 0);
        let rounds = Schedule::new(7, 1).rounds(&plan, none, |_| true, |_| false);
        assert_eq!(rounds.len(), 3, "one at a time, rather than none");
    }

    #[test]
    fn payloads_do_not_always_rise() {
        let plan = plan(2);
        let first =
            |trial| Schedule::new(1, trial).rounds(&plan, 2, |_| true, |_| false)[0].slots[0];
        let firsts: BTreeSet<usize> = (1..20).map(|trial| first(trial).payload).collect();
        assert_eq!(firsts.len(), 3);
    }

    #[test]
    fn every_place_of_a_shuffle_is_equally_likely() {
        let mut schedule = Schedule::new(3, 1);
        let mut counts = [[0_i32; 4]; 4];
        for _ in 0..8000 {
            let mut items = [0, 1, 2, 3];
            schedule.shuffle(&mut items);
            items.iter().enumerate().for_each(|(at, item)| counts[at][*item as usize] += 1);
        }
        // The standard deviation is 39; the bound is five of them.
        assert!(counts.iter().flatten().all(|count| (count - 2000).abs() < 195), "{counts:?}");
    }
}
