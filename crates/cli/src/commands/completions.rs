//! `ipcmark completions`: the script with which a shell asks this command to complete words.

use clap::Args;
use clap_complete::Shell;

use crate::{
    completion,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    output,
};

const EXAMPLES: &str = "\
Transports, waits, options, sizes, formats and rows complete too; the script looks for ipcmark in PATH.

Examples:
  ipcmark completions bash >/etc/bash_completion.d/ipcmark
  ipcmark completions zsh >/usr/local/share/zsh/site-functions/_ipcmark
  ipcmark completions fish >~/.config/fish/completions/ipcmark.fish
  . <(ipcmark completions bash)                          for this shell alone";

/// The shell to complete words in.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct CompletionArguments {
    /// The shell: bash, zsh, fish, elvish or powershell
    #[arg(value_enum)]
    shell: Shell,
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: CompletionArguments = invocation.arguments()?;
    Ok(match completion::script(arguments.shell) {
        Ok(script) => output::printed(&script),
        Err(error) => output::failed(format_args!("cannot make the script: {error}")),
    })
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "completions",
    summary: "Print a script that completes this command's words in a shell",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark completions bash >/etc/bash_completion.d/ipcmark", ""),
            ("ipcmark completions fish >~/.config/fish/completions/ipcmark.fish", ""),
        ],
        exit: "0 printed; 1 it could not be printed; 2 the command line is wrong",
        see_also: &["man"],
    },
    flags: CompletionArguments::augment_args,
    run,
};
