//! Memory for messages to be sent, where a module lends none.

use std::{ffi::c_void, hint::black_box};

/// One page: the alignment of the memory.
#[repr(C, align(4096))]
#[derive(Clone)]
struct Page([u8; 4096]);

/// Whole pages, each touched.
pub(crate) struct PageBuffer(Box<[Page]>);

impl PageBuffer {
    /// Room for `len` bytes.
    pub(crate) fn new(len: usize) -> Self {
        let count = len.div_ceil(size_of::<Page>()).max(1);
        // Written with a value that the compiler does not know. Otherwise it could request zero
        // pages,
        // which the system allocates only at the first write.
        let page = Page([black_box(1); 4096]);
        let mut pages = vec![page; count];
        pages.iter_mut().for_each(|page| page.0.fill(0));
        Self(pages.into_boxed_slice())
    }

    /// The address of the first byte.
    pub(crate) fn address(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_page_aligned_zeroed_and_large_enough() {
        for (len, pages) in [(16, 1), (4096, 1), (4097, 2), (4 << 20, 1024)] {
            let mut buffer = PageBuffer::new(len);
            assert_eq!(buffer.address().addr() % 4096, 0);
            assert_eq!(buffer.0.len(), pages);
            assert!(buffer.0.iter().all(|page| page.0.iter().all(|byte| *byte == 0)));
        }
    }
}
