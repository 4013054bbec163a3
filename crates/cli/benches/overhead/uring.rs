//! Bare loops of io_uring requests: one send or receive at a time, each waited for.

use std::{cell::RefCell, hint::spin_loop, os::fd::AsRawFd, ptr};

use io_uring::{
    Builder, EnterFlags, IoUring, opcode,
    squeue::{Entry, Flags},
    types::{Fd, Fixed},
};

use crate::{
    bare::{self, DescriptorPair, FRAME, HEAD, PAYLOAD},
    blocks::{MeasuredBlock, Work},
};

/// A bare loop: its blocks.
type Loop = fn(Work) -> Vec<MeasuredBlock>;

/// The transports with a bare loop of their requests.
pub(crate) const LOOPS: [(&str, Loop); 3] =
    [("uring-uds", uds), ("uring-pipe", pipe), ("uring-msg-ring", msg_ring)];

/// The bytes of a buffer.
const ROOM: usize = 128;

/// The indices of the buffers in a ring.
const OUTGOING: usize = 0;
const INCOMING: usize = 1;

/// A process's ring, created at its first use, which is after the fork.
struct Lazy {
    ring: RefCell<Option<Ring>>,
    /// The descriptors of both processes; a request names a descriptor by its index here.
    files: [i32; 4],
    spins: bool,
}

struct Ring {
    ring: IoUring,
    buffers: Box<[[u8; ROOM]; 2]>,
    /// True while a receive request is pending.
    receives: bool,
}

impl Lazy {
    fn new(spins: bool, ways: &DescriptorPair) -> Self {
        let files = [ways.leader.0, ways.leader.1, ways.follower.0, ways.follower.1];
        Self { ring: RefCell::new(None), files, spins }
    }

    fn with<R>(&self, call: impl FnOnce(&mut Ring, bool) -> R) -> R {
        let mut ring = self.ring.borrow_mut();
        let ring = ring.get_or_insert_with(|| Ring::new(self.spins, &self.files));
        call(ring, !self.spins)
    }

    fn place(&self, file: i32) -> Fixed {
        Fixed(self.files.iter().position(|one| *one == file).expect("one of them") as u32)
    }
}

impl Ring {
    /// The ring that the transports create on current kernels.
    fn new(spins: bool, files: &[i32]) -> Self {
        let mut builder: Builder = IoUring::builder();
        builder.setup_single_issuer().setup_defer_taskrun();
        if spins {
            builder.setup_taskrun_flag();
        }
        let ring = builder.build(4).expect("a ring");
        if !files.is_empty() {
            ring.submitter().register_files(files).expect("registered descriptors");
        }
        let mut buffers = Box::new([[1; ROOM]; 2]);
        let parts = buffers
            .each_mut()
            .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: ROOM });
        // SAFETY: the buffers live as long as the ring.
        unsafe { ring.submitter().register_buffers(&parts).expect("registered buffers") };
        Self { ring, buffers, receives: false }
    }

    fn reap(&mut self) -> Option<bool> {
        let entry = self.ring.completion().next()?;
        Some(entry.result() > 0)
    }

    fn submit(&mut self, request: &Entry, sleeps: bool) {
        // SAFETY: the ring's own buffers.
        unsafe { self.ring.submission().push(request).expect("room for a request") };
        self.ring.submit_and_wait(usize::from(sleeps)).expect("a submission");
    }

    /// Sends a message; one of this size completes at once.
    fn send(
        &mut self,
        bytes: &[u8],
        request: impl FnOnce(*const u8) -> Entry,
        sleeps: bool,
    ) -> bool {
        self.buffers[OUTGOING][..HEAD].copy_from_slice(&bytes[..HEAD]);
        let request = request(self.buffers[OUTGOING].as_ptr());
        self.submit(&request, sleeps);
        self.reap().expect("a message that is sent")
    }

    fn receive(
        &mut self,
        bytes: &mut [u8],
        request: impl FnOnce(*mut u8) -> Entry,
        sleeps: bool,
    ) -> bool {
        if !self.receives {
            let request = request(self.buffers[INCOMING].as_mut_ptr());
            self.submit(&request, sleeps);
        } else if sleeps || self.ring.submission().taskrun() {
            self.ring.submit_and_wait(usize::from(sleeps)).expect("a completion");
        }
        let received = self.reap();
        self.receives = received.is_none();
        match received {
            Some(true) => bytes[..HEAD].copy_from_slice(&self.buffers[INCOMING][..HEAD]),
            None if !sleeps => spin_loop(),
            _ => {}
        }
        received == Some(true)
    }
}

/// Requests to send and to receive on a stream socket.
fn uds(work: Work) -> Vec<MeasuredBlock> {
    let ways = bare::sockets(0);
    let ring = Lazy::new(work.spins, &ways);
    bare::run(
        work,
        ways,
        |socket, bytes| {
            let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
            let place = ring.place(socket);
            let request = |at| opcode::Send::new(place, at, FRAME as u32).flags(flags).build();
            ring.with(|ring, sleeps| ring.send(bytes, request, sleeps))
        },
        |socket, bytes| {
            let place = ring.place(socket);
            let request = |at| opcode::Recv::new(place, at, ROOM as u32).build();
            ring.with(|ring, sleeps| ring.receive(bytes, request, sleeps))
        },
    )
}

/// Requests to write into a pipe and to read from another, with registered buffers.
fn pipe(work: Work) -> Vec<MeasuredBlock> {
    let ways = bare::pipes(0);
    let ring = Lazy::new(work.spins, &ways);
    bare::run(
        work,
        ways,
        |pipe, bytes| {
            let place = ring.place(pipe);
            let request =
                |at| opcode::WriteFixed::new(place, at, FRAME as u32, OUTGOING as u16).build();
            ring.with(|ring, sleeps| ring.send(bytes, request, sleeps))
        },
        |pipe, bytes| {
            let place = ring.place(pipe);
            let request =
                |at| opcode::ReadFixed::new(place, at, ROOM as u32, INCOMING as u16).build();
            ring.with(|ring, sleeps| ring.receive(bytes, request, sleeps))
        },
    )
}

/// Posts a message into the other process's ring; both rings exist since before the fork. The payload lies in memory
/// that both share.
fn msg_ring(work: Work) -> Vec<MeasuredBlock> {
    let queues = [0; 2].map(|_| {
        let mut builder: Builder = IoUring::builder();
        RefCell::new(builder.setup_cqsize(1024).build(1).expect("a ring"))
    });
    let descriptors = queues.each_ref().map(|ring| ring.borrow().as_raw_fd());
    let ways = DescriptorPair { leader: (1, 0), follower: (0, 1) };
    let submits = RefCell::new(None);
    let payloads = bare::shared_page().cast::<u8>();
    // SAFETY: a place in the page for each way, on lines of its own.
    let place = |way: i32| unsafe { payloads.add(1024 * way as usize) };
    let blocks = bare::run(
        work,
        ways,
        |way, bytes| {
            // SAFETY: room for a payload, which the other process reads after the notice.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place(way), PAYLOAD) };
            let mut ring = submits.borrow_mut();
            let ring = ring.get_or_insert_with(|| Ring::new(work.spins, &[]));
            let request = opcode::MsgRingData::new(Fd(descriptors[way as usize]), 0, 7, None);
            ring.submit(&request.build().flags(Flags::SKIP_SUCCESS), false);
            true
        },
        |way, bytes| {
            let mut ring = queues[way as usize].borrow_mut();
            if ring.completion().next().is_some() {
                // SAFETY: the payload of the sender that has posted the notice.
                unsafe { ptr::copy_nonoverlapping(place(way), bytes.as_mut_ptr(), PAYLOAD) };
                return true;
            }
            if work.spins {
                spin_loop();
                return false;
            }
            let flags = EnterFlags::GETEVENTS.bits();
            // SAFETY: waits for a completion; nothing is submitted.
            unsafe { ring.submitter().enter::<libc::sigset_t>(0, 1, flags, None) }
                .expect("a completion");
            false
        },
    );
    // SAFETY: nothing refers to the page any more.
    unsafe { libc::munmap(payloads.cast(), bare::PAGE) };
    blocks
}
