//! The output follows the syntax of its format for any result.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_report::{ComparedSides, comparison_junit, row_names};
use ipcmark_results::{Status, Wait, compare_runs, stats::Verdict};
use proptest::prelude::*;
use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use crate::{
    arbitrary,
    sample::{case, run, unmeasured},
    shown,
};

/// A sample of an exposition.
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

/// The samples of an exposition; fails if a line is not a sample.
pub fn samples(text: &str) -> Vec<Sample> {
    text.lines().filter(|line| !line.starts_with('#')).map(sample).collect()
}

fn sample(line: &str) -> Sample {
    let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("no labels: {line}"));
    let (labels, rest) = labels(rest);
    let value = rest.strip_prefix(' ').and_then(|value| value.parse().ok());
    let value = value.unwrap_or_else(|| panic!("no value: {line}"));
    Sample { name: name.into(), labels, value }
}

/// The labels up to the brace, and the text after it.
fn labels(mut text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    loop {
        let (name, rest) = text.split_once("=\"").unwrap_or_else(|| panic!("no label: {text}"));
        let (value, rest) = quoted(rest);
        assert!(labels.insert(name.to_owned(), value).is_none(), "{name} stands twice");
        match rest.strip_prefix(',') {
            Some(rest) => text = rest,
            None => return (labels, rest.strip_prefix('}').expect("a brace ends the labels")),
        }
    }
}

/// A value up to its quote, and the text after it.
fn quoted(text: &str) -> (String, &str) {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                other => panic!("no escape: {other:?}"),
            },
            char => value.push(char),
        }
    }
    panic!("no quote ends {text}")
}

/// A test case of a suite: its name, and `failure`, `skipped` or nothing.
type TestCase = (String, Option<String>);

/// The test cases of a document; fails if it is not XML.
fn test_cases(text: &str) -> Vec<TestCase> {
    let mut reader = Reader::from_str(text);
    let mut cases: Vec<TestCase> = Vec::new();
    loop {
        let element = match reader.read_event().unwrap_or_else(|e| panic!("{e}: {text}")) {
            Event::Eof => return cases,
            Event::Start(element) | Event::Empty(element) => element,
            _ => continue,
        };
        match element.name().as_ref() {
            "testcase" => cases.push((name_of(&element), None)),
            outcome @ ("failure" | "skipped") => {
                cases.last_mut().expect("it is in a test case").1 = Some(outcome.into());
            }
            _ => {}
        }
    }
}

/// The attribute `name`; fails if any attribute is malformed.
fn name_of(element: &BytesStart) -> String {
    let attributes: Vec<_> = element.attributes().map(|attribute| attribute.unwrap()).collect();
    let name = attributes.iter().find(|attribute| attribute.key.as_ref() == "name").unwrap();
    name.normalized_value(XmlVersion::Implicit1_0).unwrap().into_owned()
}

/// True if XML 1.0 can represent each of these characters.
fn is_xml(text: &str) -> bool {
    text.chars().all(|char| {
        matches!(char, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_exposition_has_each_series_once_and_ends(result in arbitrary::result()) {
        let text = shown(&result, "openmetrics");
        prop_assert!(text.ends_with("\n# EOF\n"));
        let all = samples(&text);
        let unique: BTreeSet<(&String, &BTreeMap<String, String>)> =
            all.iter().map(|sample| (&sample.name, &sample.labels)).collect();
        prop_assert_eq!(unique.len(), all.len());
        let types: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        prop_assert_eq!(types.iter().collect::<BTreeSet<_>>().len(), types.len());
    }

    #[test]
    fn junit_has_a_test_case_a_row(result in arbitrary::result()) {
        let text = shown(&result, "junit");
        prop_assert!(is_xml(&text), "{text:?}");
        let outcome = |status| match status {
            Status::Ok => None,
            Status::Failed => Some("failure".to_string()),
            Status::Unavailable | Status::Unsupported => Some("skipped".to_string()),
        };
        let outcomes = result.cases.iter().map(|case| outcome(case.status()));
        let plain = |name: String| name.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
        let names = row_names(&result).into_iter().map(plain);
        let expected: Vec<TestCase> = names.zip(outcomes).collect();
        prop_assert_eq!(test_cases(&text), expected);
    }

    #[test]
    fn junit_of_a_comparison_has_a_test_case_a_row(
        (base, new) in (arbitrary::result(), arbitrary::result()),
    ) {
        let change = compare_runs(&[&base], &[&new]);
        let sides = ComparedSides {
            change: &change,
            base: "<&\"\u{1b}".into(),
            new: "b.json".into(),
            notes: vec!["]]>".into()],
        };
        let text = comparison_junit(&sides);
        prop_assert!(is_xml(&text), "{text:?}");
        let cases = test_cases(&text);
        prop_assert_eq!(cases.len(), change.pairs().count() + change.unpaired.len());
        for ((_, outcome), pair) in cases.iter().zip(change.pairs()) {
            let expected = match pair.comparison.verdict {
                Verdict::Slower => Some("failure".to_string()),
                Verdict::Faster | Verdict::Same => None,
                Verdict::CannotTell { .. } => Some("skipped".to_string()),
            };
            prop_assert_eq!(outcome, &expected);
        }
    }
}

#[test]
fn hostile_names_are_escaped_in_every_format() {
    let hostile = "a\"b\\c\n<d>&]]>\u{1b}[2J\u{0}\u{ffff},e f";
    let named = case(hostile, 64, Wait::Spin, 2_000);
    let failed = unmeasured(case("tcp", 64, Wait::Spin, 1), Status::Failed, hostile);
    let mut result = run(vec![named, failed]);
    result.environment.cpu_model = hostile.into();
    let name = "latency/a\"b\\c_<d>&]]>\\u{1b}[2J\\u{0}\u{ffff}_e_f/64/spin/round_trip";
    assert_eq!(row_names(&result)[0], name);
    let exposition = shown(&result, "openmetrics");
    let all = samples(&exposition);
    let row = all.iter().find(|sample| sample.name == "ipcmark_round_trip_nanoseconds").unwrap();
    assert_eq!(row.labels["row"], name);
    assert!(shown(&result, "hlog").contains(&format!("\nTag={name},")));
    let bmf: serde_json::Value = serde_json::from_str(&shown(&result, "bmf")).unwrap();
    assert!(bmf.get(name).is_some(), "{bmf}");
    assert_eq!(test_cases(&shown(&result, "junit"))[1].1.as_deref(), Some("failure"));
}
