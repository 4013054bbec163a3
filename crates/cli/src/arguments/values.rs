//! Values of flags as people write them.

use std::time::Duration;

use ipcmark_engine::PATTERNS;
use ipcmark_report::Format;
use ipcmark_transport::{Pattern, Wait};

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let duration =
        humantime::parse_duration(text).map_err(|e| format!("{e}; write it as 200ms or 2s"))?;
    let range = Duration::from_millis(1)..=Duration::from_secs(3600);
    match range.contains(&duration) {
        true => Ok(duration),
        false => Err("it is not between 1ms and 1h".into()),
    }
}

pub(super) fn wait(word: &str) -> Result<Wait, String> {
    word.parse().map_err(|()| format!("waits are {}", joined(Wait::ALL)))
}

pub(super) fn pattern(word: &str) -> Result<Pattern, String> {
    let pattern = word.parse().map_err(|()| format!("patterns are {}", joined(Pattern::ALL)))?;
    match PATTERNS.contains(&pattern) {
        true => Ok(pattern),
        false => {
            Err(format!("this version does not measure it yet; it measures {}", joined(PATTERNS)))
        }
    }
}

pub(super) fn format(word: &str) -> Result<Format, String> {
    word.parse().map_err(|()| format!("formats are {}", joined(Format::ALL)))
}

fn joined<T: ToString>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
