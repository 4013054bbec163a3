//! Trace files: the messages that an application sent, one per line, with time and size.

use std::{path::Path, time::Duration};

use csv::{ReaderBuilder, StringRecord, Trim};
use ipcmark_engine::{MOST_RECORDED, Trace};

use super::{text_file, values::LONGEST_TRIAL};

/// The columns that can hold the times, and their units in nanoseconds.
const TIMES: [(&str, i128); 5] = [
    ("time", 1_000_000_000),
    ("time_s", 1_000_000_000),
    ("time_ms", 1_000_000),
    ("time_us", 1_000),
    ("time_ns", 1),
];

/// The most digits of a time before its point, and the most that count behind it.
const WHOLE_DIGITS: usize = 20;
const FRACTION_DIGITS: usize = 9;

/// The columns that can hold the sizes, in bytes.
const SIZES: [&str; 3] = ["size", "bytes", "length"];

/// Reads a trace.
pub(crate) fn read(path: &Path) -> Result<Trace, String> {
    let name = path.display();
    let text = text_file::read_recorded(path)
        .map_err(|error| format!("cannot read the trace {name}: {error}"))?;
    parse(&text).map_err(|why| {
        format!(
            "cannot play the trace {name}: {why}; its lines are time,size as in examples/trace.csv"
        )
    })
}

/// The length of a trial: all of the trace, or `duration` of it. An error if that is longer than a trial may be, or ends
/// before the first message, which comes after the mean time between two: then a line has probably a wrong time.
pub(crate) fn length(trace: &Trace, duration: Option<Duration>) -> Result<Duration, String> {
    let span = Duration::from_nanos(trace.span_ns());
    let mean = Duration::from_nanos(trace.load().gap_ns().unwrap_or(0.0) as u64);
    let text = |time: Duration| humantime::format_duration(whole_seconds(time)).to_string();
    match duration {
        None if span > LONGEST_TRIAL => Err(format!(
            "the trace lasts {}, and a trial at most 1h: correct its times, or play a part of it with --duration",
            text(span)
        )),
        Some(duration) if duration < mean => Err(format!(
            "the messages of the trace are {} apart on average, so that a trial of {} ends before the first: correct \
             its times, or choose a longer --duration",
            text(mean),
            text(duration)
        )),
        _ => Ok(duration.unwrap_or(span)),
    }
}

/// The same time without fractions of a second, if it is longer.
fn whole_seconds(time: Duration) -> Duration {
    if time.as_secs() > 0 { Duration::from_secs(time.as_secs()) } else { time }
}

fn parse(text: &str) -> Result<Trace, String> {
    let mut reader =
        ReaderBuilder::new().trim(Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| error.to_string())?.clone();
    let place = |names: &[&str]| head.iter().position(|column| names.contains(&column));
    let time = TIMES.iter().find_map(|(name, unit_ns)| Some((place(&[name])?, *unit_ns)));
    let (time, unit_ns) = time.ok_or("its first line names no column time")?;
    let size = place(&SIZES).ok_or("its first line names no column size")?;
    let mut recorded = Vec::new();
    for line in reader.records() {
        let line = line.map_err(|error| error.to_string())?;
        if recorded.len() == MOST_RECORDED {
            return Err(format!("it has more than {MOST_RECORDED} messages"));
        }
        recorded.push((time_ns(&line, time, unit_ns)?, bytes(&line, size)?));
    }
    let earliest = recorded.iter().map(|(at_ns, _)| *at_ns).min().unwrap_or(0);
    let since = |(at_ns, bytes): (i128, u32)| Some((u64::try_from(at_ns - earliest).ok()?, bytes));
    let recorded: Option<Vec<_>> = recorded.into_iter().map(since).collect();
    Trace::new(recorded.ok_or("its messages are centuries apart")?)
}

fn time_ns(line: &StringRecord, column: usize, unit_ns: i128) -> Result<i128, String> {
    let text = line.get(column).unwrap_or_default();
    decimal_ns(text, unit_ns).ok_or_else(|| wrong(line, text, "a time"))
}

/// A decimal number of a unit in whole nanoseconds. Not parsed as a double, which has steps of 256 ns for a time of
/// day.
fn decimal_ns(text: &str, unit_ns: i128) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    let has_digits =
        (1..=WHOLE_DIGITS).contains(&whole.len().max(usize::from(!fraction.is_empty())));
    if !has_digits || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let all: i128 = format!("{whole}{fraction}").parse().ok()?;
    Some(sign * all * unit_ns / 10_i128.pow(fraction.len() as u32))
}

fn bytes(line: &StringRecord, column: usize) -> Result<u32, String> {
    let text = line.get(column).unwrap_or_default();
    text.parse().map_err(|_| wrong(line, text, "a number of bytes"))
}

fn wrong(line: &StringRecord, text: &str, what: &str) -> String {
    let number = line.position().map_or(0, |position| position.line());
    let shown: String = text.chars().filter(|char| !char.is_control()).take(20).collect();
    format!("in line {number}, '{shown}' is not {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_columns_any_order() {
        let seconds = parse("time,size\n0.001,64\n0,100\n").unwrap();
        assert_eq!((seconds.span_ns(), seconds.largest()), (2_000_000, 100));
        let others = [
            "size,note,time_us\n64,x,1001\n100,,1\n",
            "# a comment\ntime_ms, bytes\n0,100\n1, 64\n",
        ];
        for other in others {
            assert_eq!(parse(other).unwrap().load(), seconds.load(), "{other}");
        }
    }

    #[test]
    fn a_time_of_day_keeps_its_microseconds() {
        let trace = parse("time,size\n1700000000.000000,64\n1700000000.000001,64\n").unwrap();
        let gap_ns = trace.span_ns() / 2;
        assert_eq!(gap_ns, 1000);
        assert_eq!(
            decimal_ns("-1700000000.000000001", 1_000_000_000),
            Some(-1_700_000_000_000_000_001)
        );
        assert_eq!(
            [".5", "5.", "7"].map(|text| decimal_ns(text, 1000)),
            [Some(500), Some(5000), Some(7000)]
        );
        assert!(
            ["", ".", "-", "1e3", "1.2.3", "+1"].iter().all(|text| decimal_ns(text, 1).is_none())
        );
    }

    /// One line without a time of day among others with one.
    #[test]
    fn a_trial_is_no_longer_than_an_hour() {
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        let played = |text: &str, duration| length(&parse(text).unwrap(), duration);
        let stray = "time,size\n0,64\n1700000000,64\n1700000001,64\n";
        let why = played(stray, None).unwrap_err();
        assert!(why.contains("lasts 80years") && why.contains("--duration"), "{why}");
        let why = played(stray, Some(hours(1))).unwrap_err();
        assert!(why.contains("26years") && why.contains("a trial of 1h ends before"), "{why}");
        let long = "time,size\n0,64\n2700,64\n5400,64\n";
        assert!(played(long, None).unwrap_err().contains("lasts 2h 15m,"));
        assert_eq!(played(long, Some(hours(1))), Ok(hours(1)));
        assert_eq!(played("time,size\n0,64\n1800,64\n", None), Ok(hours(1)));
        let short = played("time_ms,size\n0,64\n500,64\n", Some(Duration::from_millis(200)));
        assert!(short.unwrap_err().contains("500ms apart on average, so that a trial of 200ms"));
    }

    #[test]
    fn invalid_traces_are_rejected_with_the_reason() {
        let refused = |text: &str| parse(text).unwrap_err();
        assert!(refused("").contains("no column time"));
        assert!(refused("time,weight\n").contains("no column size"));
        assert!(refused("time,size\n0,64\nx\u{1b},64\n").contains("in line 3, 'x' is not a time"));
        assert!(refused("time,size\n0,-1\n").contains("'-1' is not a number of bytes"));
        assert!(refused("time,size\nNaN,1\n").contains("is not a time"));
        assert!(refused("time,size\n0,64\n").ends_with("messages can be played, and it has 1"));
        assert!(
            refused("time,size\n0,64\n1\n").contains("line: 3"),
            "{}",
            refused("time,size\n0,64\n1\n")
        );
    }
}
