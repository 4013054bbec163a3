//! Flags of `ipcmark run` that other commands take too and pass on.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, parser::ValueSource};

use super::run::RunArguments;

/// The flags of `ipcmark run` without those in `but`.
pub(crate) fn flags_of_run(but: &[&str]) -> Vec<Arg> {
    let run = RunArguments::augment_args(Command::new("run"));
    run.get_arguments().filter(|arg| !but.contains(&arg.get_id().as_str())).cloned().collect()
}

/// True if the user has written a flag.
pub(crate) fn is_given(flags: &ArgMatches, flag: &str) -> bool {
    flags.ids().any(|id| id == flag) && flags.value_source(flag) == Some(ValueSource::CommandLine)
}

/// The flags among `all` that the user has written, as words of a command line.
pub(crate) fn given(all: &[Arg], flags: &ArgMatches) -> Vec<OsString> {
    let mut words = Vec::new();
    for flag in all.iter().filter(|flag| is_given(flags, flag.get_id().as_str())) {
        let Some(name) = flag.get_long() else { continue };
        if matches!(flag.get_action(), ArgAction::SetTrue) {
            words.push(format!("--{name}").into());
            continue;
        }
        for value in flags.get_raw(flag.get_id().as_str()).into_iter().flatten() {
            let mut word = OsString::from(format!("--{name}="));
            word.push(value);
            words.push(word);
        }
    }
    words
}
