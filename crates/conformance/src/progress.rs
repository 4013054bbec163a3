//! The progress of a process of a check, readable from outside when it hangs or is dead.

use std::{
    fs::{File, OpenOptions},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use nix::sys::mman::{MapFlags, ProtFlags, mmap};

use crate::failure::Failure;

/// The current action of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Phase {
    /// Nothing yet.
    Starting,
    /// Opens its end.
    Opening,
    /// Loans room for a message, or has just tried to without success.
    Loaning,
    /// Publishes a message, or has just tried to without success.
    Publishing,
    /// Takes a message, or has just found none.
    Taking,
    /// Releases a message.
    Releasing,
    /// Drops its endpoint.
    Closing,
    /// Waits for the other process at a meeting point.
    Meeting,
    /// None of these.
    Between,
}

const PHASES: [&str; 9] = [
    "starting",
    "opening its end",
    "getting room for a message",
    "publishing a message",
    "taking a message",
    "releasing a message",
    "closing its end",
    "waiting for the other process outside the transport",
    "between two calls",
];

/// Phase, messages sent, messages received, length of the last one, payload of the endpoint.
const FIELDS: usize = 5;

/// A page of numbers, shared with a file.
#[derive(Clone, Copy)]
pub struct Progress(&'static [AtomicU64; FIELDS]);

impl Progress {
    /// Makes the file and maps it for the lifetime of the process.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.set_len(size_of::<[AtomicU64; FIELDS]>() as u64)?;
        Self::map(&file)
    }

    fn map(file: &File) -> Result<Self, Failure> {
        let len = const { std::num::NonZeroUsize::new(size_of::<[AtomicU64; FIELDS]>()).unwrap() };
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping of a whole file, at an address that the kernel chooses.
        let page = unsafe { mmap(None, len, access, MapFlags::MAP_SHARED, file, 0) }
            .map_err(|errno| Failure::new(format!("cannot map the progress file: {errno}")))?;
        // SAFETY: the page contains that many zeroed, aligned numbers and is never unmapped.
        Ok(Self(unsafe { page.cast().as_ref() }))
    }

    /// Records the action that begins now.
    pub fn phase(self, phase: Phase) {
        self.0[0].store(phase as u64, Ordering::Relaxed);
    }

    /// Records the numbers of sent and received messages.
    pub fn counts(self, sent: u32, received: u32) {
        self.0[1].store(sent.into(), Ordering::Relaxed);
        self.0[2].store(received.into(), Ordering::Relaxed);
    }

    /// Records the length of the current message.
    pub fn length(self, len: usize) {
        self.0[3].store(len as u64, Ordering::Relaxed);
    }

    /// Records the payload that an endpoint is opened with.
    pub fn payload(self, payload: usize) {
        self.0[4].store(payload as u64, Ordering::Relaxed);
        self.counts(0, 0);
        self.length(0);
    }
}

/// The last recorded progress of a process, read from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordedProgress([u64; FIELDS]);

impl RecordedProgress {
    /// Reads the file; all zero before the process has made it.
    pub fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_default();
        let mut fields = [0; FIELDS];
        for (field, bytes) in fields.iter_mut().zip(bytes.as_chunks().0) {
            *field = u64::from_ne_bytes(*bytes);
        }
        Self(fields)
    }

    /// The number of messages that it received.
    pub fn received(self) -> u64 {
        self.0[2]
    }
}

impl std::fmt::Display for RecordedProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [phase, sent, received, len, payload] = self.0;
        let phase = PHASES.get(phase as usize).unwrap_or(&"lost");
        write!(
            f,
            "{phase} (payload {payload}, {sent} sent, {received} received, last length {len})"
        )
    }
}
