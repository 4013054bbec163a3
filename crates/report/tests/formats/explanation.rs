//! The explanation of a message's time, as shown.

use ipcmark_report::{Terminal, explanation_json, explanation_page, explanation_table};
use ipcmark_results::{
    CountedTrials, Explanations, Outcome, ProcessorRecord, Trial, UnitCosts, Wait, explain, groups,
};
use serde_json::Value;

use crate::sample;

/// A trial whose processes both retired 1.5 instructions a cycle, the second without its part in the kernel.
fn counted() -> Trial {
    let mut trial = sample::trial(Wait::Block, 9000);
    for (number, process) in trial.session.processes.iter_mut().enumerate() {
        let with_kernel = number == 0;
        let (instructions, cycles) = (30_000_000, 20_000_000);
        process.processor = Some(ProcessorRecord { instructions, cycles, with_kernel });
    }
    trial
}

/// The table, the document and the page of a pipe.
fn shown(trial: Option<&Trial>, remarks: &[&str]) -> [String; 3] {
    let result = sample::run(vec![sample::case("pipe", 64, Wait::Block, 9000)]);
    assert!(matches!(result.cases[0].outcome, Outcome::Ok { .. }));
    let groups = groups(&result);
    let counted = CountedTrials { calls: None, work: trial };
    let unit_costs = UnitCosts { call_ns: 100.0, copy_ns: 10.0 };
    let all = Explanations {
        rows: vec![explain(groups[0].rows[0], counted, unit_costs).unwrap()],
        failures: Vec::new(),
        remarks: remarks.iter().map(|remark| (*remark).into()).collect(),
    };
    let terminal = Terminal { width: 200, color: false, ascii: false };
    [explanation_table(&all, terminal), explanation_json(&all), explanation_page(&all).unwrap()]
}

#[test]
fn instructions_and_cycles_stand_beside_each_end() {
    let [table, document, page] = shown(Some(&counted()), &[]);
    for side in [
        "a message: 3,000 instructions in 2,000 cycles, 1.50 instructions a cycle; the kernel's among them",
        "a message: 3,000 instructions in 2,000 cycles, 1.50 instructions a cycle; without the kernel's",
    ] {
        assert!(table.contains(side), "{side} is not in {table}");
        assert!(page.contains(&side.replace('\'', "&#x27;")), "{side} is not in {page}");
    }
    let document: Value = serde_json::from_str(&document).unwrap();
    let end = &document["rows"][0]["processor"][1];
    for (name, figure) in [
        ("instructions_per_message", 3000.0),
        ("cycles_per_message", 2000.0),
        ("instructions_per_cycle", 1.5),
    ] {
        assert_eq!(end[name].as_f64(), Some(figure), "{name} in {document}");
    }
    assert_eq!(end["with_kernel"], false, "{document}");
}

#[test]
fn missing_counts_are_replaced_by_their_reason() {
    let [table, document, page] = shown(None, &["there are <no> counters"]);
    for text in [&table, &page] {
        assert!(!text.contains("instructions in"), "{text}");
    }
    assert!(table.contains("there are <no> counters"), "{table}");
    assert!(page.contains("there are &lt;no&gt; counters"), "{page}");
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["remarks"][0], "there are <no> counters");
    assert!(document["rows"][0]["processor"].as_array().unwrap().is_empty(), "{document}");
}
