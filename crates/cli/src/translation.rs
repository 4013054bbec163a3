//! What a command line of another benchmark means to `ipcmark run`.

use crate::arguments::run::RunArguments;

/// Flags of `ipcmark run` that mean the same as a command line of another benchmark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Translation {
    /// The flags.
    pub words: Vec<String>,
    /// Its settings, apart from the flags because a path among them may hold a comma.
    pub settings: Vec<String>,
    /// True if its transports are all that the benchmark has, none of them named by the user.
    pub has_all: bool,
}

/// Flags that say how often everything is repeated.
const REPETITIONS: [&str; 3] = ["--trials", "--budget", "--precision"];

impl Translation {
    /// The flags that every tool has, with what was written behind `--`, which comes last and so
    /// overrides. All of them measure once.
    pub(crate) fn new(flags: &[(&str, &str)], rest: &[String]) -> Self {
        let flags = flags.iter().map(|(flag, value)| format!("--{flag}={value}"));
        let repeats = |word: &String| REPETITIONS.iter().any(|flag| word.starts_with(flag));
        let once = (!rest.iter().any(repeats)).then(|| "--trials=1".to_owned());
        let words = flags.chain(once).chain(rest.iter().cloned()).collect();
        Self { words, settings: Vec::new(), has_all: false }
    }

    /// The same, of all that the benchmark has: what is not available is shown, and no error.
    pub(crate) fn of_all(self) -> Self {
        Self { has_all: true, ..self }
    }

    /// The flags of `ipcmark run`. An error is in what was written behind `--`.
    pub(crate) fn arguments(self) -> Result<RunArguments, clap::Error> {
        let mut arguments = RunArguments::of_words(&self.words)?;
        let names = |word: &&String| word.starts_with("-t") || word.starts_with("--transports");
        arguments.has_all = self.has_all && self.words.iter().filter(names).count() == 1;
        arguments.set.splice(0..0, self.settings);
        Ok(arguments)
    }
}
