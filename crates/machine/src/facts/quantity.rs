//! Quantities in readable form.

/// Numbers from here on mean no limit: the kernel writes several.
const UNLIMITED: u64 = 1 << 60;

/// A count, or `not limited`.
pub(super) fn count(count: u64) -> String {
    if count < UNLIMITED { count.to_string() } else { "not limited".into() }
}

/// Bytes in readable form.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    if count >= UNLIMITED {
        return "not limited".into();
    }
    let unit = (count.max(1).ilog2() / 10).min(4);
    let number = count as f64 / 1024_f64.powi(unit as i32);
    let digits = usize::from(number < 10.0 && number.fract() >= 0.05);
    format!("{number:.digits$} {}", UNITS[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_their_unit() {
        for (count, words) in [
            (0, "0 B"),
            (8192, "8 KiB"),
            (212_992, "208 KiB"),
            (1_610_612_736, "1.5 GiB"),
            (1 << 42, "4 TiB"),
            (1 << 51, "2048 TiB"),
            (u64::MAX, "not limited"),
        ] {
            assert_eq!(bytes(count), words);
        }
    }
}
