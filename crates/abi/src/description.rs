//! A module's description of its transports. The process that examines the module sends it to the
//! command, and the command sends it to the workers.

use std::slice;

use ipcmark_transport::{
    Availability, Capabilities, Carrier, DeclaredCarrier, Definition, MAX_PAYLOAD, OptionSpec,
    Pattern, Span, Wait,
};
use serde::{Deserialize, Serialize};

use ipcmark_contract::{c, pattern_bit, text, wait_bit};

/// The description of a transport, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    pub name: String,
    pub summary: String,
    pub waits: Vec<Wait>,
    #[serde(default = "patterns")]
    pub patterns: Vec<Pattern>,
    #[serde(default = "max_payload")]
    pub max_payload: usize,
    #[serde(default)]
    pub loans: bool,
    #[serde(default = "max_subscribers")]
    pub max_subscribers: u32,
    #[serde(default)]
    pub crosses_hosts: bool,
    #[serde(default = "reliable")]
    pub reliable: bool,
    #[serde(default)]
    pub alternating: bool,
    #[serde(default = "span")]
    pub span: Span,
    #[serde(default)]
    pub exclusive: bool,
    #[serde(default)]
    pub one_end: bool,
    #[serde(default)]
    pub carrier: Option<Carrier>,
    /// Bytes of the largest message that shared memory carries, where the kernel carries larger ones; 0: no such limit.
    #[serde(default)]
    pub memory_limit: usize,
    /// The options that users can set.
    #[serde(default, rename = "option")]
    pub options: Vec<OptionText>,
}

/// The description of an option, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionText {
    pub key: String,
    pub accepts: String,
    pub standard: String,
    pub summary: String,
}

impl OptionText {
    fn of(spec: &c::OptionSpec) -> Self {
        // SAFETY: the contract: they are NUL-terminated texts, or null.
        let read = |text| unsafe { text::read(text) }.unwrap_or_default();
        Self {
            key: read(spec.key),
            accepts: read(spec.accepts),
            standard: read(spec.standard),
            summary: read(spec.summary),
        }
    }

    fn spec(&self) -> OptionSpec {
        OptionSpec {
            key: self.key.clone().into(),
            accepts: self.accepts.clone().into(),
            standard: self.standard.clone().into(),
            summary: self.summary.clone().into(),
        }
    }
}

/// The availability of a transport, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AvailabilityText {
    Available { version: Option<String> },
    Unavailable { reason: String, install: Option<String> },
}

fn patterns() -> Vec<Pattern> {
    Capabilities::usual().patterns.into_owned()
}

fn max_payload() -> usize {
    Capabilities::usual().max_payload
}

fn max_subscribers() -> u32 {
    Capabilities::usual().max_subscribers
}

fn reliable() -> bool {
    Capabilities::usual().reliable
}

fn span() -> Span {
    Capabilities::usual().span
}

impl Description {
    /// A description with the most common values.
    pub(crate) fn usual(name: &str, summary: &str, waits: &[Wait]) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            waits: waits.into(),
            patterns: patterns(),
            max_payload: max_payload(),
            loans: false,
            max_subscribers: max_subscribers(),
            crosses_hosts: false,
            reliable: reliable(),
            alternating: false,
            span: span(),
            exclusive: false,
            one_end: false,
            carrier: None,
            memory_limit: 0,
            options: Vec::new(),
        }
    }

    /// The description that a checked transport of a module gives of itself.
    pub(crate) fn of(transport: &c::Transport) -> Self {
        let has = |flag| transport.flags & flag != 0;
        // SAFETY: both are NUL-terminated texts or null.
        let (name, summary) =
            unsafe { (text::read(transport.name), text::read(transport.summary)) };
        Self {
            name: name.unwrap_or_default(),
            summary: summary.unwrap_or_default(),
            waits: those(Wait::ALL, transport.waits, wait_bit),
            patterns: those(Pattern::ALL, transport.patterns, pattern_bit),
            max_payload: usize::try_from(transport.max_payload)
                .map_or(MAX_PAYLOAD, |most| most.min(MAX_PAYLOAD)),
            loans: has(c::LOANS),
            max_subscribers: transport.max_subscribers,
            crosses_hosts: has(c::CROSSES_HOSTS),
            reliable: !has(c::UNRELIABLE),
            alternating: has(c::ALTERNATING),
            span: match () {
                () if has(c::NO_HOP) => Span::None,
                () if has(c::SAME_PROCESS) => Span::Thread,
                () => Span::Process,
            },
            exclusive: has(c::EXCLUSIVE),
            one_end: has(c::ONE_END),
            carrier: match () {
                () if has(c::IN_MEMORY) => Some(Carrier::SharedMemory),
                () if has(c::ON_NETWORK) => Some(Carrier::Network),
                () if has(c::IN_KERNEL) => Some(Carrier::Kernel),
                () => None,
            },
            memory_limit: transport.memory_limit.try_into().unwrap_or(usize::MAX),
            options: option_specs(transport).iter().map(OptionText::of).collect(),
        }
    }

    /// The declared carrier of its messages.
    fn carrier(&self) -> DeclaredCarrier {
        match (self.carrier, self.memory_limit) {
            (None, _) => DeclaredCarrier::Unstated,
            (Some(Carrier::SharedMemory), up_to @ 1..) => DeclaredCarrier::BySize {
                up_to,
                small: Carrier::SharedMemory,
                large: Carrier::Kernel,
            },
            (Some(carrier), _) => DeclaredCarrier::Always(carrier),
        }
    }

    /// The same as a definition for the engine.
    pub(crate) fn definition(&self, family: &str) -> Definition {
        Definition {
            name: self.name.clone().into(),
            family: family.to_owned().into(),
            summary: self.summary.clone().into(),
            carrier: self.carrier(),
            options: self.options.iter().map(OptionText::spec).collect(),
            capabilities: Capabilities {
                waits: self.waits.clone().into(),
                patterns: self.patterns.clone().into(),
                max_payload: self.max_payload,
                loans: self.loans,
                max_subscribers: self.max_subscribers,
                crosses_hosts: self.crosses_hosts,
                reliable: self.reliable,
                alternating: self.alternating,
                span: self.span,
                exclusive: self.exclusive,
                one_end: self.one_end,
            },
        }
    }
}

fn option_specs(transport: &c::Transport) -> &[c::OptionSpec] {
    if transport.option_count == 0 || transport.options.is_null() {
        return &[];
    }
    // SAFETY: the contract gives the length of the array.
    unsafe { slice::from_raw_parts(transport.options, transport.option_count as usize) }
}

fn those<T: Copy>(all: &[T], bits: u32, bit: fn(T) -> u32) -> Vec<T> {
    all.iter().copied().filter(|value| bits & bit(*value) != 0).collect()
}

impl From<AvailabilityText> for Availability {
    fn from(verdict: AvailabilityText) -> Self {
        match verdict {
            AvailabilityText::Available { version } => Availability::Available { version },
            AvailabilityText::Unavailable { reason, install } => {
                Availability::Unavailable { reason, install }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declared_carrier_can_depend_on_the_message_size() {
        let carrier = |more: &str| {
            let text = format!("name = 'a'\nsummary = 'b'\nwaits = ['spin']\n{more}");
            toml::from_str::<Description>(&text).unwrap().carrier()
        };
        let [memory, kernel] = [Carrier::SharedMemory, Carrier::Kernel];
        assert_eq!(carrier(""), DeclaredCarrier::Unstated);
        assert_eq!(carrier("carrier = 'kernel'"), DeclaredCarrier::Always(kernel));
        let by_size = DeclaredCarrier::BySize { up_to: 4096, small: memory, large: kernel };
        assert_eq!(carrier("carrier = 'shared-memory'\nmemory_limit = 4096"), by_size);
    }
}
