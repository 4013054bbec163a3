//! A ring that this process and the kernel share: the one produces entries, the other consumes them.

use std::{
    cell::Cell,
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};

/// Memory that is mapped as long as this lives.
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: memory belongs to no thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `len` bytes of a descriptor, or bytes of this process alone where there is none. Every page is there.
    pub fn new(len: usize, of: Option<(i32, i64)>) -> nix::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (fd, at) = of.unwrap_or((-1, 0));
        let kind = match of {
            Some(_) => libc::MAP_SHARED,
            None => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        };
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), len, access, kind | libc::MAP_POPULATE, fd, at)
        };
        if base == libc::MAP_FAILED {
            return Err(nix::errno::Errno::last());
        }
        let base = NonNull::new(base.cast()).ok_or(nix::errno::Errno::EFAULT)?;
        Ok(Self { base, len })
    }

    /// The address of the `len` bytes from `at` on, which must lie within.
    #[inline]
    pub fn at(&self, at: usize, len: usize) -> NonNull<u8> {
        assert!(at <= self.len && len <= self.len - at, "{at} and {len} of {}", self.len);
        // SAFETY: within the mapping.
        unsafe { self.base.add(at) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this length; whoever points into it lives no longer.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// One ring, of which this process is the producer or the consumer.
pub struct Ring<T> {
    map: Mapping,
    producer: usize,
    consumer: usize,
    entries: usize,
    mask: u32,
    /// The number of the entry that is next for this process.
    next: Cell<u32>,
    _of: std::marker::PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// A ring of `count` entries, a power of two, that lies at `page` of the socket.
    pub fn map(
        fd: i32,
        page: i64,
        offset: &libc::xdp_ring_offset,
        count: u32,
    ) -> nix::Result<Self> {
        let entries = offset.desc as usize;
        let map = Mapping::new(entries + count as usize * size_of::<T>(), Some((fd, page)))?;
        let (producer, consumer) = (offset.producer as usize, offset.consumer as usize);
        let (mask, next) = (count - 1, Cell::new(0));
        Ok(Self { map, producer, consumer, entries, mask, next, _of: std::marker::PhantomData })
    }

    #[inline]
    fn counter(&self, at: usize) -> &AtomicU32 {
        // SAFETY: an aligned number of the kernel's within the mapping, which lives as long as this.
        unsafe { AtomicU32::from_ptr(self.map.at(at, 4).as_ptr().cast()) }
    }

    #[inline]
    fn entry(&self) -> *mut T {
        let at = self.entries + (self.next.get() & self.mask) as usize * size_of::<T>();
        self.map.at(at, size_of::<T>()).as_ptr().cast()
    }

    /// Produces an entry. The caller sees to it that there is never one more than the ring holds.
    #[inline]
    pub fn push(&self, entry: T) {
        // SAFETY: an aligned place within the mapping, which the kernel has consumed before.
        unsafe { self.entry().write(entry) };
        self.next.set(self.next.get().wrapping_add(1));
        // Paired with the kernel's acquire: it reads the entry after the counter.
        self.counter(self.producer).store(self.next.get(), Ordering::Release);
    }

    /// True if the kernel has consumed every entry.
    #[inline]
    pub fn is_consumed(&self) -> bool {
        self.counter(self.consumer).load(Ordering::Acquire) == self.next.get()
    }

    /// The next entry that the kernel has produced.
    #[inline]
    pub fn first(&self) -> Option<T> {
        // Paired with the kernel's release: the entry, and the frame that it names, are there.
        let is_there = self.counter(self.producer).load(Ordering::Acquire) != self.next.get();
        // SAFETY: an aligned place within the mapping, which the kernel has produced.
        is_there.then(|| unsafe { self.entry().read() })
    }

    /// Gives the place of the next entry back.
    #[inline]
    pub fn drop_first(&self) {
        self.next.set(self.next.get().wrapping_add(1));
        // Paired with the kernel's acquire: it writes into the place after the entry was read.
        self.counter(self.consumer).store(self.next.get(), Ordering::Release);
    }
}
