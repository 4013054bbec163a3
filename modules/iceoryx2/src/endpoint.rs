//! One endpoint: its ports, and the hot path.

use std::{collections::BTreeMap, time::Duration};

use iceoryx2::{
    port::{
        LoanError,
        listener::{Listener, ListenerWaitError},
        notifier::Notifier,
        publisher::Publisher,
        subscriber::Subscriber,
        update_connections::UpdateConnections,
    },
    prelude::*,
    sample::Sample,
    sample_mut::SampleMut,
};
use ipcmark_transport::{Endpoint, Error, HYBRID_POLLS, Settings, Step, Wait};

use crate::{
    counters::{Counters, Shareable},
    node::{ServiceNode, failed, samples},
    room::Room,
    traces::CloseSignal,
};

/// The longest sleep: an endpoint can be asked to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// The sleeps of endpoints without a free sample: the leader's, then the followers'.
pub type Rooms = [Room; 2];

// SAFETY: atomics only.
unsafe impl Shareable for Rooms {}

/// What an endpoint that may sleep has in addition.
struct Events {
    notifier: Notifier<ipc::Service>,
    listener: Listener<ipc::Service>,
    rooms: Counters<Rooms>,
    /// The index of this endpoint's own sleeps.
    own: usize,
}

/// One endpoint. Ports are dropped before their services, and the node last.
pub struct Iceoryx2Endpoint {
    loan: Option<SampleMut<ipc::Service, [u8], ()>>,
    taken: Option<Sample<ipc::Service, [u8], ()>>,
    events: Option<Events>,
    /// The number of polls before a sleep.
    polls: u32,
    publisher: Publisher<ipc::Service, [u8], ()>,
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    samples: usize,
    /// The number of endpoints that take this one's messages.
    receivers: usize,
    _node: ServiceNode,
    _close_signal: CloseSignal,
}

impl Iceoryx2Endpoint {
    /// Makes the ports; the other endpoints may not exist yet.
    pub fn open(
        node: ServiceNode,
        settings: &Settings,
        close_signal: CloseSignal,
        rooms: Option<Counters<Rooms>>,
    ) -> Result<Self, Error> {
        let samples = samples(settings);
        let publisher = node
            .topic(true)?
            .publisher_builder()
            .initial_max_slice_len(settings.payload)
            .max_loaned_samples(samples)
            .override_sample_preallocation(move |_| samples)
            .backpressure_strategy(BackpressureStrategy::DiscardData)
            .create()
            .map_err(failed("make", "a publisher of iceoryx2"))?;
        touch(&publisher, settings.payload, samples)?;
        let subscriber = node.topic(false)?.subscriber_builder().create();
        let subscriber = subscriber.map_err(failed("make", "a subscriber of iceoryx2"))?;
        let own = usize::from(!settings.role.is_leader());
        let events = rooms.map(|rooms| Events::new(&node, rooms, own)).transpose()?;
        let polls = if settings.wait == Wait::Hybrid { HYBRID_POLLS } else { 1 };
        let (loan, taken) = (None, None);
        Ok(Self {
            loan,
            taken,
            events,
            polls,
            publisher,
            subscriber,
            samples,
            receivers: node.receivers(),
            _node: node,
            _close_signal: close_signal,
        })
    }

    /// Connects to the ports of the other endpoints.
    pub fn connect(&self) -> Result<(), Error> {
        self.publisher.update_connections().map_err(failed("connect", "the ports of iceoryx2"))?;
        self.subscriber.update_connections().map_err(failed("connect", "the ports of iceoryx2"))
    }

    #[inline]
    fn receive(&mut self) -> Result<Step, Error> {
        self.taken = self.subscriber.receive().map_err(failed("receive", "a sample"))?;
        Ok(if self.taken.is_some() { Step::Done } else { Step::WouldBlock })
    }

    #[inline]
    fn lend(&mut self, len: usize) -> Result<Step, Error> {
        self.loan = lend(&self.publisher, len)?;
        Ok(if self.loan.is_some() { Step::Done } else { Step::WouldBlock })
    }

    /// Sleeps until receivers have released samples, unless one is free by now.
    #[cold]
    fn sleep_for_room(&mut self, len: usize) -> Result<Step, Error> {
        let Some(events) = &self.events else { return Ok(Step::WouldBlock) };
        let mut lent = Ok(None);
        events.rooms[events.own].sleep(LONGEST_SLEEP, || {
            lent = lend(&self.publisher, len);
            !matches!(lent, Ok(None))
        });
        self.loan = lent?;
        if self.loan.is_some() { Ok(Step::Done) } else { self.lend(len) }
    }

    fn sleep(&self) -> Result<(), Error> {
        let Some(events) = &self.events else { return Ok(()) };
        match events.listener.timed_wait(|_| {}, LONGEST_SLEEP) {
            // A signal ends the sleep, such as the one that continues a stopped process.
            Ok(_) | Err(ListenerWaitError::InterruptSignal) => Ok(()),
            Err(error) => Err(failed("wait for", "an event")(error)),
        }
    }
}

impl Events {
    fn new(node: &ServiceNode, rooms: Counters<Rooms>, own: usize) -> Result<Self, Error> {
        let notifier = node.events(true)?.notifier_builder().create().map_err(event_failed())?;
        let listener = node.events(false)?.listener_builder().create().map_err(event_failed())?;
        Ok(Self { notifier, listener, rooms, own })
    }
}

/// A sample of the publisher, if one is free.
#[inline]
fn lend(
    publisher: &Publisher<ipc::Service, [u8], ()>,
    len: usize,
) -> Result<Option<SampleMut<ipc::Service, [u8], ()>>, Error> {
    match publisher.loan_slice_uninit(len) {
        // SAFETY: bytes have no invalid values, and the content of a loaned room is undefined.
        Ok(sample) => Ok(Some(unsafe { sample.assume_init() })),
        // All samples are in use.
        Err(LoanError::OutOfMemory | LoanError::ExceedsMaxLoans) => Ok(None),
        Err(error) => Err(failed("lend", "a sample")(error)),
    }
}

fn event_failed<E: std::fmt::Display>() -> impl Fn(E) -> Error {
    failed("make", "a notifier or listener of iceoryx2")
}

/// Writes into every sample once, so that the measured loop takes no page fault.
fn touch(
    publisher: &Publisher<ipc::Service, [u8], ()>,
    payload: usize,
    count: usize,
) -> Result<(), Error> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let sample = publisher.loan_slice(payload).map_err(failed("lend", "a sample"))?;
        all.push(sample);
    }
    Ok(())
}

impl Endpoint for Iceoryx2Endpoint {
    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        for _ in 0..self.polls {
            if self.lend(len)? == Step::Done {
                return Ok(Step::Done);
            }
        }
        self.sleep_for_room(len)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        self.loan.as_mut().map_or(&mut [], |sample| sample.payload_mut())
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        if let Some(sample) = self.loan.take() {
            let receivers = sample.send().map_err(failed("send", "a sample"))?;
            if receivers < self.receivers {
                return Err(Error::peer_gone("send", "a sample"));
            }
            if let Some(events) = &self.events {
                events.notifier.notify().map_err(failed("notify", "the other ends"))?;
            }
        }
        Ok(Step::Done)
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        for _ in 0..self.polls {
            if self.receive()? == Step::Done {
                return Ok(Step::Done);
            }
        }
        self.sleep()?;
        self.receive()
    }

    #[inline]
    fn message(&self) -> &[u8] {
        self.taken.as_ref().map_or(&[], |sample| sample.payload())
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.taken = None;
        if let Some(events) = &self.events {
            events.rooms[1 - events.own].count_released(self.samples as u32);
        }
        Ok(())
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let entry = |(key, value): (&str, String)| (key.to_owned(), value);
        [
            ("samples", self.samples.to_string()),
            ("buffer", format!("{} samples", self.subscriber.buffer_size())),
            ("safe overflow", "off".into()),
        ]
        .map(entry)
        .into()
    }
}
