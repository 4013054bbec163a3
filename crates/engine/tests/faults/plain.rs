//! A transport that does everything right: a pipe for each direction, in which messages keep their
//! bounds. What is wrong with the others is put around it.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    os::fd::{AsFd, OwnedFd},
};

use ipcmark_transport::{Endpoint, Error, MAX_SLEEP, Rendezvous, Settings, Step, Wait};
use nix::{
    fcntl::OFlag,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::pipe2,
};

/// The longest message that a pipe keeps in one piece.
pub const MAX_PAYLOAD: usize = 4096;

/// One end.
pub struct Plain {
    input: File,
    output: File,
    wait: Wait,
    room: Vec<u8>,
    len: usize,
    inbox: Vec<u8>,
    taken: usize,
}

impl Plain {
    /// Opens an end; with `one_queue` both directions are the same pipe, the classic mistake.
    pub fn open(
        settings: &Settings,
        peers: &mut dyn Rendezvous,
        one_queue: bool,
    ) -> Result<Self, Error> {
        let [input, output] = if settings.role.is_leader() {
            let [(down, down_in), (up, up_in)] = [pipe()?, pipe()?];
            if one_queue {
                peers.send(0, b"", &[down.as_fd(), down_in.as_fd()])?;
                [down, down_in]
            } else {
                peers.send(0, b"", &[down.as_fd(), up_in.as_fd()])?;
                [up, down_in]
            }
        } else {
            let (_, fds) = peers.receive(0)?;
            fds.try_into().map_err(|_| Error::new("open", "the pipes", "two were expected"))?
        };
        let (input, output) = (File::from(input), File::from(output));
        let [room, inbox] = [settings.payload, MAX_PAYLOAD].map(|len| vec![0; len]);
        Ok(Self { input, output, wait: settings.wait, room, len: 0, inbox, taken: 0 })
    }

    /// Cuts a byte off the message on loan.
    pub fn cut(&mut self) {
        self.len -= 1;
    }

    /// What to say after an attempt that could not be done: sleeps as the wait asks for.
    fn pause(&self, file: &File, events: PollFlags) -> Step {
        if self.wait == Wait::Block {
            let mut wanted = [PollFd::new(file.as_fd(), events)];
            let most = PollTimeout::try_from(MAX_SLEEP).unwrap_or(PollTimeout::ZERO);
            let _ = poll(&mut wanted, most);
        }
        Step::WouldBlock
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    pipe2(OFlag::O_CLOEXEC | OFlag::O_DIRECT | OFlag::O_NONBLOCK)
        .map_err(|e| Error::os("make", "a pipe", e))
}

impl Endpoint for Plain {
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.len = len;
        Ok(Step::Done)
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.room[..self.len]
    }

    fn publish(&mut self) -> Result<Step, Error> {
        match self.output.write(&self.room[..self.len]) {
            Ok(_) => Ok(Step::Done),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                Ok(self.pause(&self.output, PollFlags::POLLOUT))
            }
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                Err(Error::peer_gone("write to", "the pipe"))
            }
            Err(e) => Err(Error::os("write to", "the pipe", e)),
        }
    }

    fn take(&mut self) -> Result<Step, Error> {
        match self.input.read(&mut self.inbox) {
            Ok(0) => Err(Error::peer_gone("read", "the pipe")),
            Ok(taken) => {
                self.taken = taken;
                Ok(Step::Done)
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                Ok(self.pause(&self.input, PollFlags::POLLIN))
            }
            Err(e) => Err(Error::os("read", "the pipe", e)),
        }
    }

    fn message(&self) -> &[u8] {
        &self.inbox[..self.taken]
    }

    fn release(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
