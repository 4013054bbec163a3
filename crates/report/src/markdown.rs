//! The tables in GitHub's Markdown, with every column.

use ipcmark_results::RunResult;

use crate::{
    columns::{COLUMNS, Column, Scale},
    plain::plain,
    remarks::{self, LEGEND},
    rows::{self, Group, Row},
};

/// The whole result.
pub fn render(result: &RunResult) -> String {
    let groups = rows::groups(result);
    let mut text = head(result);
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.is_of_use(&groups)).collect();
    for group in &groups {
        text += &table(group, &columns);
    }
    if !groups.is_empty() {
        text += &format!("\n{LEGEND}\n");
    }
    for unmeasured in remarks::unmeasured(&result.cases) {
        text += &list(unmeasured.status, unmeasured.lines.iter());
    }
    if !result.notes.is_empty() {
        text += &list("notes", result.notes.iter());
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

fn table(group: &Group, columns: &[&Column]) -> String {
    let scale = Scale::of(group);
    let mut text = format!("\n### {}\n\n{}\n\n", escaped(&group.title), scale.caption());
    text += &line(std::iter::once("transport").chain(columns.iter().map(|column| column.label)));
    text += &line(std::iter::once("---").chain(columns.iter().map(|_| "---:")));
    let cells: Vec<Vec<String>> = columns.iter().map(|column| column.cells(group, scale)).collect();
    for (at, row) in group.rows.iter().enumerate() {
        let name = escaped(&row.marked_name());
        let figures = cells.iter().map(|column| column[at].trim_end());
        text += &line(std::iter::once(name.as_str()).chain(figures));
    }
    for loss in group.rows.iter().flat_map(Row::footnotes) {
        text += &format!("\n! {}\n", escaped(&loss));
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

/// Text on one line with nothing in it that Markdown takes for a mark of its own.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in plain(text).chars() {
        if matches!(char, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&') {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}
