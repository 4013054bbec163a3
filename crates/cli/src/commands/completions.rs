//! `ipcmark completions`: completions for shells, from the same definitions as the flags.

use clap::Args;
use clap_complete::Shell;

use crate::{
    definition::{Definition, Invocation, Outcome},
    guide::Guide,
    output,
};

/// The shell to complete words in.
#[derive(Args)]
struct CompletionArguments {
    /// The shell: bash, zsh, fish, elvish or powershell
    #[arg(value_enum)]
    shell: Shell,
}

fn run(invocation: &Invocation<'_>) -> Outcome {
    let arguments: CompletionArguments = invocation.arguments()?;
    let mut script = Vec::new();
    let mut all = invocation.all.clone();
    clap_complete::generate(arguments.shell, &mut all, "ipcmark", &mut script);
    Ok(output::printed(&String::from_utf8_lossy(&script)))
}

pub(super) const DEFINITION: Definition = Definition {
    name: "completions",
    summary: "Print a script that completes this command's words in a shell",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark completions bash >/etc/bash_completion.d/ipcmark", ""),
            ("ipcmark completions fish >~/.config/fish/completions/ipcmark.fish", ""),
        ],
        exit: "0 printed; 1 it could not be; 2 the command line is wrong",
        see_also: &["man"],
    },
    flags: CompletionArguments::augment_args,
    run,
};
