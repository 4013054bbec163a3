//! The maps of a job's hosts, in the terminal and on the page.

use ipcmark_report::{Source, Terminal, format, page};
use ipcmark_results::*;

use crate::{
    sample::{between, case, run, unmeasured},
    shown,
};

/// Five ranks on different hosts; one pair failed.
fn five() -> RunResult {
    let pairs = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b)));
    let row = |(leader, follower)| {
        let mut row = case("tcp", 64, Wait::Spin, 20_000 + 100 * u64::from(follower));
        row.identity.between = Some(between(leader, follower));
        row
    };
    let mut cases: Vec<Case> = pairs.map(row).collect();
    let last = cases.pop().unwrap();
    cases.push(unmeasured(last, Status::Failed, "rank 4 <died>"));
    run(cases)
}

#[test]
fn a_map_has_every_pair_and_lists_those_not_measured() {
    let table = shown(&five(), "table");
    for words in [
        "tcp · latency · 64 B · spin · median ½ round trip",
        "node0/0",
        "between two hosts: ",
        "(9 pairs, ",
        "pairs that were not measured",
        "node3/3 – node4/4: rank 4 <died>",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    assert!(!shown(&run(vec![case("tcp", 64, Wait::Spin, 9)]), "table").contains("hosts"));
}

#[test]
fn of_many_pairs_the_map_stands_without_a_table_each() {
    let pairs = (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b)));
    let row = |(leader, follower)| {
        let mut row = case("tcp", 64, Wait::Spin, 20_000);
        row.identity.between = Some(between(leader, follower));
        row
    };
    let terminal = Terminal { width: 100, color: false, ascii: false };
    let table = format("table").unwrap().render(&run(pairs.map(row).collect()), terminal).unwrap();
    assert!(table.contains("28 tables, one a pair, are left out"), "{table}");
    assert!(table.contains("(28 pairs, "), "{table}");
}

#[test]
fn the_page_draws_the_map_and_escapes_its_text() {
    let mut result = five();
    for case in &mut result.cases {
        let between = case.identity.between.as_mut().unwrap();
        for end in [&mut between.leader, &mut between.follower] {
            end.host = format!("<b>node{}", end.rank);
        }
    }
    let source = Source { name: "result".into(), result: &result };
    let page = page(&[source]).unwrap();
    assert!(page.contains("id=\"hosts\"") && page.contains("class=\"matrix\""));
    assert!(page.contains("&lt;b&gt;node0/0") && !page.contains("<b>node"));
    let drawn = page.split("<svg ").nth(1).unwrap();
    assert!(!drawn.split("</svg>").next().unwrap().contains("<style"), "the policy forbids it");
}
