//! Values of flags as people write them.

use std::{ops::RangeInclusive, time::Duration};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ipcmark_machine::{nearness::Nearness, placement::Pinning};
use ipcmark_report::{FORMATS, Format, format};
use ipcmark_transport::{BUFFERS, Pattern, Wait};

/// A time within a range. `ends` is the range in words, and `example` shows the notation.
fn time(
    text: &str,
    example: &str,
    range: RangeInclusive<Duration>,
    ends: &str,
) -> Result<Duration, String> {
    let time =
        humantime::parse_duration(text).map_err(|e| format!("{e}; write it as {example}"))?;
    match range.contains(&time) {
        true => Ok(time),
        false => Err(format!("it is not between {ends}")),
    }
}

/// The longest time for one trial of a row.
pub(crate) const LONGEST_TRIAL: Duration = Duration::from_secs(3600);

/// A time with its unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    time(text, "200ms or 2s", Duration::from_millis(1)..=LONGEST_TRIAL, "1ms and 1h")
}

/// A time for a whole run.
pub(crate) fn budget(text: &str) -> Result<Duration, String> {
    time(
        text,
        "30s or 2m",
        Duration::from_secs(1)..=Duration::from_secs(7 * 24 * 3600),
        "1s and 7d",
    )
}

/// The highest accepted rate in messages per second: more than any processor sends.
const MOST_A_SECOND: u64 = 100_000_000;

/// Messages per second: `100/s`, `10k/s`, `2.5M/s`. The letters are decimal, as usual for rates.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let why = || "it is not a rate; write it as 100/s, 10k/s or 2M/s".to_string();
    let number = text.trim().strip_suffix("/s").ok_or_else(why)?.trim_end();
    let (number, factor) = match number.strip_suffix(['k', 'K', 'M']) {
        Some(rest) if number.ends_with('M') => (rest, 1e6),
        Some(rest) => (rest, 1e3),
        None => (number, 1.0),
    };
    let rate = number.trim_end().parse::<f64>().map_err(|_| why())? * factor;
    let whole = (rate.round() - rate).abs() < 1e-6;
    match whole && (1.0..=MOST_A_SECOND as f64).contains(&rate) {
        true => Ok(rate.round() as u64),
        false => Err("it is not a whole number of messages between 1/s and 100M/s".into()),
    }
}

/// The number of buffers that an end cycles through, as the transports' option takes it.
pub(crate) fn buffers(text: &str) -> Result<String, String> {
    BUFFERS.check(text)
}

/// A pause between messages.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    time(
        text,
        "100us or 10ms",
        Duration::from_nanos(100)..=Duration::from_secs(60),
        "100ns and 60s",
    )
}

/// A fraction of a mean, in percent.
pub(super) fn precision(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    match number {
        Ok(percent) if (0.1..=50.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("it is not between 0.1% and 50%; write it as 2%".into()),
    }
}

/// The bare round trip time of a distance.
pub(super) fn distance(text: &str) -> Result<Duration, String> {
    time(text, "72ns or 1us", Duration::from_nanos(1)..=Duration::from_millis(1), "1ns and 1ms")
}

/// A word of `--waits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitWord {
    /// The transports that it applies to: a name, a glob or a family; without it, all the others.
    pub transports: Option<String>,
    /// The wait; without it, all waits.
    pub wait: Option<Wait>,
}

/// Parses `spin`, `all` or `TRANSPORT=spin`.
pub(super) fn wait(word: &str) -> Result<WaitWord, String> {
    let (transports, word) = match word.split_once('=') {
        Some((transports, word)) => (Some(transports.to_owned()), word),
        None => (None, word),
    };
    let known = || word.parse().map(Some);
    let wait = if word == "all" { Ok(None) } else { known() };
    let wait = wait.map_err(|()| format!("waits are {}, and all", joined(Wait::ALL)))?;
    Ok(WaitWord { transports, wait })
}

pub(super) fn pattern(word: &str) -> Result<Pattern, String> {
    word.parse().map_err(|()| format!("patterns are {}", joined(Pattern::ALL)))
}

/// The words of `--format`, each with its summary.
pub(crate) fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let word = |format: &&Format| PossibleValue::new(format.name).help(format.summary);
    PossibleValuesParser::new(FORMATS.iter().map(word))
        .map(|name| format(&name).expect("the words are the names of the formats"))
}

/// Levels of the machine that two processors share, or all of them.
pub(crate) fn placement() -> impl TypedValueParser<Value = Pinning> {
    let words = Nearness::ALL.map(Nearness::as_str).into_iter().chain(["all"]);
    PossibleValuesParser::new(words).map(|word| {
        let nearness = Nearness::ALL.into_iter().find(|nearness| nearness.as_str() == word);
        nearness.map_or(Pinning::EachLevel, Pinning::Near)
    })
}

fn joined<T: ToString>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_its_unit() {
        for (text, rate) in [("1/s", 1), ("100 /s", 100), ("10k/s", 10_000), ("2.5M/s", 2_500_000)]
        {
            assert_eq!(super::rate(text), Ok(rate), "{text}");
        }
        for text in
            ["100", "0/s", "-1/s", "0.5/s", "1.5/s", "101M/s", "k/s", "/s", "nan/s", "1e99/s"]
        {
            assert!(super::rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wait_is_for_all_transports_or_for_some() {
        let word = |transports: Option<&str>, wait| {
            Ok(WaitWord { transports: transports.map(str::to_owned), wait })
        };
        assert_eq!(wait("block"), word(None, Some(Wait::Block)));
        assert_eq!(wait("shm-*=spin"), word(Some("shm-*"), Some(Wait::Spin)));
        assert_eq!(wait("pipe=all"), word(Some("pipe"), None));
        assert!(wait("pipe").is_err() && wait("pipe=").is_err() && wait("pipe=sleep").is_err());
    }

    #[test]
    fn a_pause_has_its_unit_and_an_end() {
        assert_eq!(interval("10ms"), Ok(Duration::from_millis(10)));
        assert!(interval("0ns").is_err() && interval("2m").is_err() && interval("5").is_err());
    }
}
