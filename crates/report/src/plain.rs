//! Words of a result file as people read them.

pub use ipcmark_transport::plain;

/// A word of the result file, such as `shared-memory`, as people write it.
pub fn words(word: &str) -> String {
    plain(word).replace('-', " ")
}

/// Text on one line with nothing in it that Markdown takes for a mark of its own.
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
