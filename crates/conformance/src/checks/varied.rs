//! `varied`: short and long messages in an irregular order.

use crate::check::{Check, none_exempt, one_scenario};
use crate::{context::CheckContext, failure::Failure, stamp::mix};

/// The payload of the endpoints, and the number of messages.
const ROUNDS: [(usize, u64); 3] = [(1000, 200), (65_536, 200), (1 << 20, 20)];

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    for (payload, count) in ROUNDS {
        let payload = context.at_most(payload);
        let mut end = context.open(payload)?;
        context.echo(&mut end, &lengths(payload, count))?;
        context.meet("both are done")?;
        drop(end);
        context.meet("both are closed")?;
    }
    Ok(())
}

/// The lengths of a series of messages.
#[derive(Clone, Copy)]
pub enum Lengths {
    /// All messages have this length.
    All(usize),
    /// Short and long messages mixed, up to this length.
    Varied(usize),
}

impl Lengths {
    /// The same for a transport with a maximum of `most`.
    pub fn at_most(self, most: usize) -> Self {
        match self {
            Lengths::All(len) => Lengths::All(len.min(most)),
            Lengths::Varied(payload) => Lengths::Varied(payload.min(most)),
        }
    }

    /// The largest of them.
    pub fn payload(self) -> usize {
        match self {
            Lengths::All(payload) | Lengths::Varied(payload) => payload,
        }
    }

    /// The length of the message with this number.
    pub fn of(self, index: u32) -> usize {
        match self {
            Lengths::All(len) => len,
            Lengths::Varied(payload) => length(payload, index.into()),
        }
    }
}

/// `count` lengths from 16 to `payload`; the same in both processes and in every run.
pub fn lengths(payload: usize, count: u64) -> Vec<usize> {
    (0..count).map(|index| length(payload, index)).collect()
}

/// A length from 16 to `payload` that depends on `index` alone: below a hundred as likely as between a thousand and ten
/// thousand.
fn length(payload: usize, index: u64) -> usize {
    let number = mix(index + 1);
    let scale = 16 << (number % u64::from((payload / 16).ilog2() + 1));
    (scale + (number >> 32) as usize % scale).min(payload)
}

/// Lengths in any order arrive complete.
pub const VARIED: Check = Check {
    name: "varied",
    exempt: none_exempt,
    run_process,
    run_test: one_scenario,
    kills: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short_and_long_and_within_the_payload() {
        let lengths = lengths(65_536, 200);
        assert!(lengths.iter().all(|len| (16..=65_536).contains(len)));
        assert!(lengths.iter().filter(|len| **len < 256).count() > 30);
        assert!(lengths.iter().filter(|len| **len > 16_384).count() > 30);
        assert!(lengths.contains(&65_536));
    }
}
