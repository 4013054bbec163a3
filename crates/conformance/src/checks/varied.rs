//! `varied`: lengths in an order that no one would choose, short and long mixed.

use crate::{failure::Failure, stage::Stage, stamp::mix};

/// Payload of the ends, number of messages.
const ROUNDS: [(usize, u64); 3] = [(1000, 200), (65_536, 200), (1 << 20, 20)];

pub fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
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

/// `count` lengths from 16 to `payload`, as many below a hundred as between a thousand and ten
/// thousand; the same in both processes and in every run.
pub fn lengths(payload: usize, count: u64) -> Vec<usize> {
    let bits = (payload / 16).ilog2();
    (0..count)
        .map(|index| {
            let number = mix(index + 1);
            let scale = 16 << (number % u64::from(bits + 1));
            (scale + (number >> 32) as usize % scale).min(payload)
        })
        .collect()
}

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
