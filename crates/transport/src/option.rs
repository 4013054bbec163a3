//! The options of a transport: keys, accepted values and defaults.

use std::{borrow::Cow, fs::File, path::Path};

/// One option of a transport, as the transport declares it.
///
/// The accepted values are written for people: alternatives joined by `|`, each a word, a range of
/// whole numbers (`1..64k`, where `k` and `M` are binary), `FILE` or `DIR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Lower-case words joined by `-`: `high-water-mark`.
    pub key: Cow<'static, str>,
    /// The accepted values: `on|off`, `1..1000`, `auto|4k..16M`, `DIR`.
    pub accepts: Cow<'static, str>,
    /// The default, as text: an accepted value, or words that say how the transport chooses.
    pub standard: Cow<'static, str>,
    /// The effect, in one line.
    pub summary: Cow<'static, str>,
}

impl OptionSpec {
    /// An option declared in a transport's own file.
    pub const fn new(
        key: &'static str,
        accepts: &'static str,
        standard: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            key: Cow::Borrowed(key),
            accepts: Cow::Borrowed(accepts),
            standard: Cow::Borrowed(standard),
            summary: Cow::Borrowed(summary),
        }
    }

    /// The value as a transport receives it: a number in plain digits, an absolute path. The error
    /// says why the value is not accepted.
    pub fn check(&self, value: &str) -> Result<String, String> {
        let mut reason = format!("'{value}' is not one of {}", self.accepts);
        for alternative in self.accepts.split('|') {
            match matched(alternative, value) {
                Ok(Some(checked)) => return Ok(checked),
                Ok(None) => {}
                Err(why) => reason = why,
            }
        }
        Err(reason)
    }

    /// True if the option accepts the path of something that the transport reads.
    pub fn takes_path(&self) -> bool {
        self.accepts.split('|').any(is_path_kind)
    }

    /// True if the value is one of the accepted words.
    pub fn is_word(&self, value: &str) -> bool {
        self.accepts.split('|').any(|word| word == value && !is_path_kind(word))
    }

    /// True if the value is the path of something that must exist for the transport to read.
    pub fn is_path(&self, value: &str) -> bool {
        value.starts_with('/') && self.takes_path()
    }
}

fn is_path_kind(alternative: &str) -> bool {
    alternative == "FILE" || alternative == "DIR"
}

/// The value, if it matches this alternative; an error if it matches but is not valid.
fn matched(alternative: &str, value: &str) -> Result<Option<String>, String> {
    match alternative {
        "FILE" => path(value, false).map(Some),
        "DIR" => path(value, true).map(Some),
        _ => match alternative.split_once("..") {
            Some((least, most)) => in_range(least, most, value),
            None => Ok((alternative == value).then(|| value.to_owned())),
        },
    }
}

fn in_range(least: &str, most: &str, value: &str) -> Result<Option<String>, String> {
    let Some(number) = number(value) else { return Ok(None) };
    let range = self::number(least).unwrap_or(0)..=self::number(most).unwrap_or(u64::MAX);
    match range.contains(&number) {
        true => Ok(Some(number.to_string())),
        false => Err(format!("{value} is not from {least} to {most}")),
    }
}

/// A whole number with a binary unit: `64`, `4k`, `1M`, `4KiB`.
pub fn number(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn path(value: &str, is_directory: bool) -> Result<String, String> {
    let read = || {
        let path = Path::new(value).canonicalize()?;
        let found = path.metadata()?.is_dir();
        let readable =
            if is_directory { path.read_dir().map(drop) } else { File::open(&path).map(drop) };
        readable.map(|()| (path, found))
    };
    let (path, found) = read().map_err(|e| format!("cannot read {value}: {e}"))?;
    match (found, is_directory) {
        (true, false) => Err(format!("{value} is a directory, and a file is needed")),
        (false, true) => Err(format!("{value} is a file, and a directory is needed")),
        _ => path.into_os_string().into_string().map_err(|_| format!("{value} is not UTF-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accepts: &'static str, value: &str) -> Result<String, String> {
        OptionSpec::new("key", accepts, "", "").check(value)
    }

    #[test]
    fn words_numbers_and_paths_are_accepted_as_declared() {
        assert_eq!(check("on|off", "off").unwrap(), "off");
        assert_eq!(check("auto|4k..1M", "auto").unwrap(), "auto");
        assert_eq!(check("auto|4k..1M", "64KiB").unwrap(), "65536");
        assert_eq!(check("1..232", "232").unwrap(), "232");
        let here = env!("CARGO_MANIFEST_DIR");
        assert!(check("DIR", here).unwrap().starts_with('/'));
        assert!(check("FILE", &format!("{here}/Cargo.toml")).unwrap().ends_with("Cargo.toml"));
    }

    #[test]
    fn rejected_values_bring_the_reason() {
        for (accepts, value, reason) in [
            ("on|off", "yes", "not one of on|off"),
            ("on|off", "", "not one of"),
            ("auto|4k..1M", "2M", "not from 4k to 1M"),
            ("1..10", "0", "not from 1 to 10"),
            ("1..10", "-1", "not one of"),
            ("1..10", "99999999999999999999", "not one of"),
            ("FILE", "/nowhere/at/all", "cannot read /nowhere/at/all"),
            ("FILE", env!("CARGO_MANIFEST_DIR"), "a file is needed"),
            ("DIR", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "irectory"),
        ] {
            let error = check(accepts, value).unwrap_err();
            assert!(error.contains(reason), "{accepts} {value}: {error}");
        }
    }
}
