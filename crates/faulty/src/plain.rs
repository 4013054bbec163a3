//! A correct transport: a pipe for each direction, a length before each message.

use std::{
    fs::File,
    hint::black_box,
    io::{ErrorKind, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
};

use ipcmark_transport::{Endpoint, Error, MAX_SLEEP, Rendezvous, Settings, Step, Wait};
use nix::{
    errno::Errno,
    fcntl::OFlag,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::stat::Mode,
    unistd::{mkfifo, pipe2},
};

/// The bytes before each message that contain its length.
const HEAD: usize = 8;
/// Room beyond the payload, for faults that make messages longer.
const SPARE: usize = 8;

/// The two descriptors of one endpoint.
pub struct PipeEnds {
    /// The source of messages.
    pub input: File,
    /// The destination of messages.
    pub output: File,
    /// True if the pipe keeps each message whole: two ends that read one stream would tear messages apart, and could
    /// both wait for ever for the rest of theirs.
    pub in_packets: bool,
}

/// One endpoint.
pub struct PlainEndpoint {
    ends: PipeEnds,
    wait: Wait,
    /// The longest sleep.
    nap: PollTimeout,
    /// The message on loan or being sent, after its head.
    room: Vec<u8>,
    len: usize,
    written: usize,
    /// The message being received or taken, after its head.
    inbox: Vec<u8>,
    read: usize,
}

/// Gives each endpoint its descriptors: the leader makes the pipes, the follower receives its own. With `one_queue`
/// both directions are the same pipe, a common mistake; a message
/// of more than a page does not fit.
pub fn exchange(
    settings: &Settings,
    peers: &mut dyn Rendezvous,
    one_queue: bool,
) -> Result<PipeEnds, Error> {
    if !settings.role.is_leader() {
        let (_, fds) = peers.receive(0)?;
        let [input, output] = <[OwnedFd; 2]>::try_from(fds)
            .map_err(|_| Error::new("open", "the pipes", "two descriptors were expected"))?;
        return Ok(PipeEnds { input: input.into(), output: output.into(), in_packets: one_queue });
    }
    let copy = |file: &File| file.try_clone().map_err(|error| Error::os("copy", "a pipe", error));
    let (down, down_in) = pipe(one_queue)?;
    let (up, up_in) = if one_queue { (copy(&down)?, copy(&down_in)?) } else { pipe(false)? };
    peers.send(0, b"", &[down.as_fd(), up_in.as_fd()])?;
    Ok(PipeEnds { input: up, output: down_in, in_packets: one_queue })
}

fn pipe(in_packets: bool) -> Result<(File, File), Error> {
    let mode = if in_packets { OFlag::O_DIRECT } else { OFlag::empty() };
    let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | mode)
        .map_err(|errno| Error::os("create", "a pipe", errno))?;
    Ok((read.into(), write.into()))
}

/// Two named pipes, whose names do not depend on the session.
pub fn shared_pipes(settings: &Settings) -> Result<PipeEnds, Error> {
    let root = settings.directory.parent().expect("the session's directory lies in another");
    let fifo = |name: &str| {
        let path = root.join(name);
        match mkfifo(&path, Mode::S_IRWXU) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(Error::os("create", "a named pipe", errno)),
        }
        let flags = OFlag::O_NONBLOCK.bits();
        let file = File::options().read(true).write(true).custom_flags(flags).open(path);
        file.map_err(|error| Error::os("open", "a named pipe", error))
    };
    let (down, up) = (fifo("down")?, fifo("up")?);
    Ok(if settings.role.is_leader() {
        PipeEnds { input: up, output: down, in_packets: false }
    } else {
        PipeEnds { input: down, output: up, in_packets: false }
    })
}

impl PlainEndpoint {
    /// An endpoint over its two descriptors.
    pub fn new(ends: PipeEnds, settings: &Settings) -> Self {
        let touched = || {
            // Without the black box the ones would never be written, and the zeros would be pages not yet allocated.
            let mut buffer = black_box(vec![1; HEAD + settings.payload + SPARE]);
            buffer.fill(0);
            buffer
        };
        let nap = PollTimeout::try_from(MAX_SLEEP).unwrap_or(PollTimeout::ZERO);
        let (room, inbox) = (touched(), touched());
        Self { ends, wait: settings.wait, nap, room, len: 0, written: 0, inbox, read: 0 }
    }

    /// Replaces the buffers by untouched ones.
    pub fn use_fresh_buffers(&mut self) {
        self.room = vec![0; self.room.len()];
        self.inbox = vec![0; self.inbox.len()];
    }

    /// From now on only a message ends a sleep.
    pub fn sleep_forever(&mut self) {
        self.nap = PollTimeout::NONE;
    }

    /// Changes the length of the message on loan.
    pub fn set_len(&mut self, len: usize) {
        self.len = len;
    }

    /// Overwrites the message that was taken.
    pub fn overwrite_taken(&mut self) {
        let len = self.len.min(self.inbox_len());
        self.inbox[HEAD..HEAD + len].copy_from_slice(&self.room[HEAD..HEAD + len]);
    }

    /// True if no byte of the message on loan has been written.
    pub fn nothing_is_written(&self) -> bool {
        self.written == 0
    }

    fn inbox_len(&self) -> usize {
        let head = self.inbox.first_chunk().expect("the buffer holds a head");
        usize::from_ne_bytes(*head)
    }

    /// The number of bytes of the incoming message that the next step needs.
    fn due(&self) -> usize {
        match self.read < HEAD {
            // The rest of a packet is lost.
            true if self.ends.in_packets => self.inbox.len(),
            true => HEAD,
            false => HEAD + self.inbox_len(),
        }
    }

    /// The result of an attempt that could not complete: sleeps first if the wait is `block`.
    fn pause(&self, file: &File, events: PollFlags) -> Step {
        if self.wait == Wait::Block {
            // The next attempt reports an error of the pipe.
            let _ = poll(&mut [PollFd::new(file.as_fd(), events)], self.nap);
        }
        Step::WouldBlock
    }
}

impl Endpoint for PlainEndpoint {
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        (self.len, self.written) = (len, 0);
        Ok(Step::Done)
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.room[HEAD..HEAD + self.len]
    }

    fn publish(&mut self) -> Result<Step, Error> {
        self.room[..HEAD].copy_from_slice(&self.len.to_ne_bytes());
        while self.written < HEAD + self.len {
            match self.ends.output.write(&self.room[self.written..HEAD + self.len]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(self.pause(&self.ends.output, PollFlags::POLLOUT));
                }
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    return Err(Error::peer_gone("write to", "the pipe"));
                }
                Err(error) => return Err(Error::os("write to", "the pipe", error)),
            }
        }
        Ok(Step::Done)
    }

    fn take(&mut self) -> Result<Step, Error> {
        while self.read < self.due() {
            let due = self.due();
            let Some(rest) = self.inbox.get_mut(self.read..due) else {
                return Err(Error::new("read", "the pipe", format!("a length of {due} came")));
            };
            match self.ends.input.read(rest) {
                Ok(0) => return Err(Error::peer_gone("read", "the pipe")),
                Ok(count) => self.read += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(self.pause(&self.ends.input, PollFlags::POLLIN));
                }
                Err(error) => return Err(Error::os("read", "the pipe", error)),
            }
        }
        Ok(Step::Done)
    }

    fn message(&self) -> &[u8] {
        &self.inbox[HEAD..HEAD + self.inbox_len()]
    }

    fn release(&mut self) -> Result<(), Error> {
        self.read = 0;
        Ok(())
    }
}
