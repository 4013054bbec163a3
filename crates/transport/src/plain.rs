//! Makes text from outside safe to print: a reason may contain anything that a library wrote.

/// The text on one line, without anything that a terminal interprets: white space becomes a blank, and colour
/// sequences are removed. Other control characters, marks that change the direction of writing or the width of
/// the preceding character, and invisible characters are escaped.
pub fn plain(text: &str) -> String {
    let text = without_colours(text.trim());
    let mut plain = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            char if char.is_whitespace() => plain.push(' '),
            char if is_unsafe(char) => plain.extend(char.escape_unicode()),
            char => plain.push(char),
        }
    }
    plain
}

/// Removes `ESC [ numbers m`, the most frequent sequences in library output: they carry no information.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|char: char| char.is_ascii_digit() || char == ';');
        match rest.strip_prefix('m') {
            Some(rest) => kept.push_str(rest),
            None => kept.extend(["\x1b[", part]),
        }
    }
    kept
}

fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            plain("a\x1b[2Jb\nc\td\u{9b}e\u{202e}f\r\n"),
            r"a\u{1b}[2Jb c d\u{9b}e\u{202e}f"
        );
        assert_eq!(plain("µs × ½ – ok"), "µs × ½ – ok");
    }

    #[test]
    fn colours_are_left_out_and_nothing_else() {
        assert_eq!(plain("\x1b[1;31mError\x1b[0m: \x1b[mx"), "Error: x");
        assert_eq!(plain("a\x1b[31"), r"a\u{1b}[31");
        assert_eq!(plain("a\x1b[\x1b[m31m"), r"a\u{1b}[31m");
        assert_eq!(plain("\x1b]0;title\x07x"), r"\u{1b}]0;title\u{7}x");
    }

    #[test]
    fn no_mark_widens_the_character_before_it() {
        assert_eq!(plain("*\u{fe0f}"), r"*\u{fe0f}");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(plain("a\u{61c}b\u{e0041}"), r"a\u{61c}b\u{e0041}");
    }
}
