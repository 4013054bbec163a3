//! What a command of `ipcmark` is: its name, its flags, and what it does.

use std::{ffi::OsString, process::ExitCode};

use clap::{ArgMatches, Args, FromArgMatches, parser::ValueSource};

use crate::guide::Guide;

/// A command, as its file defines it.
pub(crate) struct Definition {
    /// The word for it on the command line.
    pub name: &'static str,
    /// What it does, in a line of the help.
    pub summary: &'static str,
    /// What its help says beside its flags.
    pub guide: Guide,
    /// Adds its flags.
    pub flags: fn(clap::Command) -> clap::Command,
    /// Does it.
    pub run: fn(&Invocation<'_>) -> Outcome,
}

/// The exit status, or why the command line cannot be obeyed.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// A command line that cannot be obeyed, before anything was measured.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Its flags are wrong, or ask for help.
    Flags(clap::Error),
    /// What they ask for is refused, in a sentence.
    Refused(String),
}

/// The flags of a command that has none.
#[derive(Args)]
pub(crate) struct NoFlags {}

/// A command line that names a command.
pub(crate) struct Invocation<'a> {
    /// All commands and their flags.
    pub all: &'a clap::Command,
    /// What the help of each says.
    pub definitions: &'static [Definition],
    /// Its name and the words behind it.
    pub words: &'a [OsString],
    /// The flags found in them.
    pub flags: &'a ArgMatches,
}

impl Invocation<'_> {
    /// The flags as the command's own type.
    pub(crate) fn arguments<A: FromArgMatches>(&self) -> Result<A, Failure> {
        Ok(A::from_arg_matches(self.flags)?)
    }

    /// The same, with `more` flags in front of the user's, which override them.
    pub(crate) fn arguments_after<A: FromArgMatches>(
        &self,
        more: Vec<OsString>,
    ) -> Result<A, Failure> {
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

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Failure::Flags(error)
    }
}

impl From<String> for Failure {
    fn from(sentence: String) -> Self {
        Failure::Refused(sentence)
    }
}
