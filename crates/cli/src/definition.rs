//! The definition of a command of `ipcmark`: its name, its flags, and its function.

use std::{ffi::OsString, process::ExitCode};

use clap::{ArgMatches, Args, FromArgMatches, parser::ValueSource};

use crate::guide::Guide;

/// A command, as its file defines it.
pub(crate) struct CommandDefinition {
    /// Its word on the command line.
    pub name: &'static str,
    /// Its summary, one line in the help.
    pub summary: &'static str,
    /// The text of its help besides the flags.
    pub guide: Guide,
    /// Adds its flags.
    pub flags: fn(clap::Command) -> clap::Command,
    /// Runs it.
    pub run: fn(&Invocation<'_>) -> CommandOutcome,
}

/// The exit status, or the reason why the command line is rejected.
pub(crate) type CommandOutcome = Result<ExitCode, Rejection>;

/// A command line that is rejected before anything is measured.
#[derive(Debug)]
pub(crate) enum Rejection {
    /// The flags are wrong, or request help.
    Flags(clap::Error),
    /// The request is refused, with a sentence.
    Refused(String),
}

/// The flags of a command that has none.
#[derive(Args)]
pub(crate) struct NoFlags {}

/// A command line that names a command.
pub(crate) struct Invocation<'a> {
    /// All commands and their flags.
    pub all: &'a clap::Command,
    /// The definitions of all commands.
    pub definitions: &'static [CommandDefinition],
    /// The command's name and the words after it.
    pub words: &'a [OsString],
    /// The parsed flags.
    pub flags: &'a ArgMatches,
}

impl Invocation<'_> {
    /// The flags as the command's own type.
    pub(crate) fn arguments<A: FromArgMatches>(&self) -> Result<A, Rejection> {
        Ok(A::from_arg_matches(self.flags)?)
    }

    /// The same, with `more` flags before the user's, which override them.
    pub(crate) fn arguments_after<A: FromArgMatches>(
        &self,
        more: Vec<OsString>,
    ) -> Result<A, Rejection> {
        let (name, own) = self.words.split_at(self.words.len().min(1));
        let words = [&["ipcmark".into()][..], name, &more, own].concat();
        let matches = self.all.clone().try_get_matches_from(words)?;
        let flags = matches.subcommand().map_or(self.flags, |(_, flags)| flags);
        Ok(A::from_arg_matches(flags)?)
    }

    /// True if the user has written this flag.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.ids().any(|id| id == flag)
            && self.flags.value_source(flag) == Some(ValueSource::CommandLine)
    }
}

impl From<clap::Error> for Rejection {
    fn from(error: clap::Error) -> Self {
        Rejection::Flags(error)
    }
}

impl From<String> for Rejection {
    fn from(sentence: String) -> Self {
        Rejection::Refused(sentence)
    }
}
