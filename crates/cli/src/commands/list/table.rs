//! The list for people: a block per family with the transports that can run here, and each reason
//! why others cannot, once.

use ipcmark_report::Terminal;
use ipcmark_transport::{Availability, MAX_PAYLOAD};

use super::row::{ListRow, waits};
use crate::text::{BOLD, GREEN, RED, hanging, paint};

/// The list as text, without the last line break.
pub(super) fn table(rows: &[ListRow<'_>], terminal: Terminal) -> String {
    let columns = Columns::of(rows);
    let mut lines = vec![count(rows, "transports")];
    for family in families(rows) {
        lines.push(String::new());
        let rows: Vec<&ListRow<'_>> =
            rows.iter().filter(|row| row.definition.family == family).collect();
        block(family, &rows, &columns, terminal, &mut lines);
    }
    lines.push(String::new());
    let legend = "✓ can run here · ✗ cannot · measure one with: ipcmark run -t NAME";
    lines.extend(hanging("", legend, terminal));
    lines.join("\n")
}

/// Families in the order in which they first appear.
fn families<'a>(rows: &[ListRow<'a>]) -> Vec<&'a str> {
    let mut families: Vec<&str> = Vec::new();
    for row in rows {
        let family: &str = &row.definition.family;
        if !families.contains(&family) {
            families.push(family);
        }
    }
    families
}

/// The column widths that all blocks share, so that the columns align.
struct Columns {
    name: usize,
    waits: usize,
}

impl Columns {
    fn of(rows: &[ListRow<'_>]) -> Self {
        let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
        Self {
            name: longest(&mut rows.iter().map(|row| row.definition.name.len())),
            waits: longest(&mut rows.iter().map(|row| waits_of(row).len())),
        }
    }
}

fn waits_of(row: &ListRow<'_>) -> String {
    waits(&row.definition.capabilities).join(" ")
}

fn block(
    family: &str,
    rows: &[&ListRow<'_>],
    columns: &Columns,
    terminal: Terminal,
    lines: &mut Vec<String>,
) {
    lines.extend(heading(family, rows, terminal));
    let reasons = reasons(rows);
    let shared = reasons.len() == 1;
    if shared {
        lines.extend(reasons.iter().flat_map(|reason| explain(*reason, 2, terminal)));
    }
    for row in rows {
        lines.extend(transport(row, columns, terminal));
        if let Some(reason) = reason(row).filter(|_| !shared) {
            lines.extend(explain(reason, 6, terminal));
        }
    }
}

/// `zeromq 4.3.4: 4 of 4 can run here`.
fn heading(family: &str, rows: &[&ListRow<'_>], terminal: Terminal) -> Vec<String> {
    let version = rows.iter().find_map(|row| match &row.availability {
        Availability::Available { version } => version.as_deref(),
        Availability::Unavailable { .. } => None,
    });
    let name = version.map_or(family.to_owned(), |version| format!("{family} {version}"));
    let name = paint(&name, BOLD, terminal);
    hanging(&format!("{name}: "), &count(rows.iter().copied(), ""), terminal)
}

/// The number that can run here, and the total.
fn count<'a, 'b: 'a>(rows: impl IntoIterator<Item = &'a ListRow<'b>>, what: &str) -> String {
    let (mut all, mut here) = (0, 0);
    for row in rows {
        all += 1;
        here += usize::from(reason(row).is_none());
    }
    let space = if what.is_empty() { "" } else { " " };
    match here {
        0 => format!("none of {all}{space}{what} can run here"),
        here => format!("{here} of {all}{space}{what} can run here"),
    }
}

/// The reason why a transport cannot run here, and the remedy.
type Reason<'a> = (&'a str, Option<&'a str>);

fn reason<'a>(row: &'a ListRow<'_>) -> Option<Reason<'a>> {
    match &row.availability {
        Availability::Available { .. } => None,
        Availability::Unavailable { reason, install } => Some((reason, install.as_deref())),
    }
}

fn reasons<'a>(rows: &[&'a ListRow<'_>]) -> Vec<Reason<'a>> {
    let mut reasons: Vec<Reason<'a>> = rows.iter().filter_map(|row| reason(row)).collect();
    reasons.dedup();
    reasons
}

fn explain((reason, install): Reason<'_>, indent: usize, terminal: Terminal) -> Vec<String> {
    let mut lines = hanging(&format!("{:indent$}why:     ", ""), reason, terminal);
    if let Some(install) = install {
        // A command stays on one line, so that it can be copied.
        lines.push(format!("{:indent$}install: {install}", ""));
    }
    lines
}

fn transport(row: &ListRow<'_>, columns: &Columns, terminal: Terminal) -> Vec<String> {
    let definition = row.definition;
    let mark = match reason(row) {
        None => paint("✓", GREEN, terminal),
        Some(_) => paint("✗", RED, terminal),
    };
    let (name, waits) = (&definition.name, waits_of(row));
    let (wide, wider) = (columns.name, columns.waits);
    // Colour codes have no width, so the lines are broken without them.
    let start = format!("  ? {name:wide$}  {waits:wider$}  ");
    let mut lines = hanging(&start, &summary(row), terminal);
    lines[0] = lines[0].replacen('?', &mark, 1);
    lines
}

/// The summary, and the largest message if that is limited.
fn summary(row: &ListRow<'_>) -> String {
    let summary = &row.definition.summary;
    match row.definition.capabilities.max_payload {
        most if most >= MAX_PAYLOAD => summary.to_string(),
        most => format!("{summary}; messages up to {most} B"),
    }
}

#[cfg(test)]
mod tests {
    use ipcmark_transport::{Capabilities, DeclaredCarrier, Definition};

    use super::*;

    const PLAIN: Terminal = Terminal { width: 80, color: false, ascii: false };

    fn definition(name: &'static str, family: &'static str) -> Definition {
        Definition {
            name: name.into(),
            family: family.into(),
            summary: "a way of moving messages that needs more words than one line of it has"
                .into(),
            carrier: DeclaredCarrier::Unstated,
            options: Vec::new().into(),
            capabilities: Capabilities { max_payload: 4096, ..Capabilities::usual() },
        }
    }

    fn missing(reason: &str) -> Availability {
        Availability::Unavailable { reason: reason.into(), install: Some("apt install it".into()) }
    }

    fn shown(availabilities: [Availability; 3]) -> String {
        shown_on(PLAIN, availabilities)
    }

    fn shown_on(terminal: Terminal, availabilities: [Availability; 3]) -> String {
        let definitions =
            [definition("a", "os"), definition("b-long-name", "lib"), definition("c", "lib")];
        let rows: Vec<ListRow<'_>> = definitions
            .iter()
            .zip(availabilities)
            .map(|(definition, availability)| ListRow { definition, availability })
            .collect();
        table(&rows, terminal)
    }

    fn here(version: Option<&str>) -> Availability {
        Availability::Available { version: version.map(str::to_owned) }
    }

    #[test]
    fn a_missing_library_is_reported_once_per_family() {
        let text = shown([here(None), missing("there is none"), missing("there is none")]);
        assert!(text.starts_with("1 of 3 transports can run here\n\nos: 1 of 1 can run here\n"));
        assert!(
            text.contains("\nlib: none of 2 can run here\n  why:     there is none\n"),
            "{text}"
        );
        assert_eq!(text.matches("install: apt install it").count(), 1);
        assert!(text.contains("\n  ✗ b-long-name  spin block  a way"), "{text}");
        assert!(text.contains("\n  ✓ a            spin block  a way"), "{text}");
    }

    #[test]
    fn two_reasons_of_one_family_are_shown_at_their_rows() {
        let text = shown([here(None), missing("one"), missing("two")]);
        assert!(
            text.contains("\n      why:     one\n      install: apt install it\n  ✗ c"),
            "{text}"
        );
    }

    #[test]
    fn a_family_shows_its_version_and_lines_fit_the_width() {
        let text = shown([here(None), here(Some("4.3.4")), missing("gone")]);
        assert!(text.contains("lib 4.3.4: 1 of 2 can run here"), "{text}");
        assert!(text.contains("messages up to 4096 B"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_long_version_has_its_own_line() {
        let narrow = Terminal { width: 20, ..PLAIN };
        let version = here(Some("libsomething.so.0.35.0"));
        let text = shown_on(narrow, [here(None), version, missing("gone")]);
        assert!(text.contains("lib libsomething.so.0.35.0:\n    1 of 2 can run here\n"), "{text}");
    }

    #[test]
    fn colour_changes_no_line() {
        let definition = definition("a", "os");
        let rows = [ListRow { definition: &definition, availability: here(None) }];
        let painted = table(&rows, Terminal { color: true, ..PLAIN });
        let bare = [BOLD, GREEN, RED, "\x1b[0m"]
            .iter()
            .fold(painted.clone(), |text, paint| text.replace(paint, ""));
        assert_ne!(painted, bare);
        assert_eq!(bare, table(&rows, PLAIN));
    }
}
