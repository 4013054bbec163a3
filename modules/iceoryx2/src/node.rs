//! The node and the services of a session, isolated from all others on the machine.

use std::fmt::Display;

use iceoryx2::{
    prelude::*,
    service::port_factory::{event, publish_subscribe},
};
use ipcmark_transport::{Error, OptionSpec, Settings};

use crate::traces;

/// The most followers of a leader.
pub const MOST_FOLLOWERS: u32 = 64;

/// The memory limit of a publisher's samples.
const SAMPLE_BYTES: usize = 8 << 20;

/// The minimum and maximum number of a publisher's samples.
const LEAST: usize = 3;
const MOST: usize = 64;

/// The options that users can set.
pub static OPTIONS: [OptionSpec; 1] = [OptionSpec::new(
    "depth",
    "3..1024",
    "what 8 MiB hold, from 3 to 64",
    "messages that a queue holds, and samples that a publisher has",
)];

/// The number of samples of a publisher, and so of unread messages.
pub fn samples(settings: &Settings) -> usize {
    let standard = (SAMPLE_BYTES / settings.payload).clamp(LEAST, MOST);
    settings.number("depth").map_or(standard, |depth| depth as usize)
}

/// The shared memory for the publishers of all endpoints, and a little for the library.
pub fn bytes(settings: &Settings) -> usize {
    let publishers = settings.subscribers as usize + 1;
    publishers * samples(settings) * (settings.payload + 256) + (publishers << 21)
}

/// Converts an error of the library to one of ours.
pub fn failed<E: Display>(operation: &'static str, object: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::new(operation, object, error.to_string())
}

pub type Topic = publish_subscribe::PortFactory<ipc::Service, [u8], ()>;
pub type Events = event::PortFactory<ipc::Service>;

/// A node with the services of both directions, from the side of one endpoint.
pub struct ServiceNode {
    node: Node<ipc::Service>,
    leads: bool,
    followers: usize,
    samples: usize,
}

impl ServiceNode {
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let fail = failed("make", "a node of iceoryx2");
        let mut config = Config::default();
        config.global.prefix =
            FileName::new(traces::prefix(&settings.name).as_bytes()).map_err(|_| name_error())?;
        let directory = traces::directory(&settings.name);
        let directory = directory.to_string_lossy();
        let root = Path::new(directory.as_bytes()).map_err(|_| name_error())?;
        config.global.set_root_path(&root);
        let builder = NodeBuilder::new().config(&config);
        let builder = builder.signal_handling_mode(SignalHandlingMode::Disabled);
        let node = builder.create::<ipc::Service>().map_err(fail)?;
        let (leads, followers) = (settings.role.is_leader(), settings.subscribers as usize);
        Ok(Self { node, leads, followers, samples: samples(settings) })
    }

    /// The number of endpoints that publish in a service, and of those that take from it.
    fn ends(&self, outgoing: bool) -> (usize, usize) {
        if outgoing == self.leads { (1, self.followers) } else { (self.followers, 1) }
    }

    /// The number of endpoints that take this one's messages.
    pub fn receivers(&self) -> usize {
        self.ends(true).1
    }

    /// The name of the service in which this endpoint publishes or, as a receiver, takes.
    fn name(&self, outgoing: bool, kind: &str) -> Result<ServiceName, Error> {
        let direction = if outgoing == self.leads { "there" } else { "back" };
        let name = format!("{kind}/{direction}");
        name.as_str().try_into().map_err(failed("name", "a service of iceoryx2"))
    }

    pub fn topic(&self, outgoing: bool) -> Result<Topic, Error> {
        let service = self.node.service_builder(&self.name(outgoing, "messages")?);
        let (publishers, subscribers) = self.ends(outgoing);
        service
            .publish_subscribe::<[u8]>()
            .enable_safe_overflow(false)
            .history_size(0)
            .subscriber_max_buffer_size(self.samples)
            .subscriber_max_borrowed_samples(1)
            .max_publishers(publishers)
            .max_subscribers(subscribers)
            .max_nodes(self.followers + 1)
            .open_or_create()
            .map_err(failed("open", "a service of iceoryx2"))
    }

    pub fn events(&self, outgoing: bool) -> Result<Events, Error> {
        let service = self.node.service_builder(&self.name(outgoing, "events")?);
        let (notifiers, listeners) = self.ends(outgoing);
        let service = service.event().max_notifiers(notifiers).max_listeners(listeners);
        let service = service.max_nodes(self.followers + 1);
        service.open_or_create().map_err(failed("open", "an event service of iceoryx2"))
    }
}

fn name_error() -> Error {
    Error::new("name", "a service of iceoryx2", "the session's name is not one for the library")
}
