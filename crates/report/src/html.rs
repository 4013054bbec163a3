//! One self-contained page for the browser: charts, tables, definitions. It uses no network, and
//! runs no script except its own, whatever a result contains.

mod cases;
mod changes;
mod charts;
mod definitions;
mod explanation;
mod hosts;
mod map;
mod policy;
mod source;
mod summary;
mod swept;
mod timeline;

use ipcmark_results::{RunResult, groups};
use minijinja::{Environment, Value, context, value::Serde};
use serde::Serialize;

use crate::{
    columns::{COLUMNS, Column},
    findings::{Finding, findings},
    plain::plain,
    remarks,
    words::firm,
};
use charts::Charts;

pub use explanation::explanation_page;
pub use source::Source;

/// The beginning of every page, including its security policy.
const HEAD: &str = include_str!("../assets/head.html");

const TEMPLATE: &str = include_str!("../assets/page.html");

const STYLE: &str =
    concat!(include_str!("../assets/page.css"), include_str!("../assets/parts.css"));

/// Apache ECharts, as found by the build script.
const LIBRARY: &str = include_str!(concat!(env!("OUT_DIR"), "/echarts.min.js"));

/// The page's own script.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("../assets/data.js"),
    include_str!("../assets/theme.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/loads.js"),
    include_str!("../assets/timeline.js"),
    include_str!("../assets/changes.js"),
    include_str!("../assets/lit.js"),
    include_str!("../assets/choices.js"),
    include_str!("../assets/cases.js"),
    include_str!("../assets/hints.js"),
    include_str!("../assets/start.js"),
    "})();\n",
);

/// The licence of the library, which is also that of this project.
const LICENCE: &str = include_str!("../LICENSE-APACHE");

/// The page for these results, the first of which is the base of comparisons. The error states
/// which of them cannot be shown, and why.
pub fn page(sources: &[Source]) -> Result<String, String> {
    let charts = Charts::of(sources)?;
    rendered(TEMPLATE, content(sources, charts))
}

/// A page of this template, which begins with [`HEAD`].
fn rendered(template: &str, content: Value) -> Result<String, String> {
    let mut templates = Environment::new();
    templates.add_filter("firm", |text: &str| firm(text));
    templates.add_template("head.html", HEAD).map_err(|e| describe(&e))?;
    templates.add_template("page.html", template).map_err(|e| describe(&e))?;
    let page = templates.get_template("page.html").map_err(|e| describe(&e))?;
    page.render(content).map_err(|e| describe(&e))
}

fn describe(error: &minijinja::Error) -> String {
    format!("cannot make the report's page: {error:#}")
}

fn content(sources: &[Source], charts: Charts) -> Value {
    let results = || sources.iter().map(|source| source.result).enumerate();
    let groups: Vec<_> = results().flat_map(|(_, result)| groups(result)).collect();
    let columns: Vec<_> = COLUMNS.iter().filter(|column| column.is_informative(&groups)).collect();
    let base = sources.first().map(|source| source.result);
    context! {
        policy => policy::of(STYLE, &[LIBRARY, SCRIPT]),
        style => Value::from_safe_string(STYLE.into()),
        library => Value::from_safe_string(LIBRARY.into()),
        script => Value::from_safe_string(SCRIPT.into()),
        further => charts.further(),
        charts => Value::from_safe_string(charts.to_json()),
        licence => LICENCE,
        version => env!("CARGO_PKG_VERSION"),
        files => sources.iter().map(file).collect::<Vec<_>>(),
        findings => results().map(|(_, result)| findings_of(result)).collect::<Vec<_>>(),
        hosts => all(results().flat_map(|(at, result)| hosts::hosts(at, result))),
        maps => all(results().flat_map(|(at, result)| map::maps(at, result))),
        cards => all(results().flat_map(|(at, result)| summary::cards(at, result))),
        facts => all(summary::facts(sources)),
        columns => columns.iter().map(|column| head(column)).collect::<Vec<_>>(),
        blocks => all(results().flat_map(|(at, result)| cases::blocks(at, result, &columns))),
        changes => all(base.into_iter().flat_map(|base| {
            results().skip(1).map(move |(at, new)| changes::changes(base, at, new))
        })),
        definitions => all(definitions::all()),
    }
}

/// The findings of a run, as sentences.
fn findings_of(result: &RunResult) -> Value {
    let findings = findings(result).into_iter();
    let each = findings.map(|Finding { question, answer }| context! { question, answer });
    each.collect::<Vec<_>>().into()
}

/// A list for the template.
fn all<T: Serialize>(items: impl IntoIterator<Item = T>) -> Value {
    Value::from(Serde(items.into_iter().collect::<Vec<_>>()))
}

fn head(column: &Column) -> Value {
    context! { label => column.label, key => definitions::key(column.label) }
}

fn file(source: &Source) -> Value {
    let result = source.result;
    context! {
        name => plain(&source.name),
        heading => remarks::heading(result),
        incomplete => remarks::incomplete(result),
        cpu => plain(&result.environment.cpu_model),
        started => plain(&result.run.started_at),
        notes => result.notes.iter().map(|note| plain(note)).collect::<Vec<_>>(),
    }
}
