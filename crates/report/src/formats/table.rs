//! A table for a terminal: a head, the groups, the cases that were not measured, notes, and last the findings.

use ipcmark_results::{Group, RunResult, Status};
use textwrap::core::display_width;

use crate::{
    columns::Scale,
    findings::findings,
    footnotes,
    format::{Format, Terminal},
    grid::{Grid, Sheet},
    hosts::matrices,
    levels::levels,
    matrix::draw_matrix,
    names::Titles,
    page::{BOLD, DIM, Page, RED},
    plain::plain,
    remarks,
    units::count,
};

fn table(result: &RunResult, terminal: Terminal) -> String {
    let mut page = Page::of(terminal);
    head(&mut page, result);
    rankings(&mut page, result);
    hosts(&mut page, result);
    unmeasured(&mut page, result);
    notes(&mut page, result);
    found(&mut page, result);
    page.text
}

fn head(page: &mut Page, result: &RunResult) {
    page.wrapped(BOLD, "", &remarks::heading(result));
    if let Some(sentence) = remarks::incomplete(result) {
        page.wrapped(RED, "", &sentence);
    }
    for (name, fact) in remarks::facts(result) {
        page.wrapped("", &format!("  {name:<10}  "), &fact);
    }
}

/// The tables at the reference distance; at each distance if the trials had a placement for each.
fn rankings(page: &mut Page, result: &RunResult) {
    let titles = Titles::of(result);
    for level in levels(result) {
        if let Some(heading) = &level.heading {
            page.line("", "");
            page.line(BOLD, heading);
        }
        groups(page, &level.groups, &titles);
    }
    let at_reference = ipcmark_results::groups(result);
    if !at_reference.is_empty() {
        page.line("", "");
        page.wrapped(DIM, "", &remarks::legend(&at_reference));
    }
}

/// The largest number of tables of single pairs of ranks: beyond it the maps show them.
const MOST_TABLES: usize = 24;

fn groups(page: &mut Page, groups: &[Group], titles: &Titles) {
    let pairs = groups.iter().filter(|group| group.key.between.is_some()).count();
    if pairs > MOST_TABLES {
        page.line("", "");
        let number = count(pairs as u64);
        let hidden =
            format!("{number} tables, one a pair, are left out: --format csv has every row");
        return page.wrapped(DIM, "", &hidden);
    }
    // Each pattern has columns of its own.
    for groups in groups.chunk_by(|a, b| a.key.pattern == b.key.pattern) {
        let grid = Grid::of(groups, page);
        grid.sheets.iter().for_each(|sheet| self::sheet(page, &grid, sheet, titles));
    }
}

fn sheet(page: &mut Page, grid: &Grid, sheet: &Sheet, titles: &Titles) {
    page.line("", "");
    page.title(&titles.title(sheet.group), &Scale::of(sheet.group).caption());
    for (at, line) in grid.lines(sheet).iter().enumerate() {
        page.line(if at == 0 { DIM } else { "" }, line);
    }
    for footnote in footnotes::of(sheet.group) {
        page.wrapped("", "  ! ", &footnote);
    }
}

/// The largest number of maps of hosts: a report draws all.
const MOST_MAPS: usize = 12;

fn hosts(page: &mut Page, result: &RunResult) {
    let maps = matrices(result);
    for map in maps.iter().take(MOST_MAPS) {
        page.line("", "");
        draw_matrix(page, map);
    }
    if maps.len() > MOST_MAPS {
        let more = maps.len() - MOST_MAPS;
        page.wrapped(DIM, "", &format!("and {more} more maps: ipcmark report draws them all"));
    }
}

fn unmeasured(page: &mut Page, result: &RunResult) {
    for unmeasured in remarks::unmeasured(&result.cases) {
        page.line("", "");
        let look = if unmeasured.status == Status::Failed { RED } else { BOLD };
        page.line(look, unmeasured.status.as_str());
        for line in &unmeasured.lines {
            page.wrapped("", "  - ", line);
        }
    }
}

fn notes(page: &mut Page, result: &RunResult) {
    if !result.notes.is_empty() {
        page.line("", "");
        page.line(BOLD, "notes");
    }
    for note in &result.notes {
        page.wrapped("", "  - ", &plain(note));
    }
}

fn found(page: &mut Page, result: &RunResult) {
    let findings = findings(result);
    if findings.is_empty() {
        return;
    }
    page.line("", "");
    page.line(BOLD, "findings");
    let width = findings.iter().map(|finding| display_width(&finding.question)).max().unwrap_or(0);
    for finding in &findings {
        if 2 * width > page.width {
            page.wrapped("", "  ", &finding.question);
            page.wrapped("", "    ", &finding.answer);
        } else {
            page.wrapped("", &format!("  {:<width$}  ", finding.question), &finding.answer);
        }
    }
}

/// The tables for a terminal.
pub(super) const FORMAT: Format = Format {
    name: "table",
    summary: "tables for a terminal",
    for_terminals: true,
    for_programs: false,
    one_row: false,
    text: |result, terminal| Ok(table(result, terminal)),
};
