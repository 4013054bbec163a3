//! `capabilities`: the transport's description is well formed and true.

use std::collections::BTreeSet;

use ipcmark_transport::{Definition, MAX_PAYLOAD, MIN_PAYLOAD, Pattern, Span, Step};

use crate::check::{Check, none_exempt, one_scenario};
use crate::{context::CheckContext, end::CheckedEndpoint, failure::Failure, footprint::is_shared};

/// The longest summary: it must fit in one line of `ipcmark list`.
const MAX_SUMMARY: usize = 100;

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    well_formed(context.suite().definition())?;
    let mut end = context.open(4096)?;
    context.meet("both are open")?;
    if !context.capabilities().reliable {
        comes_back(&mut end)?;
        context.meet("neither slept")?;
    }
    if context.capabilities().loans && context.capabilities().span == Span::Process {
        hands_over_in_place(context, &mut end)?;
    }
    context.echo(&mut end, &[4096])?;
    context.meet("both are done")
}

fn well_formed(definition: &Definition) -> Result<(), Failure> {
    let capabilities = &definition.capabilities;
    is_name(&definition.name)?;
    is_name(&definition.family)?;
    let summary = definition.summary.as_ref();
    holds(
        !summary.is_empty() && summary.chars().count() < MAX_SUMMARY && !summary.contains('\n'),
        "a summary of one line and fewer than 100 characters",
        summary,
    )?;
    let waits: BTreeSet<_> = capabilities.waits.iter().collect();
    holds(
        !waits.is_empty() && waits.len() == capabilities.waits.len(),
        "waits, each of them once",
        &format!("{:?}", capabilities.waits),
    )?;
    holds(
        capabilities.patterns.contains(&Pattern::Latency),
        "the pattern latency",
        &format!("{:?}", capabilities.patterns),
    )?;
    holds(capabilities.max_subscribers > 0, "room for a follower", "max_subscribers 0")?;
    let least = if definition.family == "os" { MAX_PAYLOAD } else { MIN_PAYLOAD };
    let payload = capabilities.max_payload;
    holds(
        payload >= least,
        &format!("messages of {least} bytes and more"),
        &format!("at most {payload}"),
    )
}

fn is_name(word: &str) -> Result<(), Failure> {
    let parts_hold = word.split('-').all(|part| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    });
    holds(parts_hold, "a name of lower-case words and digits joined by '-'", word)
}

fn holds(condition: bool, expected: &str, seen: &str) -> Result<(), Failure> {
    if condition { Ok(()) } else { Err(Failure::expected(expected, seen)) }
}

/// An unreliable transport never sleeps until a message arrives that may be lost: if it does, the
/// watchdog ends it.
fn comes_back(end: &mut CheckedEndpoint) -> Result<(), Failure> {
    for _ in 0..3 {
        if end.try_receive()?.is_some() {
            return Err(Failure::expected("no message, for none was sent", "one"));
        }
    }
    Ok(())
}

/// For a transport with loans, the room and the message lie in memory that both processes share.
fn hands_over_in_place(
    context: &mut CheckContext<'_>,
    end: &mut CheckedEndpoint,
) -> Result<(), Failure> {
    if context.sends_first() {
        publish_in_place(end)?;
        return take_in_place(end);
    }
    take_in_place(end)?;
    publish_in_place(end)
}

fn publish_in_place(end: &mut CheckedEndpoint) -> Result<(), Failure> {
    while end.try_loan(64)? == Step::WouldBlock {
        end.pause();
    }
    lies_in_shared_memory("room", end.raw().room())?;
    while end.try_publish()? == Step::WouldBlock {
        end.pause();
    }
    Ok(())
}

fn take_in_place(end: &mut CheckedEndpoint) -> Result<(), Failure> {
    end.take()?;
    lies_in_shared_memory("message", end.raw().message())?;
    end.release()
}

fn lies_in_shared_memory(what: &str, bytes: &[u8]) -> Result<(), Failure> {
    let address = bytes.as_ptr().addr();
    holds(
        is_shared(address)? && is_shared(address + bytes.len() - 1)?,
        &format!("the {what} of a transport with loans in memory shared with the other process"),
        "it in memory of the process's own: it is copied",
    )
}

/// The transport's description is true.
pub const CAPABILITIES: Check = Check {
    name: "capabilities",
    exempt: none_exempt,
    run_process,
    run_test: one_scenario,
    kills: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_joined_by_a_hyphen() {
        for good in ["pipe", "uds-stream", "iceoryx2-event"] {
            is_name(good).unwrap();
        }
        for bad in ["", "Pipe", "uds_stream", "-pipe", "uds--stream", "tcp 4"] {
            assert!(is_name(bad).is_err(), "{bad}");
        }
    }
}
