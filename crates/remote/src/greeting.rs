//! The first messages of two commands: their versions, which must be equal, because the rest of the protocol is private
//! to one version. A follower also says if it is silent, and a leader why it refuses a follower.

use std::collections::BTreeMap;

use ipcmark_engine::PlainText;
use ipcmark_transport::Error;
use serde::{Deserialize, Serialize};

/// The longest greeting in bytes.
pub(crate) const MAX_BYTES: usize = 1024;

/// The version of this command.
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The first message of either side. Fields added by another version are ignored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Greeting {
    ipcmark: PlainText,
    /// True if the sender does not answer measured messages.
    #[serde(default)]
    pub is_silent: bool,
    /// Options that the sender was started with, and that must equal the receiver's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub terms: BTreeMap<PlainText, PlainText>,
    /// The reason why the sender does not accept the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refusal: Option<PlainText>,
}

impl Greeting {
    /// A follower's greeting.
    pub(crate) fn of_follower(is_silent: bool, terms: &BTreeMap<String, String>) -> Vec<u8> {
        let text = |text: &String| PlainText::from(text.as_str());
        let terms = terms.iter().map(|(option, value)| (text(option), text(value)));
        encode(is_silent, terms.collect(), None)
    }

    /// A leader's greeting.
    pub(crate) fn of_leader() -> Vec<u8> {
        encode(false, BTreeMap::new(), None)
    }

    /// The greeting of a leader that does not accept the follower.
    pub(crate) fn of_refusal(reason: &Error) -> Vec<u8> {
        encode(false, BTreeMap::new(), Some(reason.to_string().into()))
    }

    /// The peer's greeting, if the peer is compatible.
    ///
    /// # Errors
    /// The peer is not ipcmark, has another version, or refuses this one.
    pub(crate) fn read(bytes: &[u8], sender: &str) -> Result<Self, Error> {
        let object = format!("the {sender}");
        let parsed = (bytes.len() <= MAX_BYTES).then(|| serde_json::from_slice::<Self>(bytes).ok());
        let Some(greeting) = parsed.flatten() else {
            return Err(Error::new("understand", object, "it is no ipcmark"));
        };
        if &*greeting.ipcmark != OWN_VERSION {
            let cause = format!("it is ipcmark {}, and this is {OWN_VERSION}", greeting.ipcmark);
            return Err(
                Error::new("work with", object, cause).remedy("use one version at both ends")
            );
        }
        match greeting.refusal {
            Some(reason) => Err(Error::new("join", object, format!("it refuses: {reason}"))),
            None => Ok(greeting),
        }
    }
}

fn encode(
    is_silent: bool,
    terms: BTreeMap<PlainText, PlainText>,
    refusal: Option<PlainText>,
) -> Vec<u8> {
    let greeting = Greeting { ipcmark: OWN_VERSION.into(), is_silent, terms, refusal };
    // Texts and booleans can always be encoded as JSON.
    serde_json::to_vec(&greeting).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(bytes: &[u8]) -> String {
        Greeting::read(bytes, "follower").unwrap_err().to_string()
    }

    #[test]
    fn only_the_same_version_is_accepted() {
        for is_silent in [false, true] {
            let terms = BTreeMap::from([("--domain".to_owned(), "7\x1b[2J".to_owned())]);
            let bytes = Greeting::of_follower(is_silent, &terms);
            let greeting = Greeting::read(&bytes, "leader").unwrap();
            assert_eq!(greeting.is_silent, is_silent);
            let (option, value) = greeting.terms.first_key_value().unwrap();
            assert!(&**option == "--domain" && !value.contains('\x1b'), "{value:?}");
        }
        let error = fault(br#"{"ipcmark":"99.0.0"}"#);
        assert!(error.contains("ipcmark 99.0.0") && error.contains("one version"), "{error}");
        for garbage in
            [&b""[..], b"GET / HTTP/1.1", b"{}", b"[1]", b"{\"ipcmark\":[[", &[b' '; 3000]]
        {
            assert!(fault(garbage).contains("no ipcmark"));
        }
    }

    /// Regression: it was reported as not being ipcmark.
    #[test]
    fn a_newer_version_with_more_fields_is_another_version() {
        let newer =
            br#"{"ipcmark":"99.0.0","is_silent":true,"patterns":["one-way"],"limits":{"cpus":4}}"#;
        let error = fault(newer);
        assert!(error.contains("ipcmark 99.0.0") && error.contains(OWN_VERSION), "{error}");
    }

    #[test]
    fn control_characters_of_a_refusal_are_escaped() {
        let reason = Error::new("accept", "process 7\x1b[2J", "it belongs to the user 1000");
        let error =
            Greeting::read(&Greeting::of_refusal(&reason), "leader").unwrap_err().to_string();
        assert!(
            error.contains("it belongs to the user 1000") && !error.contains('\x1b'),
            "{error:?}"
        );
    }
}
