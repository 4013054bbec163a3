//! The plain transport with one fault each.

use std::{
    borrow::Cow, fs, fs::File, hint::black_box, os::unix::fs::OpenOptionsExt, path::PathBuf,
    thread, time::Duration,
};

use ipcmark_transport::{
    Capabilities, Definition, Endpoint, Error, MAX_PAYLOAD, Pattern, Rendezvous, Settings, Span,
    Step, Transport, Wait,
};
use nix::{errno::Errno, fcntl::OFlag, sys::stat::Mode, unistd::mkfifo};

use crate::plain::{Plain, Ways, exchange};

/// What is wrong with a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Nothing, and it says that its ends take turns.
    NoneButAlternating,
    /// It loses messages, and says so.
    NoneButUnreliable,
    /// Now and then one bit of a message changes.
    CorruptsAByte,
    /// Now and then a message is not sent.
    LosesAMessage,
    /// Now and then a message is sent twice.
    Duplicates,
    /// Now and then a message is sent after the next one.
    Reorders,
    /// The last byte of a long message is cut off.
    Truncates,
    /// Lengths are rounded up to eight bytes.
    RoundsUp,
    /// Both directions are one queue.
    OneQueue,
    /// All sessions share their queues.
    SharedBySessions,
    /// What does not go into a full queue is thrown away.
    DropsWhenFull,
    /// Publishing writes over the message that is taken.
    OverwritesTheTaken,
    /// A full queue is an error.
    FailsWhenFull,
    /// Nothing ever arrives.
    NeverDelivers,
    /// A file appears in `/dev/shm` when an end opens, and stays.
    LeavesAFile,
    /// A file is in `/dev/shm` as long as an end is open.
    NeedsAFile,
    /// A descriptor stays open.
    LeaksADescriptor,
    /// A thread goes on.
    LeaksAThread,
    /// A mapping stays.
    LeaksMemory,
    /// Each message allocates.
    Allocates,
    /// The buffers are touched for the first time while messages flow.
    UntouchedBuffers,
    /// Something is printed.
    Prints,
    /// It says that it has loans, and copies.
    ClaimsLoans,
    /// It says that it is unreliable, and sleeps for what never comes.
    ClaimsToWake,
    /// Its name is not one.
    Misnamed,
    /// Dropping an end whose peer died takes for ever.
    HangsInDrop,
    /// A process of it crashes.
    Aborts,
}

/// One message in so many is treated badly.
const EVERY: u32 = 15;

/// A transport with a fault.
pub struct Faulty {
    fault: Fault,
    definition: Definition,
}

/// One end of it.
pub struct FaultyEnd {
    plain: Plain,
    fault: Fault,
    /// Messages published so far.
    count: u32,
    /// The message that is held back, where messages are reordered.
    held: Option<Vec<u8>>,
    file: Option<PathBuf>,
}

impl Faulty {
    /// A transport with this fault and this name.
    pub fn new(fault: Fault, name: &'static str) -> Self {
        let waits: &[Wait] = match fault {
            Fault::NoneButUnreliable => &[Wait::Spin],
            _ => &[Wait::Spin, Wait::Block],
        };
        let capabilities = Capabilities {
            waits: Cow::Borrowed(waits),
            patterns: Cow::Borrowed(&[Pattern::Latency]),
            max_payload: MAX_PAYLOAD,
            loans: fault == Fault::ClaimsLoans,
            max_subscribers: 1,
            crosses_hosts: false,
            reliable: !matches!(fault, Fault::NoneButUnreliable | Fault::ClaimsToWake),
            alternating: fault == Fault::NoneButAlternating,
            span: Span::Process,
            exclusive: false,
        };
        let family = if fault == Fault::Misnamed { "The_OS" } else { "os" };
        let definition = Definition {
            name: name.into(),
            family: family.into(),
            summary: "pipes, with a fault".into(),
            capabilities,
        };
        Self { fault, definition }
    }

    fn ways(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Ways, Error> {
        match self.fault {
            Fault::SharedBySessions => shared_ways(settings),
            fault => exchange(settings, peers, fault == Fault::OneQueue),
        }
    }

    fn file(&self, settings: &Settings) -> Result<Option<PathBuf>, Error> {
        if !matches!(self.fault, Fault::LeavesAFile | Fault::NeedsAFile) {
            return Ok(None);
        }
        let role = if settings.role.is_leader() { "leader" } else { "follower" };
        let path = PathBuf::from(format!("/dev/shm/{}-{role}", settings.name));
        File::create(&path).map_err(|error| Error::os("create", "a file", error))?;
        Ok(Some(path))
    }
}

/// Two pipes with names that do not depend on the session.
fn shared_ways(settings: &Settings) -> Result<Ways, Error> {
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
        Ways { input: up, output: down }
    } else {
        Ways { input: down, output: up }
    })
}

impl Transport for Faulty {
    type Endpoint = FaultyEnd;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn open(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<FaultyEnd, Error> {
        let file = self.file(settings)?;
        let mut plain = Plain::new(self.ways(settings, peers)?, settings)?;
        match self.fault {
            Fault::UntouchedBuffers => plain.use_fresh_buffers(),
            Fault::LeaksADescriptor => std::mem::forget(File::open("/dev/null")),
            Fault::LeaksAThread => drop(thread::spawn(|| thread::sleep(Duration::from_secs(9)))),
            Fault::LeaksMemory => std::mem::forget(black_box(vec![1_u8; 4 << 20])),
            Fault::Prints => eprintln!("opened"),
            _ => {}
        }
        Ok(FaultyEnd { plain, fault: self.fault, count: 0, held: None, file })
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        // What is left in a test that is about something else would be left for good.
        if self.fault == Fault::LeavesAFile {
            for role in ["leader", "follower"] {
                let _ = fs::remove_file(format!("/dev/shm/{name}-{role}"));
            }
        }
        Ok(())
    }
}

impl FaultyEnd {
    fn is_its_turn(&self) -> bool {
        self.count % EVERY == EVERY - 1
    }

    /// Publishes however long it takes, as a message of its own.
    fn publish_again(&mut self, message: &[u8]) -> Result<(), Error> {
        let _ = self.plain.loan(message.len())?;
        self.plain.room().copy_from_slice(message);
        while self.plain.publish()? == Step::WouldBlock {
            thread::yield_now();
        }
        Ok(())
    }

    fn spoil(&mut self) {
        let len = self.plain.len();
        match self.fault {
            Fault::CorruptsAByte if self.is_its_turn() => self.plain.room()[len / 2] ^= 4,
            Fault::Truncates if len > 100 => self.plain.set_len(len - 1),
            Fault::RoundsUp => self.plain.set_len(len.next_multiple_of(8)),
            Fault::OverwritesTheTaken => self.plain.overwrite_taken(),
            Fault::Allocates => drop(black_box(vec![0_u8; len])),
            Fault::Aborts if self.is_its_turn() => std::process::abort(),
            _ => {}
        }
    }

    /// Publishes what is on loan, or pretends to.
    fn publish_badly(&mut self) -> Result<Step, Error> {
        let lost = matches!(self.fault, Fault::LosesAMessage | Fault::NoneButUnreliable);
        if lost && self.is_its_turn() {
            return Ok(Step::Done);
        }
        if self.fault == Fault::Reorders && self.is_its_turn() {
            self.held = Some(self.plain.room().to_vec());
            return Ok(Step::Done);
        }
        let step = self.plain.publish()?;
        match (step, self.fault) {
            (Step::WouldBlock, Fault::DropsWhenFull) if self.plain.nothing_is_written() => {
                Ok(Step::Done)
            }
            (Step::WouldBlock, Fault::FailsWhenFull) => {
                Err(Error::new("write to", "the pipe", "it is full"))
            }
            _ => Ok(step),
        }
    }

    fn follow_up(&mut self) -> Result<(), Error> {
        if let Some(held) = self.held.take_if(|_| self.count % EVERY != EVERY - 1) {
            self.publish_again(&held)?;
        }
        if self.fault == Fault::Duplicates && self.is_its_turn() {
            let message = self.plain.room().to_vec();
            self.publish_again(&message)?;
        }
        Ok(())
    }
}

impl Endpoint for FaultyEnd {
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.plain.loan(len)
    }

    fn room(&mut self) -> &mut [u8] {
        self.plain.room()
    }

    fn publish(&mut self) -> Result<Step, Error> {
        if self.plain.nothing_is_written() {
            self.spoil();
        }
        let step = self.publish_badly()?;
        if step == Step::Done {
            self.follow_up()?;
            self.count += 1;
        }
        Ok(step)
    }

    fn take(&mut self) -> Result<Step, Error> {
        match self.fault {
            Fault::NeverDelivers => Ok(Step::WouldBlock),
            _ => self.plain.take(),
        }
    }

    fn message(&self) -> &[u8] {
        self.plain.message()
    }

    fn release(&mut self) -> Result<(), Error> {
        self.plain.release()
    }
}

impl Drop for FaultyEnd {
    fn drop(&mut self) {
        match (self.fault, self.file.take()) {
            (Fault::NeedsAFile, Some(file)) => drop(fs::remove_file(file)),
            (Fault::HangsInDrop, _) if self.plain.take().is_err() => {
                thread::sleep(Duration::from_secs(1000));
            }
            _ => {}
        }
    }
}
