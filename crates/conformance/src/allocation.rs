//! Counts what a process allocates, so that a check can see that nothing is between open and close,
//! and that what was allocated in open was given back.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
};

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicI64 = AtomicI64::new(0);

/// It stands here and not in each test target, so that none can forget it.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this process has allocated or moved memory, in all its threads.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// How many bytes this process has allocated and not given back.
pub fn live_bytes() -> i64 {
    LIVE.load(Ordering::Relaxed)
}

fn note(gained: usize, lost: usize) {
    COUNT.fetch_add(u64::from(gained > 0), Ordering::Relaxed);
    LIVE.fetch_add(gained as i64 - lost as i64, Ordering::Relaxed);
}

// SAFETY: every call is handed on to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller keeps the rules of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller keeps the rules of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: the caller keeps the rules of `realloc`.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the caller keeps the rules of `dealloc`.
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
        // Other tests allocate at the same time, but nothing that large.
        assert!(live_bytes() - live > 90 << 20);
        drop(block);
        assert!(live_bytes() - live < 10 << 20);
    }
}
