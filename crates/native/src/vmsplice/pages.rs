//! The pages of a sender: a ring in which each page is written again only after the pipe has taken as many other
//! pages as it holds. The pipe then contains only those others, so the page has been read. This needs no answer from
//! the receiver, and no system call to ask for one.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::{
    errno::Errno,
    unistd::{SysconfVar, sysconf},
};

use crate::{
    buffer::{ALIGNMENT, Buffer},
    frame::HEAD,
};

/// The offset of a frame in its first page, which aligns the payload behind its header.
pub(super) const LEAD: usize = ALIGNMENT - HEAD;

/// The size in bytes of a page on this machine, the unit in which a pipe counts.
pub(super) fn page_size() -> usize {
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, |bytes| bytes as usize)
}

/// The pages, and the location of the message on loan.
pub(super) struct Pages {
    memory: Buffer,
    /// The offset of the first page in the memory.
    base: usize,
    count: usize,
    page: usize,
    /// The first page of the message on loan, and its length.
    at: usize,
    len: usize,
}

impl Pages {
    /// Pages for a pipe that holds `slots` of them.
    pub(super) fn new(slots: usize, payload: usize) -> Self {
        let page = page_size();
        let count = enough(slots, pages_of(payload, page));
        let memory = Buffer::new((count + 1) * page);
        let base = memory.as_ptr().align_offset(page);
        Self { memory, base, count, page, at: 0, len: 0 }
    }

    /// The number of pages.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Begins a message. It is contiguous: if the rest of the ring is too short, it goes to the beginning.
    #[inline]
    pub(super) fn begin(&mut self, len: usize) {
        self.len = len;
        if self.at + pages_of(len, self.page) > self.count {
            self.at = 0;
        }
        let head = self.head();
        self.memory[head..head + HEAD].copy_from_slice(&(len as u64).to_le_bytes());
    }

    /// Ends the message: all of its pages are in the pipe.
    #[inline]
    pub(super) fn finish(&mut self) {
        self.at += pages_of(self.len, self.page);
    }

    #[inline]
    fn head(&self) -> usize {
        self.base + self.at * self.page + LEAD
    }

    /// The room of the message.
    #[inline]
    pub(super) fn payload(&mut self) -> &mut [u8] {
        let from = self.head() + HEAD;
        &mut self.memory[from..from + self.len]
    }

    /// The message with its length in front.
    #[inline]
    pub(super) fn frame(&self) -> &[u8] {
        let from = self.head();
        &self.memory[from..from + HEAD + self.len]
    }
}

/// The number of pages that a message touches.
#[inline]
fn pages_of(len: usize, page: usize) -> usize {
    (LEAD + HEAD + len).div_ceil(page)
}

/// The fewest pages with which no page is written while it is in a pipe of `slots`, for messages of at most `most`
/// pages. Up to `most - 1` pages at the end of the ring are skipped if a message does not fit; the message that reuses
/// the page has up to `most - 1` pages before it, and the page itself. All others were spliced in between.
fn enough(slots: usize, most: usize) -> usize {
    slots + 2 * most - 1
}

/// Puts references to the pages of these bytes into a pipe; returns the number of bytes that had room.
#[inline]
pub(super) fn splice(pipe: &OwnedFd, bytes: &[u8], flags: libc::c_uint) -> Result<usize, Errno> {
    let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: the bytes are valid, and the kernel only reads them. The ring of pages ensures that they are not written
    // until the receiver has read them.
    let count = unsafe { libc::vmsplice(pipe.as_raw_fd(), &part, 1, flags) };
    Errno::result(count).map(|count| count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before a page is written again, at least as many other pages are spliced as the pipe holds.
    #[test]
    fn a_page_is_used_again_only_after_as_many_others_as_the_pipe_holds() {
        let page = page_size();
        for (slots, payload) in [(1, 64), (16, 64), (16, 5 * page), (32, 17 * page), (2, 9 * page)]
        {
            let mut pages = Pages::new(slots, payload);
            let mut spliced = 0_usize;
            let mut last = vec![None; pages.count()];
            for number in 0..20_000_usize {
                pages.begin(16 + number * 7919 % (payload - 15));
                let used = pages.at..pages.at + pages_of(pages.len, page);
                for at in used.clone() {
                    let since = last[at].map_or(usize::MAX, |when| spliced - when - 1);
                    assert!(since >= slots, "page {at} after {since} of {slots}");
                }
                for at in used {
                    last[at] = Some(spliced);
                    spliced += 1;
                }
                pages.finish();
            }
        }
    }

    #[test]
    fn a_frame_is_the_length_and_the_payload_in_whole_pages() {
        let mut pages = Pages::new(16, 4096);
        pages.begin(100);
        pages.payload().fill(7);
        assert_eq!(pages.payload().as_ptr() as usize % ALIGNMENT, 0);
        assert_eq!((pages.frame().as_ptr() as usize + HEAD) % page_size(), ALIGNMENT);
        assert_eq!(pages.frame()[..HEAD], 100_u64.to_le_bytes());
        assert_eq!(pages.frame()[HEAD..], [7; 100]);
    }
}
