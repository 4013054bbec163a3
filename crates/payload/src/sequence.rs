//! The bytes that verify a message: a sequence that any shift, swap or repetition of its parts changes.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): the
/// n-th output is a function of the seed and n alone.
fn word(seed: u64, index: usize) -> [u8; 8] {
    let mut z = seed.wrapping_add((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).to_ne_bytes()
}

/// Fills `bytes` with the pattern of `seed`.
pub fn fill(seed: u64, bytes: &mut [u8]) {
    // Words of a fixed size are written as such, not copied as slices.
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for (index, chunk) in words.iter_mut().enumerate() {
        *chunk = word(seed, index);
    }
    let last = word(seed, words.len());
    rest.copy_from_slice(&last[..rest.len()]);
}

/// The index at which `bytes` first differ from the pattern of `seed`.
pub fn first_difference(seed: u64, bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut numbered = words.iter().enumerate();
    let differs = numbered.position(|(index, chunk)| *chunk != word(seed, index));
    let (index, chunk) = match differs {
        Some(index) => (index, &words[index][..]),
        None => (words.len(), rest),
    };
    let within = chunk.iter().zip(word(seed, index)).position(|(byte, value)| *byte != value);
    within.map(|within| index * 8 + within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_is_detected_at_its_index() {
        for len in [0, 1, 7, 8, 9, 100] {
            let mut bytes = vec![0; len];
            fill(42, &mut bytes);
            assert_eq!(first_difference(42, &bytes), None);
            for at in 0..len {
                let mut wrong = bytes.clone();
                wrong[at] = !wrong[at];
                assert_eq!(first_difference(42, &wrong), Some(at));
            }
        }
    }

    #[test]
    fn shifted_bytes_are_detected() {
        let mut bytes = vec![0; 4096];
        fill(1, &mut bytes);
        bytes.rotate_left(8);
        assert_eq!(first_difference(1, &bytes), Some(0));
    }
}
