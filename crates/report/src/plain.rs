//! Text of others, made harmless: a reason may carry whatever a worker wrote to its standard error.

/// The text on one line, with nothing in it that a terminal obeys: white space becomes a blank,
/// control characters and marks that change the direction of writing or the width of the character
/// before them are spelled out.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for char in text.trim().chars() {
        match char {
            char if char.is_whitespace() => plain.push(' '),
            char if is_unsafe(char) => plain.extend(char.escape_unicode()),
            char => plain.push(char),
        }
    }
    plain
}

/// A word of the result file, such as `shared-memory`, as people write it.
pub fn words(word: &str) -> String {
    plain(word).replace('-', " ")
}

fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_spelled_out() {
        assert_eq!(
            plain("a\x1b[2Jb\nc\td\u{9b}e\u{202e}f\r\n"),
            r"a\u{1b}[2Jb c d\u{9b}e\u{202e}f"
        );
        assert_eq!(plain("µs × ½ – ok"), "µs × ½ – ok");
    }

    #[test]
    fn no_mark_widens_the_character_before_it() {
        assert_eq!(plain("*\u{fe0f}"), r"*\u{fe0f}");
    }
}
