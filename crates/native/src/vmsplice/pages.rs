//! The pages of a sender: a ring of them, used one after the other, so that one is written again only after the pipe has
//! taken as many others as it holds. What lies in the pipe then are those others: the page has been read. So no answer of
//! the receiver is needed, and no system call to ask for one.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::{
    errno::Errno,
    unistd::{SysconfVar, sysconf},
};

use crate::{
    buffer::{ALIGNMENT, Buffer},
    frame::HEAD,
};

/// Where a frame begins in its first page, so that the payload behind its head is aligned.
pub(super) const LEAD: usize = ALIGNMENT - HEAD;

/// Bytes of a page on this machine, which are what a pipe counts.
pub(super) fn page_size() -> usize {
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, |bytes| bytes as usize)
}

/// The pages, and where the message on loan lies.
pub(super) struct Pages {
    memory: Buffer,
    /// Where the first page begins in the memory.
    base: usize,
    count: usize,
    page: usize,
    /// The first page of the message on loan, and what it needs.
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

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Begins a message. It lies in one piece: where the rest of the ring is too short, at the beginning.
    #[inline]
    pub(super) fn begin(&mut self, len: usize) {
        self.len = len;
        if self.at + pages_of(len, self.page) > self.count {
            self.at = 0;
        }
        let head = self.head();
        self.memory[head..head + HEAD].copy_from_slice(&(len as u64).to_le_bytes());
    }

    /// Ends it: all of its pages are in the pipe.
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

    /// The message with its length before it.
    #[inline]
    pub(super) fn frame(&self) -> &[u8] {
        let from = self.head();
        &self.memory[from..from + HEAD + self.len]
    }
}

/// How many pages a message touches.
#[inline]
fn pages_of(len: usize, page: usize) -> usize {
    (LEAD + HEAD + len).div_ceil(page)
}

/// The fewest pages with which one is never written while it lies in a pipe of `slots`, where a message has `most` at most.
/// Up to `most - 1` at the end of the ring are left out where a message does not fit; of the one that has the page again,
/// up to `most - 1` more lie before it, and the page itself. All others were spliced since.
fn enough(slots: usize, most: usize) -> usize {
    slots + 2 * most - 1
}

/// Puts references to the pages of these bytes into a pipe; returns for how many bytes there was room.
#[inline]
pub(super) fn splice(pipe: &OwnedFd, bytes: &[u8], flags: libc::c_uint) -> Result<usize, Errno> {
    let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: the bytes are there, and the kernel only reads them. That nobody writes them until the receiver has read
    // them is what the ring of pages is for.
    let count = unsafe { libc::vmsplice(pipe.as_raw_fd(), &part, 1, flags) };
    Errno::result(count).map(|count| count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every page, when it is written again, was followed by as many others as the pipe holds.
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
