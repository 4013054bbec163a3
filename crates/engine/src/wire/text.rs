//! Text that another process wrote, and that people read in a terminal, a file or a page.

use std::{fmt, ops::Deref};

use ipcmark_transport::plain;
use serde::{Deserialize, Serialize};

/// The longest text in characters.
const MAX_CHARS: usize = 1000;

/// Text of bounded length, on one line and without terminal control characters, whatever its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct PlainText(String);

impl From<String> for PlainText {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&str> for PlainText {
    fn from(text: &str) -> Self {
        Self(plain(text).chars().take(MAX_CHARS).collect())
    }
}

impl From<PlainText> for String {
    fn from(text: PlainText) -> Self {
        text.0
    }
}

impl Deref for PlainText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlainText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_long_text_is_cut_when_received() {
        let text: PlainText = serde_json::from_str(r#""a\u001b[2J\r\nb\u009bc\u202e""#).unwrap();
        assert_eq!(&*text, r"a\u{1b}[2J  b\u{9b}c\u{202e}");
        let long = serde_json::to_vec(&"x".repeat(100_000)).unwrap();
        let text: PlainText = serde_json::from_slice(&long).unwrap();
        assert_eq!(text.len(), MAX_CHARS);
    }
}
