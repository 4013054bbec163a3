//! `ipcmark schema`: the JSON Schema of the result file.

use clap::Args;

use crate::{
    definition::{Definition, Invocation, NoFlags, Outcome},
    output,
};

fn run(_: &Invocation<'_>) -> Outcome {
    let schema = serde_json::to_string_pretty(&ipcmark_results::schema());
    Ok(output::printed(&format!("{}\n", schema.map_err(|e| e.to_string())?)))
}

pub(super) const DEFINITION: Definition = Definition {
    name: "schema",
    summary: "Print the JSON Schema of the result file",
    flags: NoFlags::augment_args,
    run,
};
