//! `varied`: lengths in an order that no one would choose, short and long mixed.

use crate::check::{Check, none_exempt, one_scene};
use crate::{failure::Failure, stage::Stage, stamp::mix};

/// Payload of the ends, number of messages.
const ROUNDS: [(usize, u64); 3] = [(1000, 200), (65_536, 200), (1 << 20, 20)];

fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    for (payload, count) in ROUNDS {
        let payload = stage.at_most(payload);
        let mut end = stage.open(payload)?;
        stage.echo(&mut end, &lengths(payload, count))?;
        stage.meet("both are done")?;
        drop(end);
        stage.meet("both are closed")?;
    }
    Ok(())
}

/// The lengths of a row of messages.
#[derive(Clone, Copy)]
pub enum Lengths {
    /// All have this one.
    All(usize),
    /// Short and long mixed, up to this one.
    Varied(usize),
}

impl Lengths {
    /// The same for a transport that carries no more than `most`.
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

/// A length from 16 to `payload` that follows from `index` alone: as likely below a hundred as between
/// a thousand and ten thousand.
fn length(payload: usize, index: u64) -> usize {
    let number = mix(index + 1);
    let scale = 16 << (number % u64::from((payload / 16).ilog2() + 1));
    (scale + (number >> 32) as usize % scale).min(payload)
}

/// Lengths in any order arrive whole.
pub const VARIED: Check =
    Check { name: "varied", exempt: none_exempt, play, direct: one_scene, kills: false };

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
