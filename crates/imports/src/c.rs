//! The imports of C and C++: the includes of each file. A header and a source with the same name count as
//! one file.

use crate::{
    graph::Graph,
    sources::{Sources, folder},
};

/// The folders in which compilers are told to search.
const ROOTS: [&str; 2] = ["modules", "include"];

/// The imports among all C and C++ files.
pub fn imports(sources: &Sources) -> Graph {
    let mut graph = Graph::default();
    for path in sources.with_ending(&["c", "h", "cc", "cpp", "hpp"]) {
        let text = without_comments(sources.text(path).unwrap_or_default());
        for include in text.lines().filter_map(included) {
            if let Some(found) = find(sources, path, &include) {
                graph.add(unit(path), unit(found), include.name);
            }
        }
    }
    graph
}

/// An `#include`.
#[derive(Debug, PartialEq, Eq)]
struct Include<'t> {
    name: &'t str,
    /// True if it is in quotes: then it is first searched for in the file's own folder.
    is_quoted: bool,
}

fn find<'s>(sources: &'s Sources, path: &str, include: &Include) -> Option<&'s str> {
    let beside = include.is_quoted.then(|| folder(path));
    beside.into_iter().chain(ROOTS).find_map(|folder| sources.find(folder, include.name))
}

/// A path without its extension.
fn unit(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(unit, _)| unit)
}

fn included(line: &str) -> Option<Include<'_>> {
    let rest =
        line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let (is_quoted, rest) = match rest.strip_prefix('"') {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix('<')?),
    };
    let (name, _) = rest.split_once(if is_quoted { '"' } else { '>' })?;
    Some(Include { name, is_quoted })
}

/// The text with a blank for each comment and each raw string, in which an `#include` at the start of a line has no
/// effect.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (len, is_kept) = piece(rest, &out);
        if is_kept {
            out.push_str(&rest[..len]);
        } else {
            out.push(' ');
            out.extend(rest[..len].chars().filter(|&c| c == '\n'));
        }
        rest = &rest[len..];
    }
    out
}

/// The length of the comment, string or character at the start of `text`, and true if it is kept.
fn piece(text: &str, before: &str) -> (usize, bool) {
    let until = |end: &str, from: usize| {
        text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
    };
    if text.starts_with("//") {
        (text.find('\n').unwrap_or(text.len()), false)
    } else if text.starts_with("/*") {
        (until("*/", 2), false)
    } else if text.starts_with("R\"")
        && !before.ends_with(|c: char| c.is_alphanumeric() && c != 'u' && c != 'L')
    {
        let mark = text[2..].split('(').next().unwrap_or_default();
        (until(&format!("){mark}\""), 2), false)
    } else if text.starts_with(['"', '\'']) && !is_digit_separator(text, before) {
        (quoted(text), true)
    } else {
        (text.chars().next().map_or(0, char::len_utf8), true)
    }
}

/// The `'` in 100'000.
fn is_digit_separator(text: &str, before: &str) -> bool {
    let follows = text.chars().nth(1).is_some_and(|c| c.is_ascii_hexdigit());
    text.starts_with('\'') && follows && before.ends_with(|c: char| c.is_ascii_hexdigit())
}

/// The length of the string or character literal at the start of `text`; it ends at the end of the line at
/// the latest.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    let quote = text.chars().next();
    for (at, c) in text.char_indices().skip(1) {
        if !is_escaped && (Some(c) == quote || c == '\n') {
            return at + c.len_utf8();
        }
        is_escaped = !is_escaped && c == '\\';
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles<const N: usize>(files: [(&str, &str); N]) -> usize {
        imports(&Sources::from(files)).cycles().len()
    }

    #[test]
    fn headers_that_include_each_other_are_a_cycle() {
        assert_eq!(
            cycles([("modules/x/a.h", "#include \"b.h\""), ("modules/x/b.h", "# include \"a.h\"")]),
            1
        );
    }

    #[test]
    fn a_header_and_its_source_are_one_file() {
        let cycle = [
            ("modules/x/a.hpp", ""),
            ("modules/x/a.cpp", "#include \"a.hpp\"\n#include \"b.hpp\""),
            ("modules/x/b.hpp", ""),
            ("modules/x/b.cpp", "#include \"b.hpp\"\n#include \"a.hpp\""),
        ];
        assert_eq!(cycles(cycle), 1);
        assert_eq!(cycles([cycle[0], cycle[1], cycle[2]]), 0);
    }

    #[test]
    fn includes_are_looked_for_beside_the_file_and_in_the_roots() {
        let sources = Sources::from([
            (
                "modules/x/a.h",
                "#include \"shared/c/b.h\"\n#include <ipcmark/transport.h>\n#include <a.h>",
            ),
            ("modules/shared/c/b.h", "#include \"../../x/a.h\""),
            ("include/ipcmark/transport.h", ""),
        ]);
        let mut expected = Graph::default();
        expected.add("modules/x/a", "modules/shared/c/b", "shared/c/b.h");
        expected.add("modules/x/a", "include/ipcmark/transport", "ipcmark/transport.h");
        expected.add("modules/shared/c/b", "modules/x/a", "../../x/a.h");
        assert_eq!(imports(&sources), expected);
    }

    #[test]
    fn comments_and_strings_include_nothing() {
        for text in [
            "/*\n#include \"b.h\"\n*/",
            "// #include \"b.h\"",
            "auto s = R\"x(\n#include \"b.h\"\n)\" )x\";",
            "auto s = \"/*\"; // */ #include \"b.h\"",
        ] {
            assert_eq!(cycles([("a.h", text), ("b.h", "#include \"a.h\"")]), 0, "{text}");
        }
    }

    #[test]
    fn an_include_after_a_comment_or_a_string_counts() {
        for text in [
            "/* x */ #include \"b.h\"",
            "#include \"b.h\" // why",
            "auto s = \"/*\";\n#include \"b.h\"\nauto t = \"*/\";",
            "char c = '\"';\n#include \"b.h\"",
            "int n = 100'000;\n#include \"b.h\"\n",
            "auto s = R\"(/*)\";\n#include \"b.h\"\n",
        ] {
            assert_eq!(cycles([("a.h", text), ("b.h", "#include \"a.h\"")]), 1, "{text}");
        }
    }
}
