//! Rows that are not tried, and the reasons, known before anything is measured.

use ipcmark_machine::{cache, limits};
use ipcmark_results::Outcome;
use ipcmark_transport::{
    Availability, COLD, Capabilities, Definition, FanOut, Pattern, Span, Wait,
};

use super::request::{FollowerLocation, PlanRequest, Slot};
use crate::buffers;

/// The known outcome of a row, if it will not be tried.
pub(super) fn verdict(
    definition: &Definition,
    availability: &Availability,
    wait: Wait,
    slot: Slot,
    request: &PlanRequest,
) -> Option<Outcome> {
    let capabilities = &definition.capabilities;
    unavailable(availability)
        .or_else(|| out_of_reach(capabilities, request.location, slot))
        .or_else(|| unsupported(capabilities, slot, wait, (request.subscribers, request.silent)))
}

fn unavailable(availability: &Availability) -> Option<Outcome> {
    let reason = match availability {
        Availability::Available { .. } => return None,
        Availability::Unavailable { reason, install: None } => reason.clone(),
        Availability::Unavailable { reason, install: Some(install) } => {
            format!("{reason}; install it with: {install}")
        }
    };
    Some(Outcome::Unavailable { reason })
}

fn out_of_reach(
    capabilities: &Capabilities,
    location: FollowerLocation,
    slot: Slot,
) -> Option<Outcome> {
    let reason = match location {
        FollowerLocation::OtherHosts if slot.pattern == Pattern::OneWay => {
            "the clocks of two hosts differ by more than a message takes: measure latency instead"
        }
        FollowerLocation::OtherHosts if !capabilities.crosses_hosts => {
            "its ends must be on one host"
        }
        FollowerLocation::OtherCommands if capabilities.span == Span::Thread => {
            "its ends are in one process"
        }
        _ => return None,
    };
    Some(Outcome::Unsupported { reason: reason.into() })
}

/// The bytes that these buffers take in all processes of a row; an outcome if the row cannot have them.
pub(super) fn buffer_bytes(
    definition: &Definition,
    slot: Slot,
    word: &str,
    request: &PlanRequest,
) -> Result<u64, Outcome> {
    let cache = (word == COLD).then(cache::last_level_bytes).flatten();
    let bytes = match buffers::obstacle(definition, slot.pattern) {
        Some(obstacle) => Err(obstacle),
        None => buffers::count(word, slot.payload, cache).and_then(|count| {
            let processes = processes(request);
            buffers::bytes(count, slot.payload, processes, limits::available_memory_bytes())
        }),
    };
    bytes.map_err(|reason| Outcome::Unsupported { reason })
}

/// The number of a row's processes on this machine that have buffers.
fn processes(request: &PlanRequest) -> u64 {
    let ends = match request.location {
        FollowerLocation::OtherHosts => 1,
        FollowerLocation::ThisCommand | FollowerLocation::OtherCommands => request.subscribers + 1,
    };
    u64::from(ends) * u64::from(request.pairs)
}

fn unsupported(
    capabilities: &Capabilities,
    slot: Slot,
    wait: Wait,
    (subscribers, silent): (u32, u32),
) -> Option<Outcome> {
    let Slot { pattern, payload, .. } = slot;
    let is_open = slot.load.is_open();
    let list = |words: Vec<&str>| words.join(", ");
    let reason = if !capabilities.waits.contains(&wait) {
        let waits = list(capabilities.waits.iter().map(|wait| wait.as_str()).collect());
        format!("it cannot wait by {wait}; it has {waits}")
    } else if !capabilities.carries(pattern) {
        let patterns = list(capabilities.carried().map(Pattern::as_str).collect());
        format!("it does not carry the pattern {pattern}; it has {patterns}")
    } else if pattern == Pattern::OneWay && capabilities.alternating && is_open {
        "its ends take turns, and one-way at a rate has no answers".into()
    } else if payload > capabilities.max_payload {
        format!("its messages are limited to {} bytes", capabilities.max_payload)
    } else if subscribers > capabilities.most_subscribers(pattern) {
        format!("it supports at most {} followers", capabilities.most_subscribers(pattern))
    } else if silent > 0 && capabilities.fan_out() == Some(FanOut::NSends) && wait != Wait::Spin {
        "its leader waits for each follower in turn, and those that are silent do not answer".into()
    } else {
        return None;
    };
    Some(Outcome::Unsupported { reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcmark_results::{Arrivals, Load, Touch};

    fn capabilities() -> Capabilities {
        Capabilities { max_payload: 1024, ..Capabilities::waiting(&[Wait::Spin]) }
    }

    #[test]
    fn the_reason_names_the_missing_and_the_available_capabilities() {
        let capabilities = capabilities();
        let slot = |pattern, payload, load| Slot { pattern, payload, touch: Touch::All, load };
        let reason = |pattern, payload, wait| {
            unsupported(&capabilities, slot(pattern, payload, Load::Closed), wait, (1, 0))
        };
        assert!(reason(Pattern::Latency, 64, Wait::Spin).is_none());
        let says = |outcome: Option<Outcome>, words: &str| match outcome {
            Some(Outcome::Unsupported { reason }) => assert!(reason.contains(words), "{reason}"),
            other => panic!("{other:?} does not say `{words}`"),
        };
        says(reason(Pattern::Latency, 64, Wait::Block), "it has spin");
        let turning = Capabilities { alternating: true, ..self::capabilities() };
        let fanned = slot(Pattern::FanOut, 64, Load::Closed);
        says(unsupported(&turning, fanned, Wait::Spin, (2, 0)), "it has latency, one-way");
        says(reason(Pattern::Latency, 2048, Wait::Spin), "1024 bytes");
        let three = unsupported(
            &capabilities,
            slot(Pattern::Latency, 64, Load::Closed),
            Wait::Spin,
            (3, 0),
        );
        says(three, "supports at most 1 followers");
        let alternating = Capabilities { alternating: true, ..capabilities };
        let rate = Load::Rate { per_second: 1, arrivals: Arrivals::Fixed };
        let at_a_rate =
            unsupported(&alternating, slot(Pattern::OneWay, 64, rate), Wait::Spin, (1, 0));
        says(at_a_rate, "has no answers");
    }

    #[test]
    fn clocks_of_two_hosts_time_nothing_one_way() {
        let far = Capabilities { crosses_hosts: true, ..capabilities() };
        let reach = |pattern| {
            let slot = Slot { pattern, payload: 64, touch: Touch::All, load: Load::Closed };
            out_of_reach(&far, FollowerLocation::OtherHosts, slot)
        };
        assert_eq!((reach(Pattern::Latency), reach(Pattern::Throughput)), (None, None));
        assert!(reach(Pattern::OneWay).is_some());
    }
}
