//! A comparison for continuous integration: a test case a row, which fails if the row is slower.

use ipcmark_results::{Change, Presence, RowPair, Status, UnpairedRow, stats::Verdict};

use super::{ComparedSides, needed, why};
use crate::{
    junit::{TestCase, TestOutcome, TestSuite},
    names, obstacles,
    series::name_of,
    units::{duration, figure},
};

/// The comparison as JUnit's XML, with a line feed at its end.
pub fn comparison_junit(sides: &ComparedSides) -> String {
    let change = sides.change;
    let pairs = change.pairs().map(|pair| compared(change, pair));
    let suite = TestSuite {
        name: "ipcmark compare",
        properties: properties(sides),
        cases: pairs.chain(change.unpaired.iter().map(alone)).collect(),
    };
    suite.text()
}

fn properties(sides: &ComparedSides) -> Vec<(&'static str, String)> {
    let mut properties = vec![("base", sides.base.clone()), ("new", sides.new.clone())];
    properties.extend(sides.warnings().into_iter().map(|note| ("note", note)));
    properties.extend(
        sides.change.obstacles.iter().map(|found| ("cannot tell", obstacles::sentence(found))),
    );
    properties
}

fn compared(change: &Change, pair: &RowPair) -> TestCase {
    let (verdict, output) = match pair.comparison.verdict {
        Verdict::Slower => (TestOutcome::Failed(words(pair)), String::new()),
        Verdict::Faster | Verdict::Same => (TestOutcome::Passed, words(pair)),
        Verdict::CannotTell { .. } => (TestOutcome::Skipped(undecided(change, pair)), words(pair)),
    };
    TestCase { name: name_of(&pair.new.case.identity), seconds: None, output, verdict }
}

/// `slower: 1.10 times the base (95 %: 1.08 to 1.12); 1.96 µs in the base, 2.16 µs in the new side`
fn words(pair: &RowPair) -> String {
    let mut words = names::verdict(&pair.comparison).to_string();
    if let Some(ratio) = pair.ratio() {
        words += &format!(": {} times the base", figure(ratio));
    }
    if let Some(bounds) = pair.comparison.ratio {
        words += &format!(" (95 %: {} to {})", figure(bounds.low), figure(bounds.high));
    }
    if let (Some(base), Some(new)) = (pair.base_ns, pair.new_ns) {
        words += &format!("; {} in the base, {} in the new side", duration(base), duration(new));
    }
    words
}

fn undecided(change: &Change, pair: &RowPair) -> String {
    let unit = if change.is_paired { "pairs" } else { "runs a side" };
    match needed(change, &pair.comparison) {
        Some(needed) => format!("cannot tell: about {needed} {unit} would"),
        None => "cannot tell".into(),
    }
}

/// A row that failed on the new side fails; one that a side does not have is skipped.
fn alone(unpaired: &UnpairedRow) -> TestCase {
    let (_, why) = why(unpaired);
    let verdict = match unpaired.new {
        Presence::Unmeasured(case) if case.status() == Status::Failed => TestOutcome::Failed(why),
        _ => TestOutcome::Skipped(why),
    };
    TestCase { name: name_of(unpaired.identity), seconds: None, output: String::new(), verdict }
}
