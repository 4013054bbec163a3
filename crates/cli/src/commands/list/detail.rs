//! The full description of one transport.

use ipcmark_report::Terminal;
use ipcmark_transport::{
    Availability, Capabilities, Carrier, DeclaredCarrier, FanOut, OptionSpec, Pattern,
};

use super::row::{ListRow, waits};
use crate::text::{BOLD, hanging, paint};

/// Every row in full, without the last line break.
pub(super) fn details(rows: &[ListRow<'_>], terminal: Terminal) -> String {
    let blocks: Vec<String> = rows.iter().map(|row| detail(row, terminal).join("\n")).collect();
    blocks.join("\n\n")
}

fn detail(row: &ListRow<'_>, terminal: Terminal) -> Vec<String> {
    let definition = row.definition;
    let capabilities = &definition.capabilities;
    let mut lines = vec![paint(&definition.name, BOLD, terminal)];
    let patterns: Vec<&str> = capabilities.carried().map(Pattern::as_str).collect();
    let mut facts = vec![
        ("what", definition.summary.to_string()),
        ("family", definition.family.to_string()),
        ("here", availability(&row.availability)),
        ("waits", waits(capabilities).join(", ")),
        ("patterns", patterns.join(", ")),
        ("messages", format!("16 to {} bytes", capabilities.max_payload)),
        ("subscribers", subscribers(capabilities)),
        ("carrier", carrier(definition.carrier)),
        ("loans", yes(capabilities.loans, "a message is handed over without a copy")),
        ("reliable", yes(capabilities.reliable, "no message is lost while both ends live")),
        ("hosts", yes(capabilities.crosses_hosts, "its ends can be on different hosts")),
    ];
    if capabilities.alternating {
        facts.push(("turns", "its ends take turns: request, reply, request, …".into()));
    }
    lines.extend(facts.iter().flat_map(|(key, fact)| fact_lines(key, fact, terminal)));
    lines.extend(options(&definition.name, &definition.options, terminal));
    lines
}

fn availability(availability: &Availability) -> String {
    match availability {
        Availability::Available { version: None } => "it can run".into(),
        Availability::Available { version: Some(version) } => format!("it can run ({version})"),
        Availability::Unavailable { reason, install: None } => format!("it cannot run: {reason}"),
        Availability::Unavailable { reason, install: Some(install) } => {
            format!("it cannot run: {reason}; install it with: {install}")
        }
    }
}

fn carrier(declared: DeclaredCarrier) -> String {
    let word = |carrier: Carrier| carrier.as_str().replace('-', " ");
    match declared {
        DeclaredCarrier::Unstated => "chosen by its library; the result shows it".into(),
        DeclaredCarrier::Always(carrier) => word(carrier),
        DeclaredCarrier::BySize { up_to, small, large } => {
            format!("{} up to {up_to} bytes, {} beyond", word(small), word(large))
        }
    }
}

fn yes(is_so: bool, meaning: &str) -> String {
    if is_so { format!("yes: {meaning}") } else { "no".into() }
}

fn fact_lines(key: &str, fact: &str, terminal: Terminal) -> Vec<String> {
    hanging(&format!("  {key:12}"), fact, terminal)
}

fn options(name: &str, options: &[OptionSpec], terminal: Terminal) -> Vec<String> {
    if options.is_empty() {
        return fact_lines("options", "none", terminal);
    }
    let mut lines = fact_lines("options", &format!("ipcmark run --set {name}.KEY=VALUE"), terminal);
    let key = |option: &OptionSpec| format!("{}={}", option.key, option.accepts);
    let wide = options.iter().map(|option| key(option).len()).max().unwrap_or(0);
    for option in options {
        let start = format!("    {:wide$}  ", key(option));
        let text = format!("{} [default: {}]", option.summary, option.standard);
        lines.extend(hanging(&start, &text, terminal));
    }
    lines
}

/// The most followers of one leader, and how it reaches them.
fn subscribers(capabilities: &Capabilities) -> String {
    let most = capabilities.most_subscribers(Pattern::FanOut);
    match capabilities.fan_out() {
        None => "1".into(),
        Some(FanOut::Native) => format!("up to {most}, reached by one publication"),
        Some(FanOut::NSends) => format!("up to {most}, by a send to each"),
    }
}
