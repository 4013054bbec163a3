//! What two commands tell one another first: their versions, which must be the same, for what they
//! say to one another afterwards is nobody else's business and changes from version to version. A
//! follower says too whether it will only listen.

use ipcmark_transport::Error;
use serde::{Deserialize, Serialize};

/// More than an honest greeting has.
pub(crate) const MOST_BYTES: usize = 256;

/// The first thing said.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Greeting {
    ipcmark: String,
    /// Whether whoever says it will answer nothing that is measured.
    #[serde(default)]
    pub is_silent: bool,
}

impl Greeting {
    /// Ours.
    pub(crate) fn own(is_silent: bool) -> Vec<u8> {
        let greeting = Self { ipcmark: env!("CARGO_PKG_VERSION").into(), is_silent };
        serde_json::to_vec(&greeting).unwrap_or_default()
    }

    /// The other command's, if it is one that this can work with.
    pub(crate) fn check(bytes: &[u8], who: &str) -> Result<Self, Error> {
        let object = format!("the {who}");
        let greeting: Self = match bytes.len() {
            0..=MOST_BYTES => serde_json::from_slice(bytes)
                .map_err(|_| Error::new("understand", &object, "it is no ipcmark"))?,
            _ => return Err(Error::new("understand", &object, "it is no ipcmark")),
        };
        let own = env!("CARGO_PKG_VERSION");
        if greeting.ipcmark == own {
            return Ok(greeting);
        }
        let version: String =
            greeting.ipcmark.chars().filter(|c| !c.is_control()).take(40).collect();
        let cause = format!("it is ipcmark {version}, and this is {own}");
        Err(Error::new("work with", object, cause).remedy("use one version at both ends"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_version_will_do() {
        for is_silent in [false, true] {
            let greeting = Greeting::check(&Greeting::own(is_silent), "leader").unwrap();
            assert_eq!(greeting.is_silent, is_silent);
        }
        let other = br#"{"ipcmark":"99.0.0"}"#;
        let error = Greeting::check(other, "follower").unwrap_err().to_string();
        assert!(error.contains("ipcmark 99.0.0") && error.contains("one version"), "{error}");
        for garbage in [&b""[..], b"GET / HTTP/1.1", b"{}", b"[1]", &[b' '; 300]] {
            let error = Greeting::check(garbage, "follower").unwrap_err().to_string();
            assert!(error.contains("no ipcmark"), "{error}");
        }
    }
}
