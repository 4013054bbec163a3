//! An AF_XDP socket with its memory and its four rings.

use std::{
    cell::RefCell,
    mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    ptr, slice,
};

use libc::xdp_desc;
use nix::errno::Errno;

use super::ring::{Mapping, Ring};

/// The longest frame: what a page holds beside what XDP on a virtual Ethernet keeps free before and behind it, and a
/// multiple of a cache line.
pub const FRAME: usize = 3472;

/// The most frames under way to an end. The pair holds 256 of them, between the two sockets.
pub const WINDOW: u32 = 128;

/// Bytes of a piece of the memory; one holds a frame.
const CHUNK: usize = 4096;

/// Pieces for each way, more than can be under way; entries of a ring, no fewer than these.
const CHUNKS: u32 = WINDOW + 64;
const ENTRIES: u32 = 256;

/// The size of the socket's buffer: the kernel adds its own bookkeeping to each frame.
const SEND_BUFFER: libc::c_int = WINDOW as libc::c_int * 2 * CHUNK as libc::c_int;

/// A socket that is set up, with the pieces to receive in given to the kernel.
pub struct Xsk {
    // Fields drop in this order: the kernel uses the memory as long as the socket is open.
    fd: OwnedFd,
    fill: Ring<u64>,
    completion: Ring<u64>,
    rx: Ring<xdp_desc>,
    tx: Ring<xdp_desc>,
    /// Pieces to send from that the kernel does not use.
    free: RefCell<Vec<u64>>,
    memory: Mapping,
}

impl Xsk {
    /// Sets a new socket up, and binds it to the only queue of an interface.
    pub fn set_up(fd: OwnedFd, interface: u32) -> Result<Self, Errno> {
        let raw = fd.as_raw_fd();
        let memory = register_memory(raw)?;
        for ring in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            set(raw, libc::SOL_XDP, ring, &ENTRIES)?;
        }
        // Without the right to exceed the limit the kernel grants less, and the end tries again more often.
        let _ = set(raw, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER);
        let at = offsets(raw)?;
        let fill = Ring::map(raw, libc::XDP_UMEM_PGOFF_FILL_RING as i64, &at.fr, ENTRIES)?;
        let completion =
            Ring::map(raw, libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64, &at.cr, ENTRIES)?;
        let rx = Ring::map(raw, libc::XDP_PGOFF_RX_RING, &at.rx, ENTRIES)?;
        let tx = Ring::map(raw, libc::XDP_PGOFF_TX_RING, &at.tx, ENTRIES)?;
        let piece = |number: u32| u64::from(number) * CHUNK as u64;
        (0..CHUNKS).for_each(|number| fill.push(piece(number)));
        let free = RefCell::new((CHUNKS..2 * CHUNKS).map(piece).collect());
        bind(raw, interface)?;
        Ok(Self { fd, fill, completion, rx, tx, free, memory })
    }

    /// The socket, to sleep on.
    #[inline]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Puts a frame into the transmit ring; false if there is no piece free for it.
    #[inline]
    pub fn put(&self, head: &[u8], part: &[u8]) -> bool {
        let mut free = self.free.borrow_mut();
        while let Some(piece) = self.completion.first() {
            free.push(piece);
            self.completion.drop_first();
        }
        let Some(addr) = free.pop() else { return false };
        let len = head.len() + part.len();
        let to = self.memory.at(addr as usize, len).as_ptr();
        // SAFETY: a piece that the kernel does not use, of at least that many bytes; nobody else points into it.
        unsafe {
            ptr::copy_nonoverlapping(head.as_ptr(), to, head.len());
            ptr::copy_nonoverlapping(part.as_ptr(), to.add(head.len()), part.len());
        }
        self.tx.push(xdp_desc { addr, len: len as u32, options: 0 });
        true
    }

    /// Has the kernel send what is in the transmit ring; true if all of it is sent.
    #[inline]
    pub fn send(&self) -> Result<bool, Errno> {
        // SAFETY: no memory is passed.
        let called = unsafe {
            libc::sendto(self.fd.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0)
        };
        match Errno::result(called) {
            // EBUSY: a frame was dropped.
            Ok(_) | Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR) => Ok(self.tx.is_consumed()),
            Err(errno) => Err(errno),
        }
    }

    /// The next frame that has come.
    #[inline]
    pub fn first(&self) -> Option<&[u8]> {
        let xdp_desc { addr, len, .. } = self.rx.first()?;
        let at = self.memory.at(addr as usize, len as usize).as_ptr();
        // SAFETY: within the memory; the kernel writes there once the piece is given back only.
        Some(unsafe { slice::from_raw_parts(at, len as usize) })
    }

    /// Gives the piece of that frame back.
    #[inline]
    pub fn drop_first(&self) {
        if let Some(frame) = self.rx.first() {
            self.rx.drop_first();
            self.fill.push(frame.addr / CHUNK as u64 * CHUNK as u64);
        }
    }
}

fn register_memory(fd: i32) -> Result<Mapping, Errno> {
    let len = 2 * CHUNKS as usize * CHUNK;
    let memory = Mapping::new(len, None)?;
    // SAFETY: all zeros are a value of it.
    let mut umem: libc::xdp_umem_reg = unsafe { mem::zeroed() };
    umem.addr = memory.at(0, len).as_ptr().expose_provenance() as u64;
    (umem.len, umem.chunk_size) = (len as u64, CHUNK as u32);
    set(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &umem)?;
    Ok(memory)
}

fn offsets(fd: i32) -> Result<libc::xdp_mmap_offsets, Errno> {
    // SAFETY: numbers, for which zeros are a value; the length is that of the place.
    unsafe {
        let mut offsets: libc::xdp_mmap_offsets = mem::zeroed();
        let mut len = size_of::<libc::xdp_mmap_offsets>() as libc::socklen_t;
        let at = (&raw mut offsets).cast();
        Errno::result(libc::getsockopt(fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, at, &mut len))?;
        // Before Linux 5.4 a ring has no flags, and the answer is shorter.
        if len as usize == size_of::<libc::xdp_mmap_offsets>() {
            Ok(offsets)
        } else {
            Err(Errno::ENOSYS)
        }
    }
}

fn bind(fd: i32, interface: u32) -> Result<(), Errno> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_COPY,
        sxdp_ifindex: interface,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    let len = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
    // SAFETY: an address of that length.
    Errno::result(unsafe { libc::bind(fd, (&raw const address).cast(), len) }).map(drop)
}

fn set<T>(fd: i32, level: libc::c_int, option: libc::c_int, value: &T) -> Result<(), Errno> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: a value of that length.
    let set = unsafe { libc::setsockopt(fd, level, option, ptr::from_ref(value).cast(), len) };
    Errno::result(set).map(drop)
}
