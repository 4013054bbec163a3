//! The plain transport with an added fault.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::{self, File},
    hint::black_box,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use ipcmark_transport::{
    Availability, Capabilities, DeclaredCarrier, Definition, Endpoint, Error, Leftover, Rendezvous,
    Role, SessionName, Settings, Step, Transport,
};

use crate::{
    act::queue,
    fault::{Act, Fault, MessageFault, Moment, is_flagged},
    plain::{PipeEnds, PlainEndpoint, exchange, shared_pipes},
};

/// A transport with a fault.
pub struct Faulty {
    fault: Fault,
    definition: Definition,
}

/// One endpoint of it.
pub struct FaultyEndpoint {
    plain: PlainEndpoint,
    fault: Fault,
    role: Role,
    published: u32,
    taken: u32,
    /// The number of messages, in either direction, with the flag that its fault waits for.
    flagged: u32,
    /// True if the message on loan has been mistreated.
    is_applied: bool,
    /// The message to send after the next one.
    held: Option<Vec<u8>>,
    /// The time at which the last look for a message began.
    looked: Instant,
    /// The session's name.
    name: String,
    /// The session's directory.
    directory: PathBuf,
}

impl Faulty {
    /// A transport of this name with this fault. Those of the family `os` are checked as our own code.
    pub fn new(name: &'static str, family: &'static str, fault: Fault) -> Self {
        let capabilities = Capabilities {
            loans: fault == Fault::ClaimsLoans,
            reliable: !matches!(fault, Fault::Unreliable(..) | Fault::ClaimsToWake),
            alternating: fault == Fault::TakesTurns,
            ..Capabilities::usual()
        };
        let family = if fault == Fault::Misnamed { "The_OS" } else { family };
        let definition = Definition {
            name: name.into(),
            family: family.into(),
            summary: "pipes, with a fault".into(),
            carrier: DeclaredCarrier::Unstated,
            options: Cow::Borrowed(&[]),
            capabilities,
        };
        Self { fault, definition }
    }

    fn ends(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<PipeEnds, Error> {
        match self.fault {
            Fault::SharedBySessions => shared_pipes(settings),
            fault => exchange(settings, peers, fault == Fault::OneQueue),
        }
    }
}

/// The file of an endpoint that has one, under a name that does not begin with the session's.
fn file(name: &str, role: Role) -> PathBuf {
    format!("/dev/shm/faulty-{name}-{}", if role.is_leader() { "leader" } else { "follower" })
        .into()
}

impl Transport for Faulty {
    type Endpoint = FaultyEndpoint;
    const CAN_LOSE: bool = true;
    const FANS_OUT: bool = true;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn probe(&self) -> Availability {
        match self.fault {
            Fault::Absent => Availability::Unavailable {
                reason: "it is not there on purpose".into(),
                install: None,
            },
            _ => Availability::Available { version: None },
        }
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<FaultyEndpoint, Error> {
        let (fault, role) = (self.fault, settings.role);
        let (name, directory) = (settings.name.to_string(), settings.directory.clone());
        if let Fault::Process(side, Moment::Open, act) = fault
            && side.has(role)
        {
            act.perform(&name, &directory)?;
        }
        if matches!(fault, Fault::LeavesAFile | Fault::NeedsAFile) {
            File::create(file(&name, role)).map_err(|e| Error::os("create", "a file", e))?;
        }
        if fault == Fault::NeverConnects {
            let cause = format!("it did not come {}", settings.deadline());
            return Err(Error::new("find", "the other end", cause));
        }
        let mut plain = PlainEndpoint::new(self.ends(settings, peers)?, settings);
        match fault {
            Fault::UntouchedBuffers => plain.use_fresh_buffers(),
            Fault::ClaimsToWake => plain.sleep_forever(),
            _ => {}
        }
        Ok(FaultyEndpoint {
            plain,
            fault,
            role,
            published: 0,
            taken: 0,
            flagged: 0,
            is_applied: false,
            held: None,
            looked: Instant::now(),
            name,
            directory,
        })
    }

    fn leftovers(&self, sessions: &[SessionName]) -> Result<Vec<Leftover>, Error> {
        let left_by = |name| {
            // Named for removal: otherwise tests of something else would leave the files for good.
            let roles = [Role::Leader, Role::Follower(0)].into_iter();
            let files = roles.filter(|_| self.fault == Fault::LeavesAFile);
            let files = files.map(move |role| Leftover::File(file(name, role)));
            files.chain([Leftover::MessageQueue(queue(name))])
        };
        Ok(sessions.iter().flat_map(|name| left_by(name)).collect())
    }
}

impl FaultyEndpoint {
    /// The mistreatment of the message on loan, if any.
    fn message_fault(&mut self) -> Option<MessageFault> {
        let (Fault::Message(side, message_fault, which)
        | Fault::Unreliable(side, message_fault, which)) = self.fault
        else {
            return None;
        };
        let hit = side.has(self.role) && which.is(self.published + 1, self.plain.room());
        hit.then_some(message_fault)
    }

    /// Mistreats the message on loan, once.
    fn apply(&mut self, message_fault: MessageFault) {
        if std::mem::replace(&mut self.is_applied, true) {
            return;
        }
        let len = self.plain.room().len();
        match message_fault {
            MessageFault::Corrupted => {
                *self.plain.room().last_mut().expect("it is not empty") ^= 0x40
            }
            MessageFault::Cut => self.plain.set_len(len - 1),
            MessageFault::RoundedUp => self.plain.set_len(len.next_multiple_of(8)),
            MessageFault::Late => thread::sleep(Duration::from_millis(250)),
            MessageFault::Overtaken => self.held = Some(self.plain.room().to_vec()),
            MessageFault::Overwriting => self.plain.overwrite_taken(),
            MessageFault::Allocating => drop(black_box(vec![0_u8; len])),
            MessageFault::Lost | MessageFault::Doubled => {}
        }
    }

    /// Publishes the message on loan, or performs the fault of a full queue.
    fn publish_plainly(&mut self) -> Result<Step, Error> {
        match (self.plain.publish()?, self.fault) {
            (Step::WouldBlock, Fault::DropsWhenFull) if self.plain.nothing_is_written() => {
                Ok(Step::Done)
            }
            (Step::WouldBlock, Fault::FailsWhenFull) => {
                Err(Error::new("write to", "the pipe", "it is full"))
            }
            (step, _) => Ok(step),
        }
    }

    /// Takes a message, or drops it if the look before began long ago. A look can sleep, and so be the one during
    /// which the process is stopped: its end says nothing.
    fn take_in_time(&mut self) -> Result<Step, Error> {
        let begin = Instant::now();
        let mut step = self.plain.take()?;
        if step == Step::Done && self.looked.elapsed() > Duration::from_millis(100) {
            self.plain.release()?;
            step = Step::WouldBlock;
        }
        self.looked = begin;
        Ok(step)
    }

    /// Publishes an additional message, without a time limit.
    fn publish_more(&mut self, message: &[u8]) -> Result<(), Error> {
        let _ = self.plain.loan(message.len())?;
        self.plain.room().copy_from_slice(message);
        while self.plain.publish()? == Step::WouldBlock {
            thread::yield_now();
        }
        Ok(())
    }

    fn act_at(&self, wanted: impl Fn(Moment) -> bool) -> Result<(), Error> {
        match self.fault {
            Fault::Process(side, moment, act) if side.has(self.role) && wanted(moment) => {
                act.perform(&self.name, &self.directory)
            }
            _ => Ok(()),
        }
    }

    /// True if this endpoint sends the messages with flags.
    fn leads(&self) -> bool {
        self.role.is_leader()
    }

    /// True if the previous message was the one that the fault waits for.
    fn is_after(&self, moment: Moment) -> bool {
        matches!(moment, Moment::After(_, count) if count == self.flagged)
    }

    /// Counts a message if it has the flag that the fault waits for.
    fn count(&mut self, message: fn(&mut PlainEndpoint) -> &[u8]) {
        if let Fault::Process(_, Moment::After(flag, _) | Moment::Asleep(flag, _), _) = self.fault {
            self.flagged += u32::from(is_flagged(message(&mut self.plain), flag));
        }
    }

    /// An exchange is complete: if it was that of the message that the fault waits for, acts once this thread sleeps.
    fn end_exchange(&mut self) {
        match self.fault {
            Fault::Process(side, Moment::Asleep(_, count), act)
                if side.has(self.role) && self.flagged == count =>
            {
                // Only once.
                self.flagged += 1;
                perform_asleep(act, self.name.clone(), self.directory.clone());
            }
            _ => {}
        }
    }
}

impl Endpoint for FaultyEndpoint {
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.is_applied = false;
        self.plain.loan(len)
    }

    fn room(&mut self) -> &mut [u8] {
        self.plain.room()
    }

    fn publish(&mut self) -> Result<Step, Error> {
        let number = self.published + 1;
        let is_after = |moment| self.leads() && self.is_after(moment);
        self.act_at(|moment| moment == Moment::Publish(number) || is_after(moment))?;
        let message_fault = self.message_fault();
        message_fault.iter().for_each(|message_fault| self.apply(*message_fault));
        let step = match message_fault {
            Some(MessageFault::Lost | MessageFault::Overtaken) => Step::Done,
            _ => self.publish_plainly()?,
        };
        if step == Step::WouldBlock {
            return Ok(step);
        }
        self.published += 1;
        if let Some(MessageFault::Doubled) = message_fault {
            let message = self.plain.room().to_vec();
            self.publish_more(&message)?;
        }
        if message_fault != Some(MessageFault::Overtaken)
            && let Some(held) = self.held.take()
        {
            self.publish_more(&held)?;
        }
        match self.leads() {
            true => self.count(|plain| plain.room()),
            false => self.end_exchange(),
        }
        Ok(step)
    }

    fn take(&mut self) -> Result<Step, Error> {
        let number = self.taken + 1;
        let is_after = |moment| !self.leads() && self.is_after(moment);
        self.act_at(|moment| moment == Moment::Take(number) || is_after(moment))?;
        let step = match self.fault {
            Fault::NeverDelivers => Step::WouldBlock,
            Fault::DropsWhenStopped => self.take_in_time()?,
            _ => self.plain.take()?,
        };
        if step == Step::Done {
            self.taken += 1;
            if !self.leads() {
                self.count(|plain| plain.message());
            }
        }
        Ok(step)
    }

    fn message(&self) -> &[u8] {
        self.plain.message()
    }

    fn release(&mut self) -> Result<(), Error> {
        if self.leads() {
            self.end_exchange();
        }
        self.plain.release()
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("fault".into(), format!("{:?}", self.fault))])
    }
}

/// Acts as soon as this thread sleeps.
fn perform_asleep(act: Act, name: String, directory: PathBuf) {
    let path = format!("/proc/self/task/{}/stat", nix::unistd::gettid());
    thread::spawn(move || {
        let sleeps = || {
            let stat = fs::read_to_string(&path).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
        };
        while !sleeps() {
            thread::yield_now();
        }
        // Nobody could receive an error.
        let _ = act.perform(&name, &directory);
    });
}

impl Drop for FaultyEndpoint {
    fn drop(&mut self) {
        if self.fault == Fault::NeedsAFile {
            let _ = fs::remove_file(file(&self.name, self.role));
        }
        let waits = matches!(self.fault, Fault::Process(_, Moment::DropAlone, _));
        let is_alone = waits && self.plain.take().is_err();
        // An error cannot be reported from here.
        let _ =
            self.act_at(|moment| moment == Moment::Drop || is_alone && moment == Moment::DropAlone);
    }
}
