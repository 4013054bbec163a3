//! The table of a sweep: its curves, and the answers below it.

use ipcmark_report::{SweepFinding, SweepShown, Swept, Terminal, sweep_table};
use ipcmark_results::{
    Arrivals, Case, Identity, JudgedRate, LimitVerdict, Load, RunResult, Status, Trial, Wait,
};

use crate::sample::{case, measured, run, trial, unmeasured};

/// A row at a rate, with this median.
fn at_rate(per_second: u64, p50: u64) -> Case {
    let mut case = case("pipe", 64, Wait::Block, p50);
    case.identity.load = Load::Rate { per_second, arrivals: Arrivals::Fixed };
    case
}

fn shown(result: &RunResult, over: Swept, findings: Vec<SweepFinding>) -> String {
    let sweep = SweepShown { result, over, limit_ns: Some(100e3), findings };
    sweep_table(&sweep, Terminal { width: 160, color: false, ascii: false })
}

fn judged(per_second: u64, verdict: LimitVerdict) -> Option<JudgedRate> {
    Some(JudgedRate { per_second, verdict, is_certain: true })
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
    let uncertain =
        |point: Option<JudgedRate>| point.map(|point| JudgedRate { is_certain: false, ..point });
    let both = "1,000/s, and no longer at 2,000/s; not certain at 1,000/s, 2,000/s";
    says(uncertain(held), uncertain(judged(2_000, beyond)), &[], both);
    says(None, None, &[1, 10], "not known: too few samples");
    let table = shown(&result, Swept::Load, Vec::new());
    assert!(table.contains("no row was measured at a rate"), "{table}");
}

/// Three trials at a rate with these medians; their p99 is 1.3 times as long.
fn trials_at_rate(per_second: u64, p50s: [u64; 3]) -> Case {
    let trials =
        p50s.iter().zip(1..).map(|(p50, number)| Trial { number, ..trial(Wait::Block, *p50) });
    Case { outcome: measured(trials.collect()), ..at_rate(per_second, 1) }
}

/// Regression: figures had no interval, and a point that decided the answer by chance looked like any other.
#[test]
fn each_point_has_its_interval_and_its_mark() {
    let result = run(vec![
        trials_at_rate(1_000, [50_000, 50_500, 51_000]),
        trials_at_rate(10_000, [60_000, 70_000, 80_000]),
        trials_at_rate(100_000, [900_000, 950_000, 1_000_000]),
    ]);
    let table = shown(&result, Swept::Load, Vec::new());
    let expected = "
latency · 64 B · block   response from the intended time in µs: p50 and p99
  transport     1,000/s       10,000/s     100,000/s
  pipe p50   50.5 ± 2 %  69.5 ± 37 %      949 ± 13 %
  pipe p99   65.6 ± 2 %  90.4 ± 37 % ?  1,234 ± 13 %

±: half the 95 % interval, from the differences between trials. ?: its interval contains the limit, or it has none: on which side it lies is not certain.";
    assert!(table.contains(expected), "{table}");
}
