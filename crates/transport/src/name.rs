//! Names of runs and sessions. They become parts of paths and of names of kernel objects, and they
//! come from other processes: every constructor of these types checks its value.

use std::{fmt, ops::Deref, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Error;

/// The prefix of every name that ipcmark creates in the system.
const PREFIX: &str = "ipcmark-";

/// The longest name of a session in bytes: short enough for every table of the system.
const MAX_NAME_BYTES: usize = 40;

/// Identifies one run: eight hexadecimal digits in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RunId(u32);

impl RunId {
    /// The id with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The prefix of the names of all objects of the run: `ipcmark-0123abcd`.
    pub fn prefix(self) -> String {
        format!("{PREFIX}{self}")
    }

    /// The name of the run's session with this number.
    pub fn session(self, number: u64) -> SessionName {
        SessionName(format!("{PREFIX}{self}-{number}"))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl FromStr for RunId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_id = text.len() == 8 && text.bytes().all(is_digit);
        let number = is_id.then(|| u32::from_str_radix(text, 16).ok()).flatten();
        number.map(Self).ok_or_else(|| {
            Error::new("read", "the id of a run", "it must be eight hexadecimal digits")
        })
    }
}

impl TryFrom<String> for RunId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

/// The name of one session: at most 40 letters, digits and `-`, starting with a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SessionName(String);

impl SessionName {
    /// The name with this text.
    ///
    /// # Errors
    /// The text has a forbidden character, or is too long.
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_name = (1..=MAX_NAME_BYTES).contains(&text.len())
            && !text.starts_with('-')
            && text.bytes().all(is_allowed);
        if is_name {
            return Ok(Self(text));
        }
        let cause = format!(
            "it must be 1 to {MAX_NAME_BYTES} letters, digits and '-', not starting with '-'"
        );
        Err(Error::new("use", "the name of a session", cause))
    }
}

impl Deref for SessionName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::new(text)
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_eight_hexadecimal_digits() {
        let id: RunId = "0123abcd".parse().unwrap();
        assert_eq!(id.to_string(), "0123abcd");
        assert_eq!(id.prefix(), "ipcmark-0123abcd");
        for text in ["", "0123abc", "0123abcde", "0123ABCD", "+123abcd", "../../..", "0123abc\n"] {
            assert!(text.parse::<RunId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_session_has_a_name_that_is_no_path() {
        let name = RunId::new(u32::MAX).session(u64::MAX);
        assert_eq!(SessionName::new(&*name).unwrap(), name);
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for text in ["", "-a", ".", "..", "a/b", "../../var/tmp/victim", "a b", "a\0", "ä", &long]
        {
            assert!(SessionName::new(text).is_err(), "{text:?}");
        }
    }
}
