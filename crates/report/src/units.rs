//! Numbers formatted for people: three significant digits, thousands separators, a unit.

/// The unit of the times of one group, so that they compare at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// The unit for times between these two: µs if possible, so that most tables have the same
    /// unit, and ns only if every time is far below one µs.
    pub fn of_range(least_ns: f64, greatest_ns: f64) -> Self {
        match least_ns {
            _ if greatest_ns < 100.0 => Unit::Ns,
            ns if ns < 10e6 => Unit::Us,
            ns if ns < 10e9 => Unit::Ms,
            _ => Unit::S,
        }
    }

    /// The unit for a single time.
    fn of_one(ns: f64) -> Self {
        match ns {
            ns if ns < 1e3 => Unit::Ns,
            ns if ns < 1e6 => Unit::Us,
            ns if ns < 1e9 => Unit::Ms,
            _ => Unit::S,
        }
    }

    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "µs",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }

    /// A time in this unit, without its sign.
    pub fn time(self, ns: f64) -> String {
        figure(ns / self.ns())
    }

    fn ns(self) -> f64 {
        match self {
            Unit::Ns => 1.0,
            Unit::Us => 1e3,
            Unit::Ms => 1e6,
            Unit::S => 1e9,
        }
    }
}

/// A single time: `51.6 ns`, `150 ms`.
pub fn duration(ns: f64) -> String {
    let unit = Unit::of_one(ns);
    format!("{} {}", unit.time(ns), unit.sign())
}

/// A number with three significant digits, at most three of them behind the point and all digits
/// before it: `0.104`, `45.6`, `12,345`; from ten million on `1.23e7`.
pub fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if value >= 1e7 {
        return format!("{value:.2e}");
    }
    let rounded = |decimals: usize| format!("{value:.decimals$}");
    let enough = |text: &str| text.bytes().filter(u8::is_ascii_digit).count() <= digits(text);
    let text = (0..=3).rev().map(rounded).find(|text| enough(text)).unwrap_or_else(|| rounded(0));
    with_separators(&text)
}

/// The number of digits that a text may have: three, plus leading zeros.
fn digits(text: &str) -> usize {
    let zeros = text.bytes().take_while(|byte| matches!(byte, b'0' | b'.'));
    3 + zeros.filter(|byte| *byte == b'0').count()
}

/// A share in percent, for uncertain values: `0.6 %`, `3 %`, `260 %`.
pub fn percent(part: f64) -> String {
    let percent = part * 100.0;
    let text = if percent < 0.95 { format!("{percent:.1}") } else { format!("{percent:.0}") };
    format!("{text} %")
}

/// Half of the relative width of an interval: as [`percent`], but `> 999 %` where more digits would say nothing more.
pub fn half_width(width: f64) -> String {
    if width < 9.995 { percent(width) } else { "> 999 %".into() }
}

/// A count: `1,234,567`.
pub fn count(value: u64) -> String {
    with_separators(&value.to_string())
}

/// A number of bytes: `64 B`, `4 KiB`, `1 MiB`; binary, and exact.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let exact = UNITS.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    let (unit, sign) = exact.unwrap_or(&(1, "B"));
    format!("{} {sign}", count(bytes / unit))
}

/// A number's text with a comma before every third digit left of the point.
fn with_separators(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut parted = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            parted.push(',');
        }
        parted.push(digit);
    }
    parted + rest
}

/// Pads numbers on their right so that their points align once they are right-aligned.
pub fn align_points(texts: &mut [String]) {
    let tail = |text: &str| text.find('.').map_or(0, |point| text.len() - point);
    let longest = texts.iter().map(|text| tail(text)).max().unwrap_or(0);
    for text in texts {
        let missing = longest - tail(text);
        text.push_str(&" ".repeat(missing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_three_significant_digits_and_its_whole_part() {
        for (value, text) in [
            (0.0, "0"),
            (0.0004, "0.000"),
            (0.0104, "0.010"),
            (0.1044, "0.104"),
            (0.9996, "1.00"),
            (1.0, "1.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (45.64, "45.6"),
            (99.96, "100"),
            (999.6, "1,000"),
            (12_345.4, "12,345"),
            (9_999_999.0, "9,999,999"),
            (12_345_678.0, "1.23e7"),
            (1e300, "1.00e300"),
        ] {
            assert_eq!(figure(value), text, "{value}");
        }
    }

    /// On a busy machine a table once said ± 158526420 %.
    #[test]
    fn an_interval_is_as_wide_as_it_says_something() {
        for (width, text) in [
            (0.004, "0.4 %"),
            (0.031, "3 %"),
            (9.99, "999 %"),
            (9.996, "> 999 %"),
            (1.6e6, "> 999 %"),
        ] {
            assert_eq!(half_width(width), text, "{width}");
        }
    }

    #[test]
    fn sizes_are_binary_and_exact() {
        for (bytes, text) in [
            (0, "0 B"),
            (64, "64 B"),
            (1_000, "1,000 B"),
            (1_024, "1 KiB"),
            (4_096, "4 KiB"),
            (4_097, "4,097 B"),
            (1 << 20, "1 MiB"),
            (1_536 << 10, "1,536 KiB"),
            (3 << 30, "3 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn times_carry_the_unit_that_suits_them() {
        assert_eq!(duration(51.64), "51.6 ns");
        assert_eq!(duration(150e6), "150 ms");
        assert_eq!(duration(3.6e12), "3,600 s");
        let units = [(9.0, 90.0), (9.0, 110.0), (9e6, 9e9), (11e6, 11e6), (11e9, 11e9)]
            .map(|(least, greatest)| Unit::of_range(least, greatest));
        assert_eq!(units, [Unit::Ns, Unit::Us, Unit::Us, Unit::Ms, Unit::S]);
    }

    #[test]
    fn points_stand_below_one_another() {
        let mut texts = ["0.104", "45.6", "123", "–"].map(String::from);
        align_points(&mut texts);
        assert_eq!(texts, ["0.104", "45.6  ", "123    ", "–    "].map(String::from));
    }
}
