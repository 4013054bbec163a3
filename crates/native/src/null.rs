//! `null`: no hop at all. An end takes back its own messages, so the round trip is the cost of the
//! harness.
//!
//! - Mechanism: a buffer of the process itself; nothing reaches the other process.
//! - Kernel objects: none. Copies per message: none. Blocks: never. Limits: none.

use std::borrow::Cow;

use ipcmark_transport::{
    Capabilities, Carrier, DeclaredCarrier, Definition, Endpoint, Error, Rendezvous, Settings,
    Span, Step, Transport, Wait,
};

use crate::buffer::Buffer;

/// The transport.
pub struct Null;

/// One end.
pub struct NullEndpoint {
    buffer: Buffer,
    /// Length of the message on loan or published.
    len: usize,
    published: bool,
}

impl Transport for Null {
    type Endpoint = NullEndpoint;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(&self, settings: &Settings, _: &mut dyn Rendezvous) -> Result<NullEndpoint, Error> {
        Ok(NullEndpoint { buffer: Buffer::new(settings.payload), len: 0, published: false })
    }
}

impl Endpoint for NullEndpoint {
    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        if self.published {
            return Ok(Step::WouldBlock);
        }
        self.len = len;
        Ok(Step::Done)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.len]
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        self.published = true;
        Ok(Step::Done)
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        Ok(if self.published { Step::Done } else { Step::WouldBlock })
    }

    #[inline]
    fn message(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.published = false;
        Ok(())
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("null"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("no hop: what the harness itself costs"),
    carrier: DeclaredCarrier::Always(Carrier::Process),
    options: Cow::Borrowed(&[]),
    capabilities: {
        let mut capabilities = Capabilities::waiting(&[Wait::Spin]);
        capabilities.loans = true;
        capabilities.span = Span::None;
        capabilities
    },
};

/// The entry of `null` in the list of transports.
pub const TRANSPORT: Null = Null;
