//! `fifo`: two named pipes.
//!
//! - Mechanism: as `pipe`, but the ends find each other by a name in the file system.
//! - Kernel objects: two FIFOs in the session's directory, removed as soon as both ends are open.
//! - Copies per message: two, into the pipe and out of it.
//! - Spin: the descriptors do not block; an empty or full FIFO returns EAGAIN. Block: `read` and
//!   `write` sleep.
//! - Limits: those of `pipe`, handled in the same way.

use std::{
    borrow::Cow,
    fs,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use ipcmark_transport::{
    Capabilities, Carrier, DeclaredCarrier, Definition, Error, Rendezvous, Settings, Transport,
};
use nix::{
    fcntl::{self, OFlag},
    sys::stat::Mode,
    unistd,
};

use crate::{
    descriptors::{self, Descriptors},
    frame::Framed,
};

const OBJECT: &str = "the FIFO";

/// The transport.
pub struct Fifo;

impl Transport for Fifo {
    const CYCLES: bool = true;
    type Endpoint = Framed<Descriptors>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error> {
        let link = connect(settings, peers)?;
        for fd in [&link.read, &link.write] {
            descriptors::fit_capacity(fd, settings);
            descriptors::set_wait(fd.as_fd(), settings.wait, OBJECT)?;
        }
        Framed::new(link, OBJECT, settings)
    }
}

/// Opens both FIFOs without ever sleeping in `open`: first the reading ends, which open without a writer,
/// then the writing ends, which by then have a reader. The two ends meet between the steps.
fn connect(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Descriptors, Error> {
    let [to_follower, to_leader] =
        ["0", "1"].map(|n| settings.directory.join(format!("{}-{n}", settings.name)));
    let leader = settings.role.is_leader();
    let _names =
        if leader { vec![Name::make(&to_follower)?, Name::make(&to_leader)?] } else { vec![] };
    let (inward, outward) =
        if leader { (to_leader, to_follower) } else { (to_follower, to_leader) };
    peers.meet()?;
    let read = open(&inward, OFlag::O_RDONLY)?;
    peers.meet()?;
    let write = open(&outward, OFlag::O_WRONLY)?;
    peers.meet()?;
    Ok(Descriptors { read, write })
}

fn open(path: &Path, direction: OFlag) -> Result<OwnedFd, Error> {
    fcntl::open(path, direction | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC, Mode::empty())
        .map_err(|errno| Error::os("open", path.display().to_string(), errno))
}

/// The name of a FIFO, removed on drop.
struct Name(PathBuf);

impl Name {
    fn make(path: &Path) -> Result<Self, Error> {
        unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)
            .map_err(|errno| Error::os("create", path.display().to_string(), errno))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("fifo"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("two named pipes; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&descriptors::OPTIONS),
    capabilities: Capabilities::usual(),
};

/// The entry of `fifo` in the list of transports.
pub const TRANSPORT: Fifo = Fifo;

#[cfg(test)]
mod tests {
    crate::testing::queue::reliable_queue!(super::TRANSPORT);
}
