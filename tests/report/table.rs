//! The table of all cases, the definitions, and the appearance of the page.

use std::collections::BTreeSet;

use ipcmark_results::{Case, Status, Wait};

use crate::{
    report::sample::{MEASURED, Report, mixed, open},
    support::{
        Verdict,
        browser::{Look, Page},
    },
};

/// Sets a filter of the table.
fn filter(page: &mut Page, name: &str, value: &str) {
    let script = format!(
        "{{ const field = document.querySelector('#filters [name={name}]'); field.value = '{value}'; \
         field.dispatchEvent(new Event('input', {{bubbles: true}})); }}"
    );
    page.value(&script);
}

const VISIBLE: &str =
    "[...document.querySelectorAll('tr.case')].filter((row) => row.checkVisibility()).length";

pub fn filters_leave_matching_rows() -> Verdict {
    let result = mixed();
    let report = Report::of(&[&result]);
    let mut page = open!(report);
    let all = result.cases.len() as f64;
    let count =
        |fits: &dyn Fn(&Case) -> bool| result.cases.iter().filter(|case| fits(case)).count() as f64;
    assert_eq!(page.number(VISIBLE), all);
    for (name, value, fits) in [
        (
            "wait",
            "block",
            (&|case: &Case| case.identity.wait == Wait::Block) as &dyn Fn(&Case) -> bool,
        ),
        ("payload", "4 KiB", &|case| case.identity.payload_bytes == 4096),
        ("status", "failed", &|case| case.status() == Status::Failed),
        ("family", "zeromq", &|case| case.identity.family == "zeromq"),
        ("search", "PIP", &|case| case.identity.transport.contains("pip")),
        ("search", "no such transport", &|_| false),
    ] {
        filter(&mut page, name, value);
        assert_eq!(page.number(VISIBLE), count(fits), "{name} {value}");
        let status = page.text("document.getElementById('filter-status').textContent");
        assert_eq!(status, format!("{} of {all} rows", count(fits)));
        filter(&mut page, name, "");
    }
    assert_eq!(page.number(VISIBLE), all);
    let table = page.text("document.getElementById('case-table').textContent");
    for reason in ["the leader was killed by signal 9", "libzmq is not installed"] {
        assert!(table.contains(reason), "{reason}");
    }
    page.has_no_complaint();
    Verdict::Holds
}

pub fn rows_are_sorted_within_their_groups() -> Verdict {
    let report = Report::of(&[&mixed()]);
    let mut page = open!(report);
    let groups = "(() => { const heads = [...document.querySelectorAll('#case-table thead th')]; \
        const p50 = heads.findIndex((head) => head.textContent.startsWith('p50')); \
        return [...document.querySelectorAll('#case-table tbody')].map((body) => \
        [...body.querySelectorAll('tr.case')].map((row) => [row.dataset.wait + row.cells[0].textContent, \
        parseFloat(row.cells[p50]?.textContent.replaceAll(',', ''))])); })()";
    // The rows of each group: the name, and the p50 if present.
    type Groups = Vec<Vec<(String, Option<f64>)>>;
    let before: Groups = serde_json::from_value(page.value(groups)).unwrap();
    let sort = "[...document.querySelectorAll('.sortable')].find((head) => \
        head.textContent.startsWith('p50')).querySelector('button').click()";
    page.value(sort);
    let ascending: Groups = serde_json::from_value(page.value(groups)).unwrap();
    page.value(sort);
    let descending: Groups = serde_json::from_value(page.value(groups)).unwrap();
    assert!(before.iter().any(|rows| rows.len() > 2), "{before:?}");
    assert!(before.iter().flatten().any(|(_, p50)| p50.is_none()), "{before:?}");
    for (at, rows) in before.iter().enumerate() {
        let set = |rows: &[(String, _)]| {
            rows.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>()
        };
        assert_eq!(set(&ascending[at]), set(rows));
        assert_eq!(set(&descending[at]), set(rows));
        // Rows with equal figures may be in any order; those without one are last in both
        // directions.
        let rising = |p50: Option<f64>| p50.unwrap_or(f64::INFINITY);
        assert!(ascending[at].is_sorted_by_key(|(_, p50)| rising(*p50)), "{ascending:?}");
        let falling = |p50: Option<f64>| p50.map_or(f64::INFINITY, |p50| -p50);
        assert!(descending[at].is_sorted_by_key(|(_, p50)| falling(*p50)), "{descending:?}");
    }
    Verdict::Holds
}

pub fn definitions_are_shown_on_focus() -> Verdict {
    let report = Report::of(&[&mixed()]);
    let mut page = open!(report);
    let orphans = "[...document.querySelectorAll('.term')].filter((term) => \
        !document.getElementById((term.control ?? term).getAttribute('aria-describedby'))).map((term) => term.textContent)";
    assert_eq!(page.value(orphans), serde_json::json!([]));
    let heads = "[...document.querySelectorAll('#case-table thead th')].filter((head) => \
        !head.querySelector('.term')).length";
    assert_eq!(page.number(heads), 0.0, "every column is defined");
    page.value("document.querySelector('#case-table [data-key=p99-9]').focus()");
    let hint =
        "(({hidden, textContent}) => hidden ? '' : textContent)(document.getElementById('hint'))";
    assert!(page.text(hint).starts_with("999 of 1,000 round trips"), "{}", page.text(hint));
    page.press("Escape");
    assert_eq!(page.text(hint), "");
    page.press("Tab");
    page.press("Tab");
    assert!(page.text(hint).starts_with("The longest of all"), "{}", page.text(hint));
    page.has_no_complaint();
    Verdict::Holds
}

pub fn every_width_and_colour_scheme() -> Verdict {
    let report = Report::of(&[&mixed(), &MEASURED]);
    let mut page = open!(report);
    let mut grounds = Vec::new();
    for dark in [false, true] {
        for width in [380, 800, 1400] {
            page.look(Look { width, dark });
            let wide = page.number("document.documentElement.scrollWidth");
            assert!(wide <= f64::from(width), "{width}: {wide}");
        }
        grounds.push(page.text("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(grounds[0], grounds[1]);
    page.value("{ theme.value = 'light'; theme.dispatchEvent(new Event('change')); }");
    assert_eq!(page.text("getComputedStyle(document.body).backgroundColor"), grounds[0]);
    let unnamed = "[...document.querySelectorAll('input, select, button')].filter((field) => \
        !field.labels?.length && !field.getAttribute('aria-label') && !field.textContent.trim()).length";
    assert_eq!(page.number(unnamed), 0.0, "fields without a name");
    let twice = "[...document.querySelectorAll('[id]')].length - \
        new Set([...document.querySelectorAll('[id]')].map((element) => element.id)).size";
    assert_eq!(page.number(twice), 0.0, "two elements of one id");
    page.print();
    page.has_no_complaint();
    Verdict::Holds
}
