//! Finds out what a module offers, in a process that the module may crash.

use std::path::Path;

use ipcmark_contract::{c, failure, text};
use ipcmark_transport::{BUFFERS, Error, MAX_PAYLOAD, MIN_PAYLOAD};
use serde::{Deserialize, Serialize};

use crate::{
    description::{AvailabilityText, Description},
    library::{Library, is_name},
};

/// The transports that a module offers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub family: String,
    pub transports: Vec<(Description, AvailabilityText)>,
    /// The reasons why some transports are left out.
    pub faults: Vec<String>,
    /// True if it can name the leftovers of killed sessions.
    pub names_leftovers: bool,
}

/// The reason why a module cannot be used.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Refusal {
    pub reason: String,
    /// True if a missing library is the reason.
    pub installing_helps: bool,
}

/// The process's answer: what the module offers, or why it cannot be loaded.
pub(crate) type Answer = Result<Offer, Refusal>;

impl Refusal {
    /// For any reason other than a missing library.
    pub(crate) fn new(reason: String) -> Self {
        Self { reason, installing_helps: false }
    }

    /// Because it cannot be loaded. Only the dynamic linker's message that a file does not exist means that a library
    /// is missing; other causes are too little memory or too few descriptors.
    fn to_load(error: &Error) -> Self {
        let missing = "cannot open shared object file: No such file or directory";
        let installing_helps = error.parts()[2].contains(missing);
        Self { reason: error.to_string(), installing_helps }
    }
}

impl Offer {
    /// The offer as the command accepts it: without transports that the contract does not allow. The command checks it,
    /// because the library runs in the answering process and can write into the answer.
    pub(crate) fn checked(self) -> Answer {
        if !is_name(&self.family) {
            return Err(Refusal::new("its family is no name".into()));
        }
        let mut checked = Self { transports: Vec::new(), ..self };
        for (description, verdict) in self.transports {
            match lack(&description) {
                None => checked.transports.push((description, verdict)),
                Some(lack) => {
                    checked.faults.push(format!("its transport {} {lack}", description.name));
                }
            }
        }
        Ok(checked)
    }

    /// The same without the longest texts that only people read.
    pub(crate) fn without_prose(&self) -> Self {
        let Self { family, transports, names_leftovers, .. } = self;
        let mut transports = transports.clone();
        for (description, _) in &mut transports {
            description.options.iter_mut().for_each(|option| option.summary.clear());
        }
        let (family, names_leftovers) = (family.clone(), *names_leftovers);
        Self { family, transports, faults: Vec::new(), names_leftovers }
    }
}

/// The longest text of a description, in bytes.
const LONGEST_TEXT: usize = 1000;

/// The most options of a transport.
const MOST_OPTIONS: usize = 64;

fn has_long_text(description: &Description) -> bool {
    let of_options = description
        .options
        .iter()
        .flat_map(|option| [&option.key, &option.accepts, &option.standard, &option.summary]);
    of_options.chain([&description.summary]).any(|text| text.len() > LONGEST_TEXT)
}

/// The rule that a description breaks, if any.
fn lack(description: &Description) -> Option<&'static str> {
    let Description { name, waits, patterns, max_payload, max_subscribers, options, .. } =
        description;
    let has_reserved_option = options.iter().any(|option| option.key == BUFFERS.key);
    let rules = [
        (!is_name(name), "has no name that could be one"),
        (waits.is_empty(), "has no wait"),
        (patterns.is_empty(), "has no pattern"),
        (*max_subscribers == 0, "has room for no follower"),
        (*max_payload < MIN_PAYLOAD, "carries no message of 16 bytes"),
        (*max_payload > MAX_PAYLOAD, "carries larger messages than there are"),
        (has_reserved_option, "has an option with the name of one of ipcmark's own, buffers"),
        (options.len() > MOST_OPTIONS, "has more than 64 options"),
        (has_long_text(description), "has a text of more than 1,000 bytes"),
    ];
    rules.into_iter().find_map(|(is_broken, lack)| is_broken.then_some(lack))
}

/// Loads the module at `path` and returns its answer.
pub(crate) fn answer(path: &Path) -> Answer {
    examine(path).map_err(|error| Refusal::to_load(&error))
}

fn examine(path: &Path) -> Result<Offer, Error> {
    let library = Library::load(path.as_os_str(), path)?;
    let (mut transports, mut faults) = (Vec::new(), Vec::new());
    for transport in library.transports() {
        match transport {
            Ok(transport) => transports.push((Description::of(transport), probe(transport))),
            Err(fault) => faults.push(fault),
        }
    }
    // After probe, because some libraries know their version only after set-up.
    let version = library.version_text();
    for (_, verdict) in &mut transports {
        if let AvailabilityText::Available { version: unknown } = verdict {
            unknown.clone_from(&version);
        }
    }
    let names_leftovers = library.leftovers.is_some();
    Ok(Offer { family: library.family.into(), transports, faults, names_leftovers })
}

fn probe(transport: &'static c::Transport) -> AvailabilityText {
    let Some(probe) = transport.probe else { return AvailabilityText::Available { version: None } };
    let mut error = failure::blank();
    // SAFETY: the contract's call.
    match unsafe { probe(transport, &mut error) } {
        c::DONE => AvailabilityText::Available { version: None },
        code => {
            let install = text::read_array(&error.remedy);
            error.remedy[0] = 0;
            let reason = failure::read(code, &error, "use", "it").to_string();
            AvailabilityText::Unavailable {
                reason,
                install: (!install.is_empty()).then_some(install),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Found by fuzzing: a transport without a name was listed.
    #[test]
    fn an_invalid_answer_of_a_module_is_ignored() {
        let option =
            |key: String| json!({"key": key, "accepts": "", "standard": "", "summary": ""});
        let offer = |family: &str, fields: serde_json::Value| {
            let mut transport = json!({"name": "a", "summary": "", "waits": ["spin"]});
            transport.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let offer = json!({
                "family": family, "faults": [], "names_leftovers": false,
                "transports": [[transport, {"Available": {"version": null}}]],
            });
            serde_json::from_value::<Offer>(offer).unwrap().checked()
        };
        assert_eq!(offer("f", json!({})).unwrap().transports.len(), 1);
        for fields in [
            json!({"name": ""}),
            json!({"name": "../a"}),
            json!({"waits": []}),
            json!({"patterns": []}),
            json!({"max_payload": 15}),
            json!({"max_payload": u64::MAX}),
            json!({"max_subscribers": 0}),
            json!({"summary": "s".repeat(1001)}),
            json!({"option": vec![option("o".repeat(1001)); 1]}),
            json!({"option": vec![option("o".into()); 65]}),
            json!({"option": [option("buffers".into())]}),
        ] {
            let offer = offer("f", fields.clone()).unwrap();
            assert!(offer.transports.is_empty() && offer.faults.len() == 1, "{fields}");
        }
        assert!(offer("", json!({})).unwrap_err().reason.contains("family"));
    }
}
