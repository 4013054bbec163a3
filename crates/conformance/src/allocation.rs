//! Counts the allocations of a process. A check can then verify that none happens between open and
//! close, and that everything allocated in open was freed.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
};

struct CountingAllocator;

static COUNT: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicI64 = AtomicI64::new(0);

/// Defined here and not in each test target, so that none can forget it.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The number of allocations and reallocations in this process, in all its threads.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// The number of bytes that this process has allocated and not freed.
pub fn live_bytes() -> i64 {
    LIVE.load(Ordering::Relaxed)
}

fn note(gained: usize, lost: usize) {
    COUNT.fetch_add(u64::from(gained > 0), Ordering::Relaxed);
    LIVE.fetch_add(gained as i64 - lost as i64, Ordering::Relaxed);
}

// SAFETY: every call is forwarded unchanged to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller follows the rules of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller follows the rules of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: the caller follows the rules of `realloc`.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the caller follows the rules of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_is_counted() {
        let before = count();
        let live = live_bytes();
        let block = std::hint::black_box(vec![0_u8; 100 << 20]);
        assert!(count() > before);
        // Other tests allocate at the same time, but no block this large.
        assert!(live_bytes() - live > 90 << 20);
        drop(block);
        assert!(live_bytes() - live < 10 << 20);
    }
}
