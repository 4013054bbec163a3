//! Where the lines of a text may end.

use textwrap::{Options, WordSeparator, WordSplitter, core::Word};

/// The signs of units, as tables and sentences have them, in ASCII too.
const UNITS: [&str; 14] = [
    "ns",
    "µs",
    "us",
    "ms",
    "s",
    "B",
    "KiB",
    "MiB",
    "GiB",
    "MB/s",
    "GB/s",
    "%",
    "cores",
    "processors",
];

/// Lines of this width that end at spaces: not between a number and its unit, and not at a hyphen, because a name or a
/// command that is broken there could not be copied.
pub fn unbroken(width: usize) -> Options<'static> {
    Options::new(width)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
}

/// The text with no-break spaces where [`unbroken`] ends no line, for a browser.
pub(crate) fn firm(text: &str) -> String {
    let firm = |word: Word<'_>| word.word.replace(' ', "\u{a0}") + word.whitespace;
    words(text).map(firm).collect()
}

/// Words between spaces; a number and its unit are one word.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let (mut at, mut last) = (0, "");
    for word in WordSeparator::AsciiSpace.find_words(line) {
        let end = at + word.word.len() + word.whitespace.len();
        match found.last_mut().filter(|_| belong_together(last, word.word)) {
            Some((_, to)) => *to = end,
            None => found.push((at, end)),
        }
        (at, last) = (end, word.word);
    }
    Box::new(found.into_iter().map(|(from, to)| Word::from(&line[from..to])))
}

/// True for a number and its unit, and for `±` or `+-` and its number.
fn belong_together(first: &str, second: &str) -> bool {
    let unit = second.trim_end_matches([',', ';', ':', '.', ')']);
    let number = first.trim_start_matches('(');
    let is_number = number.starts_with(|first: char| first.is_ascii_digit())
        && number.chars().all(|sign| sign.is_ascii_digit() || ",.e-".contains(sign));
    matches!(first, "±" | "+-") || (is_number && UNITS.contains(&unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_ends_between_a_number_and_its_unit() {
        let text =
            "fastest shm-ring, 33.3 µs ± 2 %; a wake-up took (1,234.5 ms) of 2.00 cores and 3 rows";
        for width in 12..text.len() {
            let lines = textwrap::wrap(text, unbroken(width).break_words(false));
            for line in &lines {
                let ends = ["33.3", "±", "2", "(1,234.5", "2.00"];
                assert!(
                    !ends.iter().any(|end| line.split(' ').next_back() == Some(end)),
                    "{lines:?}"
                );
            }
            assert_eq!(lines.join(" "), text);
        }
        let lines = textwrap::wrap("in 3 rows", unbroken(4));
        assert_eq!(lines, ["in 3", "rows"]);
    }

    #[test]
    fn a_browser_gets_no_break_spaces_and_the_same_text() {
        let text = "fastest shm-ring, 33.3 µs ± 2 %;  in 3 rows ";
        assert_eq!(firm(text), "fastest shm-ring, 33.3\u{a0}µs ±\u{a0}2\u{a0}%;  in 3 rows ");
    }
}
