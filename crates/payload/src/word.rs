//! The bytes that measured loops write and read: one word again and again. In a development build these functions are
//! not inlined, for there the crate that has the measured loops is not optimised.

use std::hint::black_box;

/// Fills `body` with the bytes of `word`; a part of a word at the end is filled too.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn fill(word: u64, body: &mut [u8]) {
    let word = word.to_ne_bytes();
    let mut words = body.chunks_exact_mut(8);
    for chunk in words.by_ref() {
        chunk.copy_from_slice(&word);
    }
    for (byte, value) in words.into_remainder().iter_mut().zip(word) {
        *byte = value;
    }
}

/// True if [`fill`] wrote every byte of `body`; reads all of them in any case.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn is_filled(word: u64, body: &[u8]) -> bool {
    let words = body.chunks_exact(8);
    let rest = words.remainder().iter().zip(word.to_ne_bytes());
    let rest = rest.fold(0, |differences, (byte, value)| differences | (byte ^ value));
    // Differences are accumulated rather than tested one by one: without an early exit the loop is vectorised.
    let differences = words.fold(0, |differences, chunk| {
        differences | (u64::from_ne_bytes(chunk.try_into().expect("8 bytes")) ^ word)
    });
    black_box(differences) == 0 && rest == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: u64 = 0x0102_0304_0506_0708;

    #[test]
    fn every_changed_byte_is_seen() {
        for len in [0, 1, 7, 8, 9, 84] {
            let mut body = vec![0xee; len];
            fill(WORD, &mut body);
            assert!(is_filled(WORD, &body));
            for at in 0..len {
                let mut wrong = body.clone();
                wrong[at] ^= 0x10;
                assert!(!is_filled(WORD, &wrong), "byte {at} of {len}");
            }
        }
    }

    #[test]
    fn another_word_is_seen() {
        let mut body = [0; 16];
        fill(WORD, &mut body);
        assert!(!is_filled(WORD + 1, &body));
    }
}
