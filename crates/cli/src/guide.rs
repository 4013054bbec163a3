//! The text of a command's help and `man` page besides its flags; both use the same words.

/// The text of a command's help besides its flags.
pub(crate) struct Guide {
    /// More about the command than its summary: a paragraph, or empty.
    pub about: &'static str,
    /// Example command lines, each with an explanation, which is empty if none is needed.
    pub examples: &'static [(&'static str, &'static str)],
    /// The meaning of its exit statuses.
    pub exit: &'static str,
    /// Related commands to read about next.
    pub see_also: &'static [&'static str],
}

/// The text of the help of `ipcmark` itself.
pub(crate) const MAIN: Guide = Guide {
    about: "",
    examples: &[
        ("ipcmark run", "measure everything that is here"),
        ("ipcmark advise --size 4k --rate 1k/s", "which transport to use"),
        ("ipcmark doctor", "is this machine fit to measure on?"),
    ],
    exit: "0 everything requested was measured; 1 something requested failed or is not available; 2 the command line \
    is wrong; \
           128 + signal after Ctrl-C or SIGTERM",
    see_also: &["run", "list", "advise", "doctor"],
};

impl Guide {
    /// The text after the flags in the help.
    pub(crate) fn text(&self) -> String {
        let mut parts = Vec::new();
        if !self.about.is_empty() {
            parts.push(self.about.to_owned());
        }
        parts.push(format!("Examples:\n{}", self.lines("  ")));
        parts.push(format!("Exit status: {}.", self.exit));
        let others: Vec<String> =
            self.see_also.iter().map(|name| format!("ipcmark {name}")).collect();
        parts.push(format!("See also: {}", others.join(", ")));
        parts.join("\n\n")
    }

    /// The same as sections of a page for `man`.
    pub(crate) fn sections(&self) -> String {
        let mut page = String::new();
        if !self.about.is_empty() {
            page += &format!(".SH NOTES\n{}\n", escaped(self.about));
        }
        let examples = escaped(&self.lines(""));
        page += &format!(".SH EXAMPLES\n.nf\n{examples}\n.fi\n");
        page += &format!(".SH EXIT STATUS\n{}.\n", escaped(self.exit));
        let other = |name: &&str| format!("\\fBipcmark-{}\\fR(1)", escaped(name));
        let others: Vec<String> = self.see_also.iter().map(other).collect();
        page + &format!(".SH SEE ALSO\n{}\n", others.join(", "))
    }

    /// One line per example, with its explanation in a column of its own, or above a command that is too long
    /// for that.
    fn lines(&self, indent: &str) -> String {
        let widths = self.examples.iter().map(|(command, _)| command.chars().count());
        let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
        let line = |(command, what): &(&str, &str)| match (what.is_empty(), command.chars().count())
        {
            (true, _) => format!("{indent}{command}"),
            (false, own) if own > width => {
                format!("{indent}{command}\n{indent}{:width$}  {what}", "")
            }
            (false, _) => format!("{indent}{command:<width$}  {what}"),
        };
        self.examples.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The text after the flags of a subcommand, as a section of its page.
pub(crate) fn notes(help: &str) -> String {
    format!(".SH NOTES\n.nf\n{}\n.fi\n", escaped(help))
}

/// The longest command line with its explanation on the same line.
const WIDEST: usize = 58;

/// Text escaped for groff: no line is a request, and no character an escape.
fn escaped(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        if line.starts_with('.') { format!("\\&{line}") } else { line }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: Guide = Guide {
        about: "It does it.",
        examples: &[
            ("ipcmark it", "so"),
            ("ipcmark it --with 'this'", "and so"),
            ("ipcmark else", ""),
        ],
        exit: "0 it did",
        see_also: &["run", "show"],
    };

    #[test]
    fn help_and_page_say_the_same() {
        assert_eq!(
            GUIDE.text(),
            "It does it.\n\nExamples:\n  ipcmark it                so\n  ipcmark it --with 'this'  and so\n  \
             ipcmark else\n\nExit status: 0 it did.\n\nSee also: ipcmark run, ipcmark show"
        );
        let page = GUIDE.sections();
        for line in [
            "ipcmark it                so",
            "ipcmark it \\-\\-with \\(aqthis\\(aq  and so",
            "\\fBipcmark-run\\fR(1), \\fBipcmark-show\\fR(1)",
        ] {
            assert!(page.lines().any(|own| own == line), "{line} is not in: {page}");
        }
    }

    #[test]
    fn a_line_of_a_page_is_never_a_request() {
        assert_eq!(escaped(".so /etc/passwd\n\\f"), "\\&.so /etc/passwd\n\\ef");
    }
}
