//! `ipcmark list`: every known transport, its capabilities, and whether it can run here.

mod detail;
mod row;
mod table;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ipcmark_transport::{Availability, OptionSpec, Pattern};
use serde_json::{Value, json};

use crate::{
    completion::values as complete,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    output, registry, selection,
};

use self::row::{ListRow, waits};

/// The transports to list.
#[derive(Args)]
struct ListArguments {
    /// Only these, and with all that is known of each: its capabilities, its options
    #[arg(value_name = "TRANSPORT", add = complete::transports())]
    transports: Vec<String>,

    /// How the list is shown
    #[arg(long, value_enum, default_value = "table")]
    format: ListFormat,

    /// A module of transports to load beside those that are found
    #[arg(long, value_name = "PATH.so")]
    module: Vec<PathBuf>,
}

/// Words of `list --format`.
#[derive(Clone, Copy, ValueEnum)]
enum ListFormat {
    /// For people
    Table,
    /// For programs
    Json,
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: ListArguments = invocation.arguments()?;
    let registry = registry::look(&arguments.module, &arguments.transports)?.registry;
    let chosen = selection::select(&arguments.transports, &registry)?.transports;
    let rows: Vec<ListRow<'_>> = chosen.iter().map(|at| ListRow::new(&*registry[*at])).collect();
    let text = match arguments.format {
        ListFormat::Table if arguments.transports.is_empty() => {
            table::table(&rows, output::terminal())
        }
        ListFormat::Table => detail::details(&rows, output::terminal()),
        ListFormat::Json => return Ok(output::printed(&format!("{}\n", json(&rows)?))),
    };
    Ok(output::shown_all(&format!("{text}\n")))
}

fn json(rows: &[ListRow<'_>]) -> Result<String, String> {
    let entries: Vec<Value> = rows.iter().map(entry).collect();
    serde_json::to_string_pretty(&entries).map_err(|e| e.to_string())
}

fn entry(row: &ListRow<'_>) -> Value {
    let definition = row.definition;
    let capabilities = &definition.capabilities;
    let (available, reason, install) = match &row.availability {
        Availability::Available { .. } => (true, None, None),
        Availability::Unavailable { reason, install } => (false, Some(reason), install.as_ref()),
    };
    let patterns: Vec<&str> = capabilities.carried().map(Pattern::as_str).collect();
    json!({
        "name": definition.name,
        "family": definition.family,
        "summary": definition.summary,
        "available": available,
        "reason": reason,
        "install": install,
        "max_payload_bytes": capabilities.max_payload,
        "waits": waits(capabilities),
        "patterns": patterns,
        "loans": capabilities.loans,
        "max_subscribers": capabilities.most_subscribers(Pattern::FanOut),
        "crosses_hosts": capabilities.crosses_hosts,
        "options": row.definition.options.iter().map(option).collect::<Vec<_>>(),
    })
}

fn option(option: &OptionSpec) -> Value {
    json!({
        "key": option.key,
        "accepts": option.accepts,
        "default": option.standard,
        "summary": option.summary,
    })
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "list",
    summary: "List every known transport, its capabilities, and if it can run here",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark list", "every transport, and what to install for the others"),
            ("ipcmark list tcp", "one transport: its capabilities and options"),
            ("ipcmark list --format json", "for programs"),
        ],
        exit: "0 listed; 1 a module cannot be used; 2 the command line is wrong",
        see_also: &["run", "advise"],
    },
    flags: ListArguments::augment_args,
    run,
};
