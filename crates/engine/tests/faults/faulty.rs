//! The plain transport with a fault around it.

use std::{
    borrow::Cow, collections::BTreeMap, fs, io::Write, path::PathBuf, process, thread,
    time::Duration,
};

use ipcmark_transport::{
    Capabilities, Definition, Endpoint, Error, Pattern, Rendezvous, Role, Settings, Span, Step,
    Transport, Wait,
};
use nix::{
    errno::Errno,
    mqueue::{MQ_OFlag, MqAttr, mq_open, mq_unlink},
    sys::stat::Mode,
};

use crate::{
    fault::{Act, Fault, Ill, Moment},
    plain::{MAX_PAYLOAD, Plain},
};

/// A transport with a fault.
pub struct Faulty {
    fault: Fault,
    definition: Definition,
}

/// One end of it.
pub struct FaultyEnd {
    plain: Plain,
    fault: Fault,
    role: Role,
    published: u32,
    taken: u32,
    /// The message on loan has had its ill.
    treated: bool,
    /// The message that the next one overtakes.
    held: Option<Vec<u8>>,
    name: String,
    directory: PathBuf,
}

impl Faulty {
    /// A transport of this name with this fault.
    pub fn new(name: &'static str, fault: Fault) -> Self {
        let capabilities = Capabilities {
            waits: Cow::Borrowed(&[Wait::Spin, Wait::Block]),
            patterns: Cow::Borrowed(&[Pattern::Latency]),
            max_payload: MAX_PAYLOAD,
            loans: false,
            max_subscribers: 1,
            crosses_hosts: false,
            reliable: !matches!(fault, Fault::Unreliable(..)),
            alternating: false,
            span: Span::Process,
            exclusive: false,
        };
        let definition = Definition {
            name: name.into(),
            family: "faulty".into(),
            summary: "two pipes and a fault".into(),
            capabilities,
        };
        Self { fault, definition }
    }
}

impl Transport for Faulty {
    type Endpoint = FaultyEnd;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn open(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<FaultyEnd, Error> {
        if let Fault::Process(side, Moment::Open, act) = self.fault
            && side.is(settings.role)
        {
            act.perform(&settings.name, &settings.directory)?;
        }
        Ok(FaultyEnd {
            plain: Plain::open(settings, peers, matches!(self.fault, Fault::OneQueue))?,
            fault: self.fault,
            role: settings.role,
            published: 0,
            taken: 0,
            treated: false,
            held: None,
            name: settings.name.to_string(),
            directory: settings.directory.clone(),
        })
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        match mq_unlink(queue(name).as_str()) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(e) => Err(Error::os("remove", "the queue", e)),
        }
    }
}

impl FaultyEnd {
    /// What happens to the message on loan.
    fn ill(&mut self) -> Option<Ill> {
        let (Fault::Message(side, ill, which) | Fault::Unreliable(side, ill, which)) = self.fault
        else {
            return None;
        };
        let hit = side.is(self.role) && which.is(self.published + 1, self.plain.room());
        hit.then_some(ill)
    }

    /// Changes the message on loan, once.
    fn treat(&mut self, ill: Ill) {
        if std::mem::replace(&mut self.treated, true) {
            return;
        }
        match ill {
            Ill::Corrupted => *self.plain.room().last_mut().expect("it is not empty") ^= 0x40,
            Ill::Cut => self.plain.cut(),
            Ill::Late => thread::sleep(Duration::from_millis(250)),
            Ill::Overtaken => self.held = Some(self.plain.room().to_vec()),
            Ill::Lost | Ill::Doubled => {}
        }
    }

    /// Publishes a message that nobody asked for.
    fn publish_more(&mut self, message: &[u8]) -> Result<(), Error> {
        while self.plain.loan(message.len())? == Step::WouldBlock {}
        self.plain.room().copy_from_slice(message);
        while self.plain.publish()? == Step::WouldBlock {}
        Ok(())
    }

    fn act_at(&self, wanted: impl Fn(Moment) -> bool) -> Result<(), Error> {
        match self.fault {
            Fault::Process(side, moment, act) if side.is(self.role) && wanted(moment) => {
                act.perform(&self.name, &self.directory)
            }
            _ => Ok(()),
        }
    }
}

impl Endpoint for FaultyEnd {
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.treated = false;
        self.plain.loan(len)
    }

    fn room(&mut self) -> &mut [u8] {
        self.plain.room()
    }

    fn publish(&mut self) -> Result<Step, Error> {
        let ill = self.ill();
        ill.iter().for_each(|ill| self.treat(*ill));
        let step = match ill {
            Some(Ill::Lost | Ill::Overtaken) => Step::Done,
            _ => self.plain.publish()?,
        };
        if step == Step::WouldBlock {
            return Ok(step);
        }
        self.published += 1;
        if let Some(Ill::Doubled) = ill {
            let message = self.plain.room().to_vec();
            self.publish_more(&message)?;
        }
        if !matches!(ill, Some(Ill::Overtaken))
            && let Some(held) = self.held.take()
        {
            self.publish_more(&held)?;
        }
        Ok(step)
    }

    fn take(&mut self) -> Result<Step, Error> {
        let number = self.taken + 1;
        self.act_at(|moment| matches!(moment, Moment::Take(at) if at == number))?;
        let step = self.plain.take()?;
        self.taken += u32::from(step == Step::Done);
        Ok(step)
    }

    fn message(&self) -> &[u8] {
        self.plain.message()
    }

    fn release(&mut self) -> Result<(), Error> {
        self.plain.release()
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("fault".into(), format!("{:?}", self.fault))])
    }
}

impl Drop for FaultyEnd {
    fn drop(&mut self) {
        // There is no way to report an error from here.
        let _ = self.act_at(|moment| matches!(moment, Moment::Drop));
    }
}

impl Act {
    /// Does it, in the process that calls.
    fn perform(self, name: &str, directory: &std::path::Path) -> Result<(), Error> {
        match self {
            Act::Fail => return Err(Error::new("wind", "the clockwork", "the key is missing")),
            Act::Panic => panic!("the clockwork burst"),
            Act::Exit => process::exit(3),
            Act::Signal(signal) => send_self(signal),
            Act::Hang => hang(),
            Act::Chatter => {
                (0..100_000).for_each(chatter);
                eprintln!("the last line");
                process::exit(4)
            }
            Act::ChatterOn => drop(thread::spawn(|| {
                loop {
                    chatter(1);
                }
            })),
            Act::ChatterAndHang => loop {
                let _ = std::io::stderr().write_all(&[b'x'; 1 << 16]);
            },
            Act::Start => {
                let started = process::Command::new("sleep").arg("1000").spawn();
                started.map_err(|e| Error::os("start", "a process", e))?;
            }
            Act::Litter => {
                litter(name, directory).map_err(|e| Error::os("make", "names", e))?;
                send_self(libc::SIGKILL);
            }
        }
        Ok(())
    }
}

fn chatter(number: u64) {
    // The reader may be gone: that is no reason to panic.
    let _ = writeln!(std::io::stdout(), "line {number} to standard output");
    let _ = writeln!(std::io::stderr(), "line {number} to standard error");
}

fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}

fn send_self(signal: i32) {
    // SAFETY: puts the default action back, where the standard library has one of its own, and
    // sends a signal to this very process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Makes a file, a queue and a directory under names that start with the session's.
fn litter(name: &str, directory: &std::path::Path) -> std::io::Result<()> {
    fs::write(format!("/dev/shm/{name}-left"), name)?;
    fs::create_dir(format!("/tmp/{name}-left"))?;
    fs::write(format!("/tmp/{name}-left/inner"), name)?;
    fs::write(directory.join("left"), name)?;
    let attributes = MqAttr::new(0, 1, 16, 0);
    let flags = MQ_OFlag::O_CREAT | MQ_OFlag::O_RDWR;
    mq_open(queue(name).as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR, Some(&attributes))?;
    Ok(())
}

/// The queue that a session of this name leaves.
pub fn queue(name: &str) -> String {
    format!("/{name}-left")
}
