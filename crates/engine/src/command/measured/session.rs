//! The record of a trial's session: its processes and their costs, losses, and the carrier of its messages.

use std::time::Duration;

use ipcmark_machine::{calls, placement::Placement};
use ipcmark_results::{
    CallRecord, CarrierEvidence, EndRecord, Load, Losses, PairRecord, ProcessRecord,
    ProcessorRecord, SessionRecord, ThreadRecord, WorkingSet,
};
use ipcmark_transport::Role;

use super::{Reports, TrialFacts};
use crate::{
    command::carrier::Evidence,
    wire::{
        CallCosts, Costs, FollowerReport, HelperCosts, LeaderReport, ProcessorCosts, StreamReport,
        ThreadCosts, Traffic, WorkingSetReport,
    },
};

/// Waits that are shorter all together are too short to tell.
const SHORTEST_IDLE: Duration = Duration::from_millis(20);

impl Reports {
    pub(super) fn session(&self, circumstances: &TrialFacts<'_>) -> SessionRecord {
        let configuration = self.opened.iter().flat_map(|one| one.configuration.clone());
        let configuration = configuration.map(|(key, value)| (key.into(), value.into()));
        SessionRecord {
            setup_ns: self.opened.iter().map(|one| one.setup_ns).max().unwrap_or(0),
            configuration: configuration.collect(),
            turns_ns: self.leader.costs.turns_ns,
            messages: self.messages(circumstances),
            losses: self.losses(),
            parts_per_message: self.leader.parts_per_message,
            first_round_trip_ns: self.leader.first_round_trip_ns,
            working_set: self.leader.working_set.map(|set| working_set(set, circumstances.payload)),
            idle_share: self.idle_share(),
            processes: self.processes(&circumstances.placements[0]),
            carrier: self.carrier(circumstances),
            other_pairs: self.other_pairs(circumstances),
        }
    }

    pub(super) fn other_leaders(&self) -> impl Iterator<Item = &LeaderReport> {
        self.others.iter().map(|other| &other.leader)
    }

    /// The background pairs, each over its own turns.
    fn other_pairs(&self, circumstances: &TrialFacts<'_>) -> Vec<PairRecord> {
        let placed = self.others.iter().zip(&circumstances.placements[1..]);
        let record = |(at, (other, placement)): (usize, (&Self, &Placement))| PairRecord {
            number: at as u32 + 2,
            turns_ns: other.leader.costs.turns_ns,
            messages: other.messages(circumstances),
            losses: other.losses(),
            processes: other.processes(placement),
        };
        placed.enumerate().map(record).collect()
    }

    /// The messages of all turns, without those of lost round trips.
    fn messages(&self, circumstances: &TrialFacts<'_>) -> u64 {
        if let Some(stream) = &self.leader.stream {
            return stream.received;
        }
        let ended = self.leader.traffic.sent.saturating_sub(self.leader.lost);
        ended * circumstances.messages_per_publication
    }

    /// The losses, in round trips of all turns or messages of all streams. A message that came twice or out of
    /// order has already failed the row.
    fn losses(&self) -> Losses {
        if let Some(StreamReport { sent, received, .. }) = self.leader.stream {
            return Losses { sent, received, lost: sent - received, ..Losses::default() };
        }
        let LeaderReport { traffic, lost, late, .. } = &self.leader;
        let (sent, lost, late) = (traffic.sent, *lost, *late);
        Losses { sent, received: sent.saturating_sub(lost), lost, late, ..Losses::default() }
    }

    fn carrier(&self, circumstances: &TrialFacts<'_>) -> CarrierEvidence {
        let messages = self.messages(circumstances).max(1) as f64;
        let evidence = Evidence {
            declared: circumstances.declared,
            span: circumstances.span,
            sandboxed: circumstances.sandboxed,
            payload: circumstances.payload,
            least_mean: self.least_share(circumstances)
                * match circumstances.load {
                    // If a trace is not played to its end, the counted messages can be smaller than its average.
                    Load::Trace { messages, bytes, .. } => 0.5 * bytes as f64 / messages as f64,
                    _ => circumstances.payload as f64,
                },
            loopback_bytes_per_message: self.leader.costs.loopback_bytes as f64 / messages,
            has_network_sockets: self.has_network_sockets,
            apart: circumstances.apart,
            shared: match circumstances.n_sends {
                // The leader shares different memory with each follower.
                true => &self.shared[..self.shared.len().min(2)],
                false => &self.shared,
            },
        };
        evidence.conclusion()
    }

    /// The minimum share of the counted messages that goes over an interface: one multicast packet reaches all
    /// followers.
    fn least_share(&self, circumstances: &TrialFacts<'_>) -> f64 {
        if circumstances.n_sends {
            return 1.0;
        }
        let all = circumstances.messages_per_publication.max(1);
        let followers = (self.followers.len() as u64).clamp(1, all);
        (all - followers + 1) as f64 / all as f64
    }

    /// The leader's process first. A follower that is one of its threads is another endpoint of that process.
    fn processes(&self, placement: &Placement) -> Vec<ProcessRecord> {
        let leader = end(Role::Leader, placement.leader, self.leader.traffic, &self.leader.thread);
        let mut processes = vec![self.process(0, leader, &self.leader.costs)];
        for (number, report) in &self.followers {
            let cpu = placement.followers.get(*number as usize).copied().flatten();
            let end = end(Role::Follower(*number), cpu, report.traffic, &report.thread);
            match &report.costs {
                Some(costs) => processes.push(self.process(number + 1, end, costs)),
                None => {
                    let process = &mut processes[0];
                    if let Some(other_ns) = &mut process.other_threads_ns {
                        *other_ns = other_ns.saturating_sub(end.thread.cpu_ns);
                    }
                    process.ends.push(end);
                }
            }
        }
        processes.extend(self.leader.helpers.iter().map(helper));
        processes
    }

    /// The process of a worker: the leader's is the first.
    fn process(&self, worker: u32, end: EndRecord, costs: &Costs) -> ProcessRecord {
        let holdings = self.holdings.get(worker as usize);
        ProcessRecord {
            name: self.name(worker),
            ends: vec![end],
            cpu_ns: costs.cpu_ns,
            other_threads_ns: Some(costs.other_threads_ns),
            user_ns: costs.user_ns,
            system_ns: costs.system_ns,
            context_switches: costs.switches.clone(),
            page_faults: costs.faults.clone(),
            peak_memory_bytes: costs.peak_memory_bytes,
            threads: holdings.map(|holdings| holdings.threads),
            channels: holdings.map_or_else(Vec::new, |holdings| holdings.channels.clone()),
            calls: (!costs.calls.is_empty()).then(|| costs.calls.iter().map(call).collect()),
            processor: costs.processor.map(processor),
        }
    }

    /// The [`idle_share`] of its processes.
    pub(crate) fn idle_share(&self) -> f64 {
        idle_share(&self.leader, &self.followers)
    }

    /// The share of the messages for which the ends slept that came when a processor had gone idle.
    pub(crate) fn woken_share(&self) -> Option<f64> {
        let leader = end(Role::Leader, None, self.leader.traffic, &self.leader.thread);
        let follower = |(number, report): &(u32, FollowerReport)| {
            end(Role::Follower(*number), None, report.traffic, &report.thread)
        };
        let ends: Vec<EndRecord> = self.followers.iter().map(follower).chain([leader]).collect();
        ipcmark_results::woken_share(&ends)
    }

    fn name(&self, worker: u32) -> String {
        self.opened
            .get(worker as usize)
            .map_or_else(String::new, |opened| opened.process.to_string())
    }
}

/// CPU time that the workers and the helpers used between their turns, as a share of the longest such time; 0 if that is
/// too short to tell.
fn idle_share(leader: &LeaderReport, followers: &[(u32, FollowerReport)]) -> f64 {
    let followers = followers.iter().filter_map(|(_, report)| report.costs.as_ref());
    let all = || followers.clone().chain([&leader.costs]);
    let idle_ns = all().map(|costs| costs.idle_ns).max().unwrap_or(0);
    if idle_ns < SHORTEST_IDLE.as_nanos() as u64 {
        return 0.0;
    }
    let of_helpers = leader.helpers.iter().map(|helper| helper.idle_cpu_ns);
    let used_ns = all().map(|costs| costs.idle_cpu_ns).chain(of_helpers);
    used_ns.map(|used_ns| used_ns as f64).sum::<f64>() / idle_ns as f64
}

fn working_set(set: WorkingSetReport, payload: usize) -> WorkingSet {
    let WorkingSetReport { written, read, is_complete } = set;
    let bytes = written.saturating_add(read).saturating_mul(payload as u64);
    WorkingSet { written_buffers: written, read_buffers: read, bytes, is_complete }
}

fn end(role: Role, cpu: Option<u32>, traffic: Traffic, thread: &ThreadCosts) -> EndRecord {
    let ThreadCosts { cpu_ns, run_delay_ns, sleeps, pauses, idles } = *thread;
    let thread = ThreadRecord { cpu_ns, run_delay_ns, sleeps, pauses, idles };
    EndRecord { role, cpu, sent: traffic.sent, received: traffic.received, thread }
}

fn helper(costs: &HelperCosts) -> ProcessRecord {
    ProcessRecord {
        name: costs.name.to_string(),
        cpu_ns: costs.cpu_ns,
        other_threads_ns: Some(costs.cpu_ns),
        ..ProcessRecord::default()
    }
}

fn call(costs: &CallCosts) -> CallRecord {
    let CallCosts { number, made, failed, bytes } = *costs;
    CallRecord { name: calls::name(number), made, failed, bytes }
}

fn processor(costs: ProcessorCosts) -> ProcessorRecord {
    let ProcessorCosts { instructions, cycles, with_kernel } = costs;
    ProcessorRecord { instructions, cycles, with_kernel }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Once a daemon that ran between the turns did not count, and disturbed every session beside it.
    #[test]
    fn helpers_count_as_idle_use() {
        let of = |wait_ns| {
            let helper = |idle_cpu_ns| HelperCosts { name: "d".into(), cpu_ns: 0, idle_cpu_ns };
            let costs = Costs { idle_ns: wait_ns, idle_cpu_ns: 100_000, ..Costs::default() };
            let helpers = vec![helper(200_000), helper(700_000)];
            let leader = LeaderReport { costs, helpers, ..LeaderReport::default() };
            idle_share(&leader, &[])
        };
        assert_eq!(of(100_000_000), 0.01);
        assert_eq!(of(1_000_000), 0.0, "too short to tell");
    }
}
