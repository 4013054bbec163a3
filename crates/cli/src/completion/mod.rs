//! Words completed in a shell: its script asks this command, which knows transports, options, formats and files.

mod scripts;
pub(crate) mod values;

use std::{env, ffi::OsString, io, process::ExitCode};

use clap::Command;
use clap_complete::{
    Shell,
    env::{CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Shells},
};

use self::scripts::{BASH, ZSH};

/// The variable of the environment by which a shell's script asks; its value is the shell.
const VARIABLE: &str = "IPCMARK_COMPLETE";

/// The name of the command in the scripts, which look for it in PATH: a word that is not yet entered is not executed.
const NAME: &str = "ipcmark";

const SHELLS: Shells<'static> = Shells(&[&BASH, &ZSH, &Fish, &Elvish, &Powershell]);

/// Answers where a shell's script asks for the rest of a word; the exit status, or nothing where none asks.
pub(crate) fn answered(words: &[OsString], all: fn() -> Command) -> Option<ExitCode> {
    // Without words it would print a script, which `ipcmark completions` does.
    let asks = env::var_os(VARIABLE).is_some() && words.iter().any(|word| word == "--");
    let answer = || CompleteEnv::with_factory(all).var(VARIABLE).shells(SHELLS);
    // Whatever is wrong: a message would stand in the middle of the line that is being typed.
    asks.then(|| match answer().try_complete(words, env::current_dir().ok().as_deref()) {
        Ok(true) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The script that a shell reads.
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
