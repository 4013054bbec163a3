//! The table of a sweep: its curves, and the answers below it.

use ipcmark_report::{SweepFinding, SweepShown, Swept, Terminal, sweep_table};
use ipcmark_results::{
    Arrivals, Case, Identity, JudgedRate, LimitVerdict, Load, RunResult, Status, Wait,
};

use crate::sample::{case, run, unmeasured};

/// A row at a rate, with this median.
fn at_rate(per_second: u64, p50: u64) -> Case {
    let mut case = case("pipe", 64, Wait::Block, p50);
    case.identity.load = Load::Rate { per_second, arrivals: Arrivals::Fixed };
    case
}

fn shown(result: &RunResult, over: Swept, findings: Vec<SweepFinding>) -> String {
    let limit = Some("100 µs".into());
    let sweep = SweepShown { result, over, limit, findings };
    sweep_table(&sweep, Terminal { width: 100, color: false, ascii: false })
}

fn judged(per_second: u64, verdict: LimitVerdict) -> Option<JudgedRate> {
    Some(JudgedRate { per_second, verdict })
}

/// Regression: a rate at which the row failed was left out, and one without a p99 too; the highest rate that was left
/// was then "the highest that was measured".
#[test]
fn an_answer_says_what_became_of_every_rate() {
    let (within, beyond) = (LimitVerdict::Within, LimitVerdict::Beyond);
    let failed = unmeasured(at_rate(10_000, 1), Status::Failed, "it hung");
    let result = run(vec![at_rate(1_000, 50_000), failed]);
    let row = Identity { load: Load::Closed, ..at_rate(1, 1).identity };
    let says = |holds, fails, unjudged: &[u64], answer: &str| {
        let finding = SweepFinding { row: row.clone(), holds, fails, unjudged: unjudged.to_vec() };
        let table = shown(&result, Swept::Load, vec![finding]);
        let line = format!("\n  pipe (latency · 64 B · all · block): {answer}\n");
        assert!(table.contains(&line), "no `{answer}` in\n{table}");
    };
    let held = judged(1_000, within);
    says(held, judged(10_000, beyond), &[], "1,000/s, and no longer at 10,000/s");
    says(held, judged(10_000, LimitVerdict::Failed), &[], "1,000/s; at 10,000/s it failed");
    says(held, None, &[], "1,000/s, the highest that was measured");
    says(held, None, &[1], "1,000/s, the highest that was measured; too few samples at 1/s");
    let most = "1,000/s, the highest with enough samples; too few samples at 1/s, 10,000/s";
    says(held, None, &[1, 10_000], most);
    says(None, judged(1_000, beyond), &[], "below 1,000/s, the lowest that was measured");
    says(None, judged(1_000, LimitVerdict::Failed), &[], "not known: it failed at 1,000/s");
    says(None, None, &[1, 10], "not known: too few samples");
    let table = shown(&result, Swept::Load, Vec::new());
    assert!(table.contains("no row was measured at a rate"), "{table}");
}
