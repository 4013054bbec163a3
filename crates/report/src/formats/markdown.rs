//! The tables in GitHub's Markdown, with every column.

use ipcmark_results::{Group, RunResult, groups};

use crate::{
    columns::{COLUMNS, Column, Scale},
    findings::findings,
    footnotes,
    format::Format,
    levels::levels,
    names::{self, Titles},
    plain::markdown as escaped,
    remarks,
};

fn tables(result: &RunResult) -> String {
    let (groups, titles) = (groups(result), Titles::of(result));
    let mut text = head(result);
    for level in levels(result) {
        // Each pattern has columns of its own.
        for groups in level.groups.chunk_by(|a, b| a.key.pattern == b.key.pattern) {
            let columns: Vec<&Column> =
                COLUMNS.iter().filter(|column| column.is_informative(groups)).collect();
            for group in groups {
                text += &table(group, &level.titled(titles.title(group)), &columns);
            }
        }
    }
    if !groups.is_empty() {
        text += &format!("\n{}\n", remarks::legend(&groups));
    }
    for unmeasured in remarks::unmeasured(&result.cases) {
        text += &list(unmeasured.status.as_str(), unmeasured.lines.iter());
    }
    if !result.notes.is_empty() {
        text += &list("notes", result.notes.iter());
    }
    let findings = findings(result);
    let findings =
        findings.iter().map(|finding| format!("{}: {}", finding.question, finding.answer));
    let findings: Vec<String> = findings.collect();
    if !findings.is_empty() {
        text += &list("findings", findings.iter());
    }
    text
}

fn head(result: &RunResult) -> String {
    let mut text = format!("## {}\n\n", escaped(&remarks::heading(result)));
    if let Some(sentence) = remarks::incomplete(result) {
        text += &format!("**{}**\n\n", escaped(&sentence));
    }
    for (name, fact) in remarks::facts(result) {
        text += &format!("- {name}: {}\n", escaped(&fact));
    }
    text
}

fn table(group: &Group, title: &str, columns: &[&Column]) -> String {
    let scale = Scale::of(group);
    let mut text = format!("\n### {}\n\n{}\n\n", escaped(title), scale.caption());
    text += &line(std::iter::once("transport").chain(columns.iter().map(|column| column.label)));
    text += &line(std::iter::once("---").chain(columns.iter().map(|_| "---:")));
    let cells: Vec<Vec<String>> = columns.iter().map(|column| column.cells(group, scale)).collect();
    for (at, row) in group.rows.iter().enumerate() {
        let name = escaped(&names::marked(row));
        let figures = cells.iter().map(|column| column[at].trim_end());
        text += &line(std::iter::once(name.as_str()).chain(figures));
    }
    for footnote in footnotes::of(group) {
        text += &format!("\n! {}\n", escaped(&footnote));
    }
    text
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<&str> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

fn list<'a>(title: &str, lines: impl Iterator<Item = &'a String>) -> String {
    let mut text = format!("\n### {title}\n\n");
    for line in lines {
        text += &format!("- {}\n", escaped(line));
    }
    text
}

/// The tables in GitHub's Markdown.
pub(super) const FORMAT: Format = Format {
    name: "markdown",
    summary: "the same tables in GitHub's Markdown, with every column",
    for_terminals: true,
    for_programs: true,
    one_row: false,
    text: |result, _| Ok(tables(result)),
};
