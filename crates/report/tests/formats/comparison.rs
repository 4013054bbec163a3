//! A comparison as a table and as JSON.

use ipcmark_report::{
    ComparedSides, Terminal, comparison_json, comparison_junit, comparison_table,
};
use ipcmark_results::{Change, RunResult, Status, Wait, compare_pairs, compare_runs};
use proptest::prelude::*;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::{
    arbitrary,
    sample::{case, overloaded, run, unmeasured},
};

/// A run of three rows, in which pipe takes this long.
fn one(number: u32, pipe_ns: u64) -> RunResult {
    let failed = unmeasured(case("tcp", 64, Wait::Spin, 1), Status::Failed, "killed by signal 9");
    let third = if number > 3 { failed } else { case("tcp", 64, Wait::Spin, 9_000) };
    let pipe = case("pipe", 64, Wait::Spin, pipe_ns + u64::from(number));
    let mut result = run(vec![pipe, case("shm-ring", 64, Wait::Spin, 224), third]);
    result.run.id = number.to_string();
    if number > 3 {
        result.cases[0].identity.options.insert("capacity".into(), "4096".into());
    }
    result
}

fn sides<'a>(change: &'a Change<'a>) -> ComparedSides<'a> {
    let note = "The governor is powersave.".into();
    ComparedSides { change, base: "a.json".into(), new: "b.json".into(), notes: vec![note] }
}

fn table(change: &Change, width: usize) -> String {
    comparison_table(&sides(change), Terminal { width, color: false, ascii: false })
}

fn three_a_side() -> [Vec<RunResult>; 2] {
    [
        (1..4).map(|number| one(number, 2_000)).collect(),
        (4..7).map(|number| one(number, 2_200)).collect(),
    ]
}

#[test]
fn a_comparison_looks_like_this() {
    let [base, new] = three_a_side();
    let change = compare_runs(&base.iter().collect::<Vec<_>>(), &new.iter().collect::<Vec<_>>());
    let expected = "\
result files
  base          a.json
  new           b.json
  pipe options  defaults → capacity=4096
  distance      rows are compared at 206 ns a bare round trip
note: The governor is powersave.

latency · 64 B · spin   ½ round trip in µs
  transport   base    new  ratio  95 % interval  verdict
  pipe       0.981  1.08    1.10   1.10 to 1.10   slower
  shm-ring   0.110  0.110   1.00   1.00 to 1.00     same

not compared
  - tcp (latency · 64 B · all · spin): measured in the base; in the new side
    failed: killed by signal 9

2 rows: 1 slower, 0 faster, 1 the same; 0 cannot tell
";
    assert_eq!(table(&change, 80), expected);
    let narrow = table(&change, 40);
    assert!(narrow.contains("  transport    new  ratio  verdict\n"), "{narrow}");
    let painted =
        comparison_table(&sides(&change), Terminal { width: 80, color: true, ascii: false });
    assert!(painted.contains("\x1b[31m2 rows: 1 slower"), "{painted}");
}

#[test]
fn the_ratio_of_pairs_is_not_that_of_the_columns() {
    let [base, new] = three_a_side();
    let [base, new]: [Vec<&RunResult>; 2] = [base.iter().collect(), new.iter().collect()];
    let said = "ratio         the middle of the ratios of all pairs";
    assert!(table(&compare_pairs(&base, &new, None), 120).contains(said));
    assert!(!table(&compare_runs(&base, &new), 120).contains(said));
}

#[test]
fn a_side_that_did_not_hold_its_rate_is_named() {
    let [held, missed] = [10_000, 2_000].map(|sent| run(vec![overloaded("pipe", 900, sent)]));
    let text = |base, new| table(&compare_pairs(&[base], &[new], None), 400);
    let said = "note: pipe (latency · 64 B · all · 10,000/s · spin) did not hold its rate ";
    assert!(!text(&held, &held).contains("did not hold"), "{}", text(&held, &held));
    for (base, new, side) in [
        (&held, &missed, "in the new side"),
        (&missed, &held, "in the base"),
        (&missed, &missed, "on both sides"),
    ] {
        let text = text(base, new);
        assert!(text.contains(&format!("{said}{side}: its times")), "{text}");
    }
}

#[test]
fn json_says_the_same() {
    let [base, new] = three_a_side();
    let change = compare_runs(&base.iter().collect::<Vec<_>>(), &new.iter().collect::<Vec<_>>());
    let json: Value = serde_json::from_str(&comparison_json(&sides(&change))).unwrap();
    let row = &json["rows"][0];
    assert_eq!((&row["transport"], &row["verdict"]), (&"pipe".into(), &"slower".into()));
    assert_eq!((&row["pairs"], &row["pairs_needed"]), (&3.into(), &Value::Null));
    assert_eq!(row["new"]["options"]["capacity"], "4096");
    let ratio = row["ratio"].as_f64().unwrap();
    let bound = |bound| row["ratio_interval"][bound].as_f64().unwrap();
    assert!((1.09..1.11).contains(&ratio) && bound("low") < ratio && ratio < bound("high"));
    assert_eq!(json["not_compared"][0]["new"]["reason"], "killed by signal 9");
    assert_eq!((&json["slower"], &json["same"]), (&1.into(), &1.into()));
}

#[test]
fn a_slower_row_fails_in_junit() {
    let [base, new] = three_a_side();
    let change = compare_runs(&base.iter().collect::<Vec<_>>(), &new.iter().collect::<Vec<_>>());
    let slower = "slower: 1.10 times the base (95 %: 1.10 to 1.10); 1.96 µs in the base, 2.16 µs in the new side";
    let same = "same: 1.00 times the base (95 %: 1.00 to 1.00); 220 ns in the base, 220 ns in the new side";
    let failed = "measured in the base; in the new side failed: killed by signal 9";
    let expected = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="ipcmark compare" tests="3" failures="2" errors="0" skipped="0">
  <testsuite name="ipcmark compare" tests="3" failures="2" errors="0" skipped="0">
    <properties>
      <property name="base" value="a.json"/>
      <property name="new" value="b.json"/>
      <property name="note" value="The governor is powersave."/>
    </properties>
    <testcase classname="ipcmark compare" name="latency/pipe/64/spin/capacity:4096/round_trip">
      <failure message="{slower}">{slower}</failure>
    </testcase>
    <testcase classname="ipcmark compare" name="latency/shm-ring/64/spin/round_trip">
      <system-out>{same}</system-out>
    </testcase>
    <testcase classname="ipcmark compare" name="latency/tcp/64/spin/round_trip">
      <failure message="{failed}">{failed}</failure>
    </testcase>
  </testsuite>
</testsuites>
"#
    );
    assert_eq!(comparison_junit(&sides(&change)), expected);
}

#[test]
fn the_reason_for_no_verdict_stands_above_the_rows() {
    let (base, mut new) = (one(1, 2_000), one(2, 9_000));
    new.environment.cpu_model = "another".into();
    let change = compare_runs(&[&base], &[&new]);
    let text = table(&change, 1_000);
    let reason = "cannot tell: the runs differ in their processor (AMD EPYC 7B13; another)";
    assert!(text.contains(reason) && text.contains("ipcmark compare --run"), "{text}");
    assert!(!text.contains("needs"), "more runs of two machines do not help: {text}");
}

proptest! {
    #[test]
    fn every_comparison_fits_the_terminal(
        (base, new) in (arbitrary::result(), arbitrary::result()),
        width in 40..150_usize,
    ) {
        for new in [&new, &base] {
            let change = compare_runs(&[&base], &[new]);
            for line in table(&change, width).lines() {
                prop_assert!(line.width() <= width, "{}: {line:?}", line.width());
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            }
            let json = comparison_json(&sides(&change));
            prop_assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
        }
    }
}
