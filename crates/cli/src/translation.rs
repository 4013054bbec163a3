//! The translation of another benchmark's command line to `ipcmark run`.

use ipcmark_transport::Wait;

use crate::arguments::{run::RunArguments, values::WaitWord};

/// Flags of `ipcmark run` that are equivalent to a command line of another benchmark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Translation {
    /// The flags.
    pub words: Vec<String>,
    /// Its settings, separate from the flags because a path among them may contain a comma.
    pub settings: Vec<String>,
    /// True if its transports are all that the benchmark has, and the user named none of them.
    pub has_all: bool,
    /// Transports that can only poll, whatever wait is set for the others.
    pub polled: &'static [&'static str],
}

/// Flags that set the number of repetitions.
const REPETITIONS: [&str; 3] = ["--trials", "--budget", "--precision"];

impl Translation {
    /// The flags that every tool has, the transports first, then the words after `--`, which come last and
    /// so override. All of them measure once.
    pub(crate) fn new(flags: &[(&str, &str)], rest: &[String]) -> Self {
        let flags = flags.iter().filter(|(flag, _)| !has_list(rest, flag));
        let flags = flags.map(|(flag, value)| format!("--{flag}={value}"));
        let repeats = |word: &String| REPETITIONS.iter().any(|flag| word.starts_with(flag));
        let once = (!rest.iter().any(repeats)).then(|| "--trials=1".to_owned());
        let words = flags.chain(once).chain(rest.iter().cloned()).collect();
        Self { words, settings: Vec::new(), has_all: false, polled: &[] }
    }

    /// The same for all transports of the benchmark: unavailable ones are shown, and are not
    /// errors.
    pub(crate) fn of_all(self) -> Self {
        let has_all = self.words.first().is_some_and(|word| word.starts_with("--transports="));
        Self { has_all, ..self }
    }

    /// The flags of `ipcmark run`. An error is in the words after `--`.
    pub(crate) fn arguments(self) -> Result<RunArguments, clap::Error> {
        let mut arguments = RunArguments::of_words(&self.words)?;
        arguments.has_all = self.has_all;
        arguments.set.splice(0..0, self.settings);
        arguments.waits.get_or_insert_default().extend(
            self.polled.iter().map(|name| WaitWord {
                transports: Some((*name).to_owned()),
                wait: Some(Wait::Spin),
            }),
        );
        Ok(arguments)
    }
}

/// Flags whose values accumulate when they are repeated.
const LISTS: [(&str, &str); 2] = [("transports", "-t"), ("waits", "-w")];

/// True if `words` contain a flag that takes a list.
fn has_list(words: &[String], flag: &str) -> bool {
    let short = LISTS.iter().find(|(long, _)| *long == flag).map(|(_, short)| *short);
    short.is_some_and(|short| {
        let long = format!("--{flag}");
        words.iter().any(|word| word.starts_with(short) || word.starts_with(&long))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_after_the_dashes_replace_those_of_the_benchmark() {
        let words = |rest: &str| {
            let rest: Vec<String> = rest.split_whitespace().map(Into::into).collect();
            let flags = [("transports", "pipe,tcp"), ("waits", "block"), ("sizes", "64")];
            Translation::new(&flags, &rest).of_all()
        };
        for (rest, expected, has_all) in [
            (
                "--timeout 5s",
                "--transports=pipe,tcp --waits=block --sizes=64 --trials=1 --timeout 5s",
                true,
            ),
            ("-w spin", "--transports=pipe,tcp --sizes=64 --trials=1 -w spin", true),
            ("-tudp", "--waits=block --sizes=64 --trials=1 -tudp", false),
            ("--transports=udp", "--waits=block --sizes=64 --trials=1 --transports=udp", false),
        ] {
            let translation = words(rest);
            assert_eq!(translation.words.join(" "), expected);
            assert_eq!(translation.has_all, has_all, "{rest}");
        }
    }
}
