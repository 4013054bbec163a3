//! `ipcmark list`: every transport known, what it can do, and whether it can run here.

use std::process::ExitCode;

use comfy_table::{ContentArrangement, Table, presets};
use ipcmark_engine::{Candidate, Registry};
use ipcmark_transport::{Availability, Capabilities};
use serde_json::{Value, json};

use crate::{
    arguments::{ListArguments, ListFormat},
    output,
};

/// Prints the list.
pub(crate) fn list(arguments: &ListArguments, registry: &Registry) -> Result<ExitCode, String> {
    let text = match arguments.format {
        ListFormat::Table => table(registry),
        ListFormat::Json => {
            let entries: Vec<Value> =
                registry.iter().map(|candidate| entry(&**candidate)).collect();
            serde_json::to_string_pretty(&entries).map_err(|e| e.to_string())?
        }
    };
    output::print(&format!("{text}\n"));
    Ok(ExitCode::SUCCESS)
}

fn table(registry: &Registry) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(output::style().width as u16);
    table.set_header(["transport", "family", "waits", "largest", "here", "what it is"]);
    for candidate in registry {
        let definition = candidate.definition();
        table.add_row([
            definition.name.to_string(),
            definition.family.to_string(),
            waits(&definition.capabilities).join(" "),
            format!("{} MiB", definition.capabilities.max_payload >> 20),
            here(candidate.probe()),
            definition.summary.to_string(),
        ]);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

fn here(availability: Availability) -> String {
    match availability {
        Availability::Available { version: None } => "yes".into(),
        Availability::Available { version: Some(version) } => format!("yes, {version}"),
        Availability::Unavailable { reason, install: None } => format!("no: {reason}"),
        Availability::Unavailable { reason, install: Some(install) } => {
            format!("no: {reason}; {install}")
        }
    }
}

fn entry(candidate: &dyn Candidate) -> Value {
    let definition = candidate.definition();
    let capabilities = &definition.capabilities;
    let (available, reason, install) = match candidate.probe() {
        Availability::Available { .. } => (true, None, None),
        Availability::Unavailable { reason, install } => (false, Some(reason), install),
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
    })
}

fn waits(capabilities: &Capabilities) -> Vec<&'static str> {
    capabilities.waits.iter().map(|wait| wait.as_str()).collect()
}
