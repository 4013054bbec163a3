//! Completion of words in a shell: the shell's script asks this command, which knows transports, options,
//! formats and files.

mod scripts;
pub(crate) mod values;

use std::{env, ffi::OsString, io, process::ExitCode};

use clap::Command;
use clap_complete::{
    Shell,
    env::{CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Shells},
};

use self::scripts::{BASH, ZSH};

/// The environment variable with which a shell's script asks; its value is the shell.
const VARIABLE: &str = "IPCMARK_COMPLETE";

/// The name of the command in the scripts. They look for it in PATH, so that a word that is not yet entered is not
/// executed.
const NAME: &str = "ipcmark";

const SHELLS: Shells<'static> = Shells(&[&BASH, &ZSH, &Fish, &Elvish, &Powershell]);

/// Answers a shell script's request for completions, and returns the exit status; None if there is no
/// request.
pub(crate) fn answered(words: &[OsString], all: fn() -> Command) -> Option<ExitCode> {
    // Without words it would print a script, which is the job of `ipcmark completions`.
    let asks = env::var_os(VARIABLE).is_some() && words.iter().any(|word| word == "--");
    let answer = || CompleteEnv::with_factory(all).var(VARIABLE).shells(SHELLS);
    // Errors are silent: a message would appear in the middle of the line being typed.
    asks.then(|| match answer().try_complete(words, env::current_dir().ok().as_deref()) {
        Ok(true) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The completion script for a shell.
pub(crate) fn script(shell: Shell) -> io::Result<String> {
    let shell: &dyn EnvCompleter = match shell {
        Shell::Zsh => &ZSH,
        Shell::Fish => &Fish,
        Shell::Elvish => &Elvish,
        Shell::PowerShell => &Powershell,
        _ => &BASH,
    };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}
