//! Differences between rows of a group that users would expect to be equal, as found in the running processes.

use ipcmark_transport::{Carrier, Role};

use crate::{
    groups::Group,
    model::{ChannelKind, ChannelRecord, SessionRecord},
    rows::Row,
};

/// Queues are alike if their sizes differ by a smaller factor.
const NOTABLE: f64 = 2.0;

/// A difference between rows of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inequality {
    /// In streams the kernel's queues to the other end hold this many bytes, the smallest first.
    Queues(Vec<(usize, u64)>),
    /// Over TCP some rows send small messages at once; the others wait for more data to send with them.
    Delays {
        /// The rows that send at once.
        at_once: Vec<usize>,
        /// The others.
        waiting: Vec<usize>,
    },
}

/// The differences between the rows of a group, which are given by their indices in it.
pub fn inequalities(group: &Group<'_>) -> Vec<Inequality> {
    queues(group).into_iter().chain(delays(group)).collect()
}

/// For streams only: in round trips a queue never fills.
fn queues(group: &Group<'_>) -> Option<Inequality> {
    if !group.key.pattern.is_stream() {
        return None;
    }
    let rows = group.rows.iter().enumerate();
    let mut held: Vec<(usize, u64)> =
        rows.filter_map(|(at, row)| Some((at, queue_bytes(session(row)?)?))).collect();
    held.sort_by_key(|(_, bytes)| *bytes);
    let (least, most) = (held.first()?.1, held.last()?.1);
    (most as f64 >= NOTABLE * least as f64).then_some(Inequality::Queues(held))
}

fn delays(group: &Group<'_>) -> Option<Inequality> {
    let (mut at_once, mut waiting) = (Vec::new(), Vec::new());
    for (at, row) in group.rows.iter().enumerate() {
        // A connection that carries no messages, to a launcher or a registry, says nothing about the row.
        let over_tcp = session(row).filter(|session| session.carrier.found == Carrier::Network);
        let channels = over_tcp.and_then(SessionRecord::leader).map(|leader| &leader.channels);
        let mut set =
            channels.into_iter().flatten().filter_map(|channel| channel.no_delay).peekable();
        if set.peek().is_some() {
            if set.all(|on| on) { &mut at_once } else { &mut waiting }.push(at);
        }
    }
    let differ = !at_once.is_empty() && !waiting.is_empty();
    differ.then_some(Inequality::Delays { at_once, waiting })
}

/// The session of the first trial: each trial opens the same session.
fn session<'a>(row: &Row<'a>) -> Option<&'a SessionRecord> {
    row.trials.first().map(|trial| &trial.session)
}

/// The bytes that the largest kernel queue from the leader to its first follower holds; none if the kernel does not
/// carry the messages, or the queues were not looked at.
fn queue_bytes(session: &SessionRecord) -> Option<u64> {
    if !matches!(session.carrier.found, Carrier::Kernel | Carrier::Network) {
        return None;
    }
    let of = |role| session.end(role).map(|(process, _)| &process.channels);
    let receiving = of(Role::Follower(0)).unwrap_or_else(|| of(Role::Leader).unwrap_or(EMPTY));
    let on_the_way = |sends: &ChannelRecord| match sends.kind {
        // For a Unix socket, data under way counts against the sender's buffer; TCP has the receiver's buffer besides.
        ChannelKind::Tcp => sends.send_bytes.saturating_add(most(receiving, sends.kind)),
        ChannelKind::Udp => most(receiving, sends.kind),
        _ => sends.send_bytes,
    };
    of(Role::Leader)?.iter().map(on_the_way).max().filter(|bytes| *bytes > 0)
}

/// A process without queues.
const EMPTY: &Vec<ChannelRecord> = &Vec::new();

fn most(receiving: &[ChannelRecord], kind: ChannelKind) -> u64 {
    let alike = receiving.iter().filter(|channel| channel.kind == kind);
    alike.map(|channel| channel.receive_bytes).max().unwrap_or(0)
}
