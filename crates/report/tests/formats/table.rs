//! The table and its Markdown form: their figures, their order, and that no line is wider than the terminal.

use ipcmark_report::Terminal;
use ipcmark_results::{
    Answers, Arrivals, Carrier, Load, Offered, Outcome, Pattern, PlacementPolicy, RunResult,
    RunTime, Span, Status, Times, Touch, Trial, Wait,
};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

mod figures;
mod groups;
mod loads;

use crate::{
    arbitrary,
    sample::{
        case, first, lose, measured, measured_as, overloaded, run, set, times, trial, unmeasured,
        whole_run,
    },
    shown, shown_on,
};

fn table(result: &RunResult, width: usize) -> String {
    shown_on(result, "table", Terminal { width, color: false, ascii: false })
}

fn painted(result: &RunResult) -> String {
    shown_on(result, "table", Terminal { width: 80, color: true, ascii: false })
}

fn markdown(result: &RunResult) -> String {
    shown(result, "markdown")
}

fn unpainted(text: &str) -> String {
    ["0", "1", "2", "31"]
        .iter()
        .fold(text.to_string(), |text, look| text.replace(&format!("\x1b[{look}m"), ""))
}

/// The words of the first line that begins with a transport's name.
fn row<'a>(text: &'a str, transport: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{transport} ")));
    line.unwrap_or_else(|| panic!("no row {transport} in\n{text}")).split_whitespace().collect()
}

fn position(text: &str, part: &str) -> usize {
    text.find(part).unwrap_or_else(|| panic!("no `{part}` in\n{text}"))
}

#[test]
fn a_small_result_looks_like_this() {
    let mut lossy = case("udp", 64, Wait::Spin, 12_600);
    lose(first(&mut lossy), 3, 150_000_000);
    let failed = unmeasured(case("pipe", 64, Wait::Block, 1), Status::Failed, "killed by signal 9");
    let mut result = run(vec![lossy, case("shm-slot", 64, Wait::Spin, 224), failed]);
    result.notes.push("The governor is `powersave`.".into());
    let expected = "\
ipcmark 0.1.0 · 2 of 3 cases measured
  cpu         AMD EPYC 7B13 · 2 CPUs on 2 cores usable
  kernel      Linux 6.1.0-18-cloud-amd64 · Debian GNU/Linux 12 (bookworm)
  hypervisor  KVM
  placement   leader on cpu 0, follower on cpu 1, two cores of one package
  distances   at 206 ns a bare round trip, 94.0 %; at 412 ns a bare round trip,
              5.00 %; mixed, 1.00 % of the blocks
  clock       tsc, 21.7 ns a reading, in steps of 1 ns

latency · 64 B · spin   ½ round trip in µs
  transport   mean    p50    p99   p99.9   max  CPU/msg  × floor  carrier
  shm-slot   0.110  0.112  0.146   0.448  17.1    0.224     1.07   kernel
  udp !      6.17   6.30   8.19   25.2    91.3   12.6      59.9    kernel
  ! udp: 3 of 10,000 round trips lost, 150 ms spent waiting for them

½ round trip: a round trip divided by two; no clocks were compared between
processes. CPU/msg: CPU time of all processes a message, in the unit of the
group. rank: rows without a significant difference share one, marked =. ± is
half the 95 % interval of the mean. × floor: each block divided by the bare
round trips just before and after it. –: too few samples.

failed
  - pipe: killed by signal 9

notes
  - The governor is `powersave`.

findings
  64 B · spin  fastest in its one trial shm-slot, 110 ns; keeps 4.48 cores busy,
               with messages or without
  machine      2 distances: a bare cache line took 206 ns to 412 ns there and
               back; rows are compared at 206 ns, in 94.0 % of the blocks
";
    assert_eq!(table(&result, 80), expected);
}

#[test]
fn the_head_shows_the_parts_of_the_run_time() {
    let mut result = run(vec![case("pipe", 64, Wait::Block, 1_000)]);
    let elapsed = &mut first(&mut result.cases[0]).blocks.elapsed_ns;
    let count = elapsed.len() as u64;
    elapsed.fill(2_000_000_000 / count);
    let (elapsed_ns, setup_ns, turns_ns) = (4_000_000_000, 1_000_000_000, 2_600_000_000);
    result.time = Some(RunTime { elapsed_ns, setup_ns, turns_ns });
    let expected = "\n  time        4.00 s: 50.0 % in measured blocks, 15.0 % around them, 25.0 % to open and close \
    ends\n";
    assert!(table(&result, 140).contains(expected), "{}", table(&result, 140));
    first(&mut result.cases[0]).blocks.elapsed_ns.fill(u64::MAX);
    result.time = result.time.map(|_| RunTime { elapsed_ns: u64::MAX, setup_ns, turns_ns });
    assert!(table(&result, 140).contains("100 % in measured blocks"), "a file can hold any number");
}

#[test]
fn a_run_that_measured_nothing_knows_no_distances() {
    let mut result = run(vec![case("pipe", 64, Wait::Block, 1_000)]);
    let distances = result.distances.as_mut().unwrap();
    distances.mixed_share = 0.0;
    distances.all.iter_mut().for_each(|distance| distance.share = 0.0);
    let text = table(&result, 80);
    assert!(text.contains("distances   not known, for no row was measured"), "{text}");
}

#[test]
fn a_whole_run_fits_80_columns_with_every_column_that_matters() {
    let text = table(&whole_run(), 80);
    let labels = "transport mean p50 p99 CPU/msg × floor".split(' ').collect::<Vec<_>>();
    let words = row(&text, "transport");
    assert!(
        labels.iter().all(|label| label.split(' ').all(|word| words.contains(&word))),
        "{words:?}"
    );
    assert!(!text.contains('…'));
}

#[test]
fn a_wide_terminal_shows_more_columns() {
    let words = row(&table(&whole_run(), 140), "transport").join(" ");
    assert!(words.ends_with("× floor × bare carrier switches/msg start samples"), "{words}");
}

#[test]
fn figures_are_those_of_the_result() {
    let mut one = case("pipe", 64, Wait::Block, 81_200);
    let trial = first(&mut one);
    set(trial, times(81_200, 90_000, 1_234_000, 24_690_000), 80_000.0);
    let [leader, follower] = &mut trial.session.processes[..] else { panic!("there are two") };
    (leader.cpu_ns, follower.cpu_ns) = (3_000 * 20_000, 4_500 * 20_000);
    let result = run(vec![one]);
    let cells = [
        "pipe", "40.0", "40.6", "45.0", "617", "12,345", "7.50", "388", "1.25", "kernel", "1.00",
        "300 µs", "10000",
    ];
    assert_eq!(row(&table(&result, 140), "pipe").join(" "), cells.join(" "));
    assert!(markdown(&result).contains(&format!("| {} |\n", cells.join(" | "))));
}

#[test]
fn a_missing_figure_is_a_dash() {
    let mut one = case("pipe", 64, Wait::Spin, 2_000);
    let trial = first(&mut one);
    trial.by_distance.clear();
    let text = table(&run(vec![one]), 200);
    // Nothing of this row was measured at the reference distance; the maximum covers all distances.
    assert_eq!(row(&text, "pipe")[..6], ["pipe", "–", "–", "–", "–", "27,708"], "{text}");
}

#[test]
fn an_unsupported_row_shows_its_reason() {
    let mut one = case("pipe", 64, Wait::Spin, 2_000);
    first(&mut one).by_distance[0].floor_multiple = Some(0.31);
    let text = table(&run(vec![one]), 100);
    assert!(text.contains("! pipe: suspect: 0.310 of the floor"), "{text}");
}

#[test]
fn a_result_without_its_last_trials_says_so() {
    let mut result = run(vec![case("pipe", 64, Wait::Spin, 1_000)]);
    result.complete = false;
    let sentence = "incomplete: the last trials were not reached";
    assert!(table(&result, 80).contains(sentence) && markdown(&result).contains(sentence));
}

#[test]
fn an_incomplete_result_says_so() {
    let mut result = run(vec![case("pipe", 64, Wait::Spin, 1_000)]);
    (result.complete, result.planned_cases) = (false, 60);
    let text = table(&result, 80);
    assert!(
        text.starts_with("ipcmark 0.1.0 · 1 of 60 cases measured\nincomplete: 59 of"),
        "{text}"
    );
    assert!(markdown(&result).contains("**incomplete: 59 of the cases were not reached**"));
}

#[test]
fn markdown_escapes_text() {
    let reason = "a|b <script> `x` *y*\n# z";
    let failed = unmeasured(case("pipe", 64, Wait::Spin, 1), Status::Failed, reason);
    let text = markdown(&run(vec![failed]));
    assert!(text.contains(r"- pipe: a\|b \<script\> \`x\` \*y\* \# z"), "{text}");
}

#[test]
fn colour_is_used_only_on_request() {
    let result = whole_run();
    let painted = painted(&result);
    assert!(painted.contains("\x1b[1mlatency") && painted.contains("\x1b[31mfailed\x1b[0m"));
    assert_eq!(unpainted(&painted), table(&result, 80));
}
