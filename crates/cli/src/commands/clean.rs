//! `ipcmark clean`: removes what a killed run without a sandbox left behind.

use clap::Args;

use crate::{
    definition::{Definition, Invocation, NoFlags, Outcome},
    output, registry,
};

fn run(_: &Invocation<'_>) -> Outcome {
    match ipcmark_engine::clean(&registry::look(&[])?.registry) {
        Ok(removed) => Ok(output::printed(&lines(&removed))),
        Err(error) => Ok(output::failed(error)),
    }
}

fn lines(removed: &[String]) -> String {
    match removed {
        [] => "nothing to remove\n".into(),
        removed => removed.iter().map(|name| format!("removed {name}\n")).collect(),
    }
}

pub(super) const DEFINITION: Definition = Definition {
    name: "clean",
    summary: "Remove what a killed run without a sandbox left behind",
    flags: NoFlags::augment_args,
    run,
};
