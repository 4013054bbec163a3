//! Differences between rows of a group, as found in the running processes.

use crate::sample::{identity, measured, run, trial};
use ipcmark_results::*;

/// A row whose leader and follower have these queues.
fn row(name: &str, pattern: Pattern, carrier: Carrier, channels: &[ChannelRecord]) -> Case {
    let mut trial = trial(1, &[1_000]);
    trial.session.carrier.found = carrier;
    for process in &mut trial.session.processes {
        process.channels = channels.to_vec();
    }
    trial.stream = pattern.is_stream().then(StreamParts::default);
    let outcome = match measured(vec![trial]) {
        Outcome::Ok { measurement } if pattern.is_stream() => {
            let trials = measurement.trials().to_vec();
            Outcome::Ok { measurement: Measurement::Stream(Trials { trials, counted: None }) }
        }
        outcome => outcome,
    };
    Case { identity: Identity { pattern, ..identity(name) }, outcome }
}

fn channel(kind: ChannelKind, send_bytes: u64, receive_bytes: u64) -> ChannelRecord {
    let no_delay = (kind == ChannelKind::Tcp).then_some(true);
    ChannelRecord { kind, count: 1, send_bytes, receive_bytes, no_delay }
}

/// The differences of the only group, each with the names of its rows.
fn found(cases: Vec<Case>) -> Vec<String> {
    let result = run(cases);
    let groups = groups(&result);
    let [group] = &groups[..] else { panic!("{} groups", groups.len()) };
    let name = |at: &usize| group.rows[*at].case.identity.transport.clone();
    let names = |rows: &[usize]| rows.iter().map(name).collect::<Vec<_>>().join(" ");
    let words = |one| match one {
        Inequality::Queues(held) => {
            let held = held.iter().map(|(at, bytes)| format!("{} {bytes}", name(at)));
            held.collect::<Vec<_>>().join(", ")
        }
        Inequality::Delays { at_once, waiting } => {
            format!("{} | {}", names(&at_once), names(&waiting))
        }
    };
    inequalities(group).into_iter().map(words).collect()
}

#[test]
fn queues_of_streams_are_compared_by_their_capacity_per_direction() {
    use ChannelKind::*;
    let rows = |pattern| {
        vec![
            row("pipe", pattern, Carrier::Kernel, &[channel(Pipe, 64, 64)]),
            row("uds", pattern, Carrier::Kernel, &[channel(UnixStream, 100, 900)]),
            row("tcp", pattern, Carrier::Network, &[channel(Tcp, 100, 200)]),
            row("udp", pattern, Carrier::Network, &[channel(Udp, 9, 70), channel(Udp, 9, 80)]),
            row("memory", pattern, Carrier::SharedMemory, &[channel(Pipe, 9000, 9000)]),
            row("nothing", pattern, Carrier::Kernel, &[]),
        ]
    };
    assert_eq!(found(rows(Pattern::Throughput)), ["pipe 64, udp 80, uds 100, tcp 300"]);
    assert_eq!(found(rows(Pattern::Latency)), [""; 0], "between round trips no queue fills");
    let alike = found(rows(Pattern::Throughput).into_iter().take(2).collect());
    assert_eq!(alike, [""; 0], "less than twice as much");
}

#[test]
fn rows_with_and_without_nagle_are_distinguished() {
    let carried = |name: &str, carrier, no_delay| {
        let channel = ChannelRecord { no_delay, ..channel(ChannelKind::Tcp, 1, 1) };
        row(name, Pattern::Latency, carrier, &[channel])
    };
    let tcp = |name, no_delay| carried(name, Carrier::Network, no_delay);
    let to_launcher = carried("d", Carrier::SharedMemory, Some(false));
    let rows = vec![tcp("a", Some(true)), tcp("b", Some(false)), tcp("c", None), to_launcher];
    assert_eq!(found(rows.clone()), ["a | b"], "no message of d goes over its connection");
    assert_eq!(found(rows[..1].to_vec()), [""; 0]);
}

#[test]
fn threads_beside_those_that_serve_ends_are_counted() {
    let further = |threads: [Option<u32>; 2]| {
        let mut case = row("pipe", Pattern::Latency, Carrier::Kernel, &[]);
        let Outcome::Ok { measurement: Measurement::RoundTrips(all) } = &mut case.outcome else {
            panic!("it is measured")
        };
        let processes = &mut all.trials[0].session.processes;
        processes.iter_mut().zip(threads).for_each(|(process, count)| process.threads = count);
        // A daemon has no ends: its threads are not counted.
        processes.push(ProcessRecord::default());
        let result = run(vec![case]);
        groups(&result)[0].rows[0].further_threads()
    };
    assert_eq!(further([Some(1), Some(4)]), Some(3));
    assert_eq!(further([None, None]), None);
}
