//! `ipcmark clean`: removes what a killed run without a sandbox left behind.

use std::process::ExitCode;

use clap::Args;
use ipcmark_transport::plain;

use crate::{
    definition::{CommandDefinition, CommandOutcome, Invocation, NoFlags},
    guide::Guide,
    output, registry,
};

fn run(_: &Invocation<'_>) -> CommandOutcome {
    let cleaned = ipcmark_engine::clean(&registry::look(&[], &[])?.registry);
    cleaned.faults.iter().for_each(|fault| output::say(plain(&fault.to_string())));
    let told = output::shown_all(&lines(&cleaned.done));
    Ok(if cleaned.faults.is_empty() { told } else { ExitCode::FAILURE })
}

fn lines(done: &[String]) -> String {
    match done {
        [] => "nothing to remove\n".into(),
        done => done.iter().map(|line| format!("{}\n", plain(line))).collect(),
    }
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "clean",
    summary: "Remove what a killed run without a sandbox left behind",
    guide: Guide {
        about: "",
        examples: &[("ipcmark clean", "lists what it removed")],
        exit: "0 nothing is left; 1 something could not be removed; 2 the command line is wrong",
        see_also: &["run"],
    },
    flags: NoFlags::augment_args,
    run,
};
