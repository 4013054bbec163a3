//! An end's own memory for messages: one buffer, or several in rotation.

use std::{
    mem,
    ops::{Deref, DerefMut},
};

use ipcmark_transport::{BUFFERS, Error, MOST_BUFFER_BYTES, Settings};

/// The alignment of messages: a cache line.
pub const ALIGNMENT: usize = 64;

/// A step that touches every page of any size.
const PAGE: usize = 4096;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct AlignedBytes([u8; ALIGNMENT]);

/// Zeroed, aligned bytes whose pages are all in memory already.
pub struct Buffer(Vec<AlignedBytes>);

impl Buffer {
    /// Makes a buffer of at least `len` bytes.
    pub fn new(len: usize) -> Self {
        let mut buffer = Self(vec![AlignedBytes([0; ALIGNMENT]); len.div_ceil(ALIGNMENT)]);
        for byte in buffer.iter_mut().step_by(PAGE) {
            // SAFETY: `byte` is a valid reference. The write is volatile because the compiler may
            // replace allocating and zeroing by memory that is mapped at its first use only.
            unsafe { std::ptr::write_volatile(byte, 0) };
        }
        buffer
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: lines are contiguous, consist of bytes only and have no padding.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * ALIGNMENT) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.0.len() * ALIGNMENT;
        // SAFETY: as in `deref`; any byte is valid in a line.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }
}

/// The buffers that an end rotates through, except the one in use.
pub struct Spares {
    /// Not in address order, so that the hardware prefetcher cannot predict the next buffer.
    buffers: Vec<Buffer>,
    next: usize,
}

impl Spares {
    /// One buffer fewer than the settings ask for, each of at least `len` bytes: more than a message where a system
    /// call may return more.
    pub fn new(len: usize, settings: &Settings) -> Result<Self, Error> {
        let count = settings.number(BUFFERS.key.as_ref()).unwrap_or(1).saturating_sub(1);
        if count.saturating_mul(len as u64) > 2 * MOST_BUFFER_BYTES {
            let cause =
                format!("{count} of {len} bytes, which its system calls need, are more than 2 GiB");
            return Err(Error::new("make", "the buffers", cause).remedy("use fewer with --buffers"));
        }
        let mut buffers: Vec<Buffer> = (0..count).map(|_| Buffer::new(len)).collect();
        shuffle(&mut buffers);
        Ok(Self { buffers, next: 0 })
    }

    /// Replaces the buffer in use by the next one; returns the previous one, or `None` if there is only one.
    #[inline]
    pub fn exchange(&mut self, used: &mut Buffer) -> Option<&Buffer> {
        let at = self.next;
        mem::swap(self.buffers.get_mut(at)?, used);
        self.next = if at + 1 < self.buffers.len() { at + 1 } else { 0 };
        Some(&self.buffers[at])
    }
}

/// Fisher-Yates shuffle. The numbers of a linear congruential generator are good enough, and the same in every run.
fn shuffle(buffers: &mut [Buffer]) {
    let mut number = 1_u64;
    for at in (1..buffers.len()).rev() {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        buffers.swap(at, (number >> 33) as usize % (at + 1));
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

    fn spares(count: &str) -> Spares {
        let mut settings = crate::testing::settings(ipcmark_transport::Wait::Spin, 64);
        settings.options.insert(BUFFERS.key.to_string(), count.to_owned());
        Spares::new(64, &settings).unwrap()
    }

    #[test]
    fn more_memory_than_a_machine_has_is_not_taken() {
        let mut settings = crate::testing::settings(ipcmark_transport::Wait::Spin, 64);
        settings.options.insert(BUFFERS.key.to_string(), "1048576".to_owned());
        let error = Spares::new(64 << 10, &settings).err().unwrap().to_string();
        assert!(error.contains("more than 2 GiB") && error.contains("--buffers"), "{error}");
    }

    #[test]
    fn the_set_number_of_buffers_is_used_in_turn() {
        for count in [2, 3, 64] {
            let (mut used, mut spares) = (Buffer::new(64), spares(&count.to_string()));
            let mut next = || {
                spares.exchange(&mut used);
                used.as_ptr()
            };
            let first: Vec<_> = (0..count).map(|_| next()).collect();
            let again: Vec<_> = (0..count).map(|_| next()).collect();
            let different: std::collections::BTreeSet<_> = first.iter().collect();
            assert_eq!((different.len(), &first), (count, &again));
            assert!(count < 64 || !first.is_sorted(), "they lie in no order");
        }
    }

    #[test]
    fn one_buffer_stays() {
        let (mut used, mut spares) = (Buffer::new(64), spares("1"));
        let before = used.as_ptr();
        assert!(spares.exchange(&mut used).is_none());
        assert_eq!(used.as_ptr(), before);
    }
}
