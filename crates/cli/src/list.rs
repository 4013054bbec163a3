//! `ipcmark list`: every transport known, what it can do, and whether it can run here.

mod detail;
mod table;

use std::process::ExitCode;

use ipcmark_engine::{AnyTransport, Registry};
use ipcmark_transport::{Availability, Capabilities, Definition, OptionSpec};
use serde_json::{Value, json};

use crate::{
    arguments::{ListArguments, ListFormat},
    output, selection,
};

/// A transport as the list shows it.
struct Row<'a> {
    definition: &'a Definition,
    options: &'a [OptionSpec],
    availability: Availability,
}

impl<'a> Row<'a> {
    fn of(candidate: &'a dyn AnyTransport) -> Self {
        Self {
            definition: candidate.definition(),
            options: candidate.options(),
            availability: candidate.probe(),
        }
    }
}

/// Prints the list.
pub(crate) fn list(arguments: &ListArguments, registry: &Registry) -> Result<ExitCode, String> {
    let chosen = selection::select(&arguments.transports, registry)?.transports;
    let rows: Vec<Row<'_>> = chosen.iter().map(|at| Row::of(&*registry[*at])).collect();
    let text = match arguments.format {
        ListFormat::Table if !arguments.transports.is_empty() => {
            detail::details(&rows, output::style())
        }
        ListFormat::Table => table::table(&rows, output::style()),
        ListFormat::Json => {
            let entries: Vec<Value> = rows.iter().map(entry).collect();
            serde_json::to_string_pretty(&entries).map_err(|e| e.to_string())?
        }
    };
    Ok(crate::printed(&format!("{text}\n")))
}

fn entry(row: &Row<'_>) -> Value {
    let definition = row.definition;
    let capabilities = &definition.capabilities;
    let (available, reason, install) = match &row.availability {
        Availability::Available { .. } => (true, None, None),
        Availability::Unavailable { reason, install } => (false, Some(reason), install.as_ref()),
    };
    let patterns: Vec<&str> = capabilities.patterns.iter().map(|p| p.as_str()).collect();
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
        "max_subscribers": capabilities.max_subscribers,
        "crosses_hosts": capabilities.crosses_hosts,
        "options": row.options.iter().map(option).collect::<Vec<_>>(),
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

fn waits(capabilities: &Capabilities) -> Vec<&'static str> {
    capabilities.waits.iter().map(|wait| wait.as_str()).collect()
}
