//! Words of a result file in readable form.

pub use ipcmark_transport::plain;

/// A word of the result file, such as `shared-memory`, in readable form.
pub fn words(word: &str) -> String {
    plain(word).replace('-', " ")
}

/// Text for a terminal that only supports ASCII: an ASCII equivalent of each sign, `?` for all others. Lay out a table
/// after this, because some signs become wider.
pub fn ascii(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            char if char.is_ascii() => shown.push(char),
            'µ' | 'μ' => shown.push('u'),
            '×' | '✗' => shown.push('x'),
            '½' => shown.push_str("1/2"),
            '±' => shown.push_str("+-"),
            '–' | '—' | '−' | '‐' => shown.push('-'),
            '·' => shown.push('|'),
            '✓' => shown.push('+'),
            '→' => shown.push_str("->"),
            '≤' => shown.push_str("<="),
            '≥' => shown.push_str(">="),
            '…' => shown.push_str("..."),
            '‘' | '’' => shown.push('\''),
            '“' | '”' => shown.push('"'),
            '\u{a0}' => shown.push(' '),
            _ => shown.push('?'),
        }
    }
    shown
}

/// Text on one line with XML's special characters escaped.
pub fn markup(text: &str) -> String {
    quick_xml::escape::escape(plain(text)).into_owned()
}

/// Text on one line with Markdown's special characters escaped.
pub fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in plain(text).chars() {
        if matches!(char, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&') {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_typed_and_the_rest_is_marked() {
        let shown = ascii("½ round trip in µs · × floor ± – → … ✓ ✗ é\n\x1b[1m");
        assert_eq!(shown, "1/2 round trip in us | x floor +- - -> ... + x ?\n\x1b[1m");
    }
}
