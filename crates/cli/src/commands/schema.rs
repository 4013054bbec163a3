//! `ipcmark schema`: the JSON Schema of the result file.

use clap::Args;

use crate::{
    definition::{CommandDefinition, CommandOutcome, Invocation, NoFlags},
    guide::Guide,
    output,
};

fn run(_: &Invocation<'_>) -> CommandOutcome {
    let schema = serde_json::to_string_pretty(&ipcmark_results::schema());
    Ok(output::printed(&format!("{}\n", schema.map_err(|e| e.to_string())?)))
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "schema",
    summary: "Print the JSON Schema of the result file",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark schema", "JSON Schema, draft 2020-12"),
            ("ipcmark schema >ipcmark.schema.json", ""),
        ],
        exit: "0 printed; 1 it could not be printed; 2 the command line is wrong",
        see_also: &["run", "show"],
    },
    flags: NoFlags::augment_args,
    run,
};
