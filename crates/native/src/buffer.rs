//! Memory of an end's own for messages: one buffer, or several that it uses one after the other.

use std::{
    mem,
    ops::{Deref, DerefMut},
};

use ipcmark_transport::{BUFFERS, Error, MOST_BUFFER_BYTES, Settings};

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

/// The buffers that an end does not use at the moment, of several that it uses one after the other.
pub struct Spares {
    /// In no order of addresses: what fetches the next lines ahead is not to guess which buffer comes next.
    buffers: Vec<Buffer>,
    next: usize,
}

impl Spares {
    /// All but one of the buffers that the settings ask for, each of at least `len` bytes: more than a message, where a
    /// system call may bring more.
    pub fn new(len: usize, settings: &Settings) -> Result<Self, Error> {
        let count = settings.number(BUFFERS.key.as_ref()).unwrap_or(1).saturating_sub(1);
        if count.saturating_mul(len as u64) > 2 * MOST_BUFFER_BYTES {
            let cause =
                format!("{count} of {len} bytes, which its system calls need, are more than 2 GiB");
            return Err(
                Error::new("make", "the buffers", cause).remedy("ask for fewer with --buffers")
            );
        }
        let mut buffers: Vec<Buffer> = (0..count).map(|_| Buffer::new(len)).collect();
        shuffle(&mut buffers);
        Ok(Self { buffers, next: 0 })
    }

    /// Puts the next one in the place of the one in use, which is returned; none where there is only one.
    #[inline]
    pub fn exchange(&mut self, used: &mut Buffer) -> Option<&Buffer> {
        let at = self.next;
        mem::swap(self.buffers.get_mut(at)?, used);
        self.next = if at + 1 < self.buffers.len() { at + 1 } else { 0 };
        Some(&self.buffers[at])
    }
}

/// Fisher and Yates, by the low-quality numbers of a linear congruential generator, which will do: no two runs differ.
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
    fn so_many_buffers_are_used_one_after_the_other() {
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
