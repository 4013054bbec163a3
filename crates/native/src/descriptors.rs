//! Two descriptors, one for each direction: `pipe` and `fifo`.

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ipcmark_transport::{BUFFERS, Error, OptionSpec, Rendezvous, Settings, Wait};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    unistd,
};

use crate::{
    frame::{HEAD, Link},
    limits,
};

/// The default capacity of a pipe in bytes.
const DEFAULT_CAPACITY: usize = 64 << 10;

/// The two descriptors of one end.
///
/// Writing to a pipe without a reader raises SIGPIPE, and `write` has no flag against it: a process that opens
/// an end ignores the signal, as every Rust program does from its start.
pub struct Descriptors {
    /// The descriptor that this end reads from.
    pub read: OwnedFd,
    /// The descriptor that this end writes to.
    pub write: OwnedFd,
}

impl Link for Descriptors {
    #[inline]
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        unistd::write(&self.write, &frame[from..])
    }

    #[inline]
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        unistd::read(&self.read, &mut frame[from..])
    }

    fn capacity(&self) -> Option<usize> {
        let bytes = fcntl(&self.write, FcntlArg::F_GETPIPE_SZ).ok()?;
        usize::try_from(bytes).ok().filter(|bytes| *bytes > 0)
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let entry = |bytes| ("capacity".to_owned(), format!("{bytes} bytes"));
        self.capacity().map(entry).into_iter().collect()
    }
}

/// Makes calls on a descriptor return at once (`spin`) or sleep (`block`).
pub fn set_wait(fd: BorrowedFd<'_>, wait: Wait, object: &str) -> Result<(), Error> {
    let change = || {
        let mut flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
        flags.set(OFlag::O_NONBLOCK, wait == Wait::Spin);
        fcntl(fd, FcntlArg::F_SETFL(flags))
    };
    change().map(drop).map_err(|errno| Error::os("set the flags of", object, errno))
}

/// The capacity of a pipe.
pub const CAPACITY: OptionSpec = OptionSpec::new(
    "capacity",
    "4k..64M",
    "a whole message, up to fs.pipe-max-size",
    "bytes that each pipe holds (F_SETPIPE_SZ)",
);

/// The options.
pub static OPTIONS: [OptionSpec; 2] = [CAPACITY, BUFFERS];

/// Enlarges a pipe to hold a whole frame, if the system allows it: beyond `fs.pipe-max-size` it takes
/// CAP_SYS_RESOURCE. A frame that does not fit passes in several parts, so a refusal is no error.
pub fn fit_capacity(pipe: impl AsFd, settings: &Settings) {
    let wanted = settings.payload + HEAD;
    if let Some(bytes) = settings.number("capacity") {
        let _ = fcntl(pipe.as_fd(), FcntlArg::F_SETPIPE_SZ(bytes as i32));
    } else if wanted > DEFAULT_CAPACITY {
        let most = limits::read("fs/pipe-max-size").unwrap_or(DEFAULT_CAPACITY);
        let ask = |bytes: usize| fcntl(pipe.as_fd(), FcntlArg::F_SETPIPE_SZ(bytes as i32));
        // The frame of a power-of-two payload is larger than that power: the kernel rounds it up to the next.
        let _ = ask(wanted).or_else(|_| ask(wanted.min(most)));
    }
}

/// Receives exactly `N` descriptors from the leader.
pub fn receive<const N: usize>(
    peers: &mut dyn Rendezvous,
    object: &str,
) -> Result<[OwnedFd; N], Error> {
    let (_, fds) = peers.receive(0)?;
    fds.try_into().map_err(|fds: Vec<OwnedFd>| {
        Error::new("receive", object, format!("{} descriptors came instead of {N}", fds.len()))
    })
}

#[cfg(test)]
mod tests {
    use ipcmark_transport::{Endpoint, Transport};
    use nix::unistd::pipe2;

    use super::*;
    use crate::{pipe, testing};

    /// Regression: a sleeping end, whose one call waits within the kernel until the rest fits, said one part.
    #[test]
    fn a_message_beyond_the_capacity_has_parts_in_sleeping_ends_too() {
        for wait in [Wait::Spin, Wait::Block] {
            let mut settings = testing::settings(wait, 8192);
            settings.options.insert("capacity".into(), "4096".into());
            let parts = |end: <pipe::Pipe as Transport>::Endpoint| {
                assert!(end.parts_per_message() >= Some(3.0), "{wait:?}");
            };
            testing::with_ends(&pipe::TRANSPORT, &settings, parts, drop);
        }
    }

    #[test]
    fn a_mebibyte_and_its_frame_fit_into_a_pipe_if_it_may_be_enlarged() {
        let (_read, write) = pipe2(OFlag::O_CLOEXEC).unwrap();
        let wanted = (1 << 20) + HEAD;
        let may = fcntl(&write, FcntlArg::F_SETPIPE_SZ(wanted as i32)).is_ok();
        let (_read, write) = pipe2(OFlag::O_CLOEXEC).unwrap();
        fit_capacity(&write, &crate::testing::settings(Wait::Spin, 1 << 20));
        let capacity = fcntl(&write, FcntlArg::F_GETPIPE_SZ).unwrap() as usize;
        let most = limits::read("fs/pipe-max-size").unwrap_or(DEFAULT_CAPACITY);
        assert!(capacity >= if may { wanted } else { wanted.min(most) }, "{capacity}");
    }
}
