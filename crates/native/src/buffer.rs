//! Memory of an end's own for one message.

use std::ops::{Deref, DerefMut};

/// What messages are aligned to: a cache line.
pub const ALIGNMENT: usize = 64;

/// A step that meets every page of any size.
const PAGE: usize = 4096;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

/// Zeroed, aligned bytes of which every page is already in memory.
pub struct Buffer(Vec<Line>);

impl Buffer {
    /// Makes a buffer of at least `len` bytes.
    pub fn new(len: usize) -> Self {
        let mut buffer = Self(vec![Line([0; ALIGNMENT]); len.div_ceil(ALIGNMENT)]);
        for byte in buffer.iter_mut().step_by(PAGE) {
            // SAFETY: `byte` is a valid reference. The write is volatile because the compiler may
            // turn allocating and zeroing into memory that is mapped at its first use only.
            unsafe { std::ptr::write_volatile(byte, 0) };
        }
        buffer
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: lines lie one after the other, are all bytes and have no padding.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * ALIGNMENT) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.0.len() * ALIGNMENT;
        // SAFETY: as in `deref`; any byte is a valid part of a line.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_zeroed_and_large_enough() {
        for len in [1, 63, 64, 65, 4096, 100_001] {
            let buffer = Buffer::new(len);
            assert!(buffer.len() >= len && buffer.len() < len + ALIGNMENT);
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
            assert!(buffer.iter().all(|byte| *byte == 0));
        }
    }
}
