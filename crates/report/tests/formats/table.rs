//! The table and its Markdown form: their figures, their order, and that no line is wider than the terminal.

use ipcmark_report::Terminal;
use ipcmark_results::{
    Arrivals, Carrier, Load, Offered, Pattern, RunResult, RunTime, Span, Status, Touch, Trial, Wait,
};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::{
    arbitrary,
    sample::{
        case, first, lose, measured, measured_as, run, set, times, trial, unmeasured, whole_run,
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
  clock       tsc, 21.7 ns a reading, in steps of 10 ns

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
    assert!(words.ends_with("× floor × bare carrier switches/msg samples"), "{words}");
}

#[test]
fn figures_are_those_of_the_result() {
    let mut one = case("pipe", 64, Wait::Block, 81_200);
    let trial = first(&mut one);
    set(trial, times(81_200, 90_000, 1_234_000, 24_690_000), 80_000.0);
    let [leader, follower] = &mut trial.session.processes[..] else { panic!("there are two") };
    (leader.cpu_ns, follower.cpu_ns) = (3_000 * 20_000, 4_500 * 20_000);
    let result = run(vec![one]);
    let words = [
        "pipe", "40.0", "40.6", "45.0", "617", "12,345", "7.50", "388", "1.25", "kernel", "1.00",
        "10000",
    ];
    assert_eq!(row(&table(&result, 140), "pipe"), words);
    assert!(markdown(&result).contains(&format!("| {} |\n", words.join(" | "))));
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

/// Whole responses, not halves, with the lateness of the schedule and the processors kept busy.
#[test]
fn an_open_loop_looks_like_this() {
    let mut one = case("pipe", 64, Wait::Block, 81_200);
    one.identity.load = Load::Rate { per_second: 10_000, arrivals: Arrivals::Poisson };
    let trial = first(&mut one);
    trial.offered = Some(Offered {
        intended: 10_000,
        sent: 9_900,
        late: 250,
        elapsed_ns: 1_000_000_000,
        service_ns: times(61_000, 65_000, 70_000, 80_000),
        delay_ns: times(50, 60, 70, 80),
    });
    trial.session.turns_ns = 1_100_000_000;
    let [leader, follower] = &mut trial.session.processes[..] else { panic!("there are two") };
    (leader.cpu_ns, follower.cpu_ns) = (330_000_000, 220_000_000);
    let open_loop = one;
    let text = table(&run(vec![open_loop.clone()]), 400);
    let title =
        "latency · 64 B · 10,000/s at random · block   response from the intended time in µs";
    assert!(text.contains(title), "{text}");
    let mut result = run(vec![open_loop.clone()]);
    let (elapsed_ns, setup_ns, turns_ns) = (2_000_000_000, 500_000_000, 1_200_000_000);
    result.time = Some(RunTime { elapsed_ns, setup_ns, turns_ns });
    let head = "2.00 s: 50.0 % in measured blocks, 10.0 % around them, 25.0 % to open";
    assert!(
        table(&result, 140).contains(head),
        "times of messages overlap: {}",
        table(&result, 140)
    );
    let cells = row(&text, "pipe").join(" ");
    // The mean is not halved. 550 ms of CPU in 1,100 ms are half a core, and 2.5 % were late.
    for words in ["pipe 79.6 81.2", " 0.500 9,900 2 %"] {
        assert!(cells.contains(words), "no {words} in {cells}");
    }
    assert!(
        text.contains("late: sent after that time") && !text.contains("½ round trip: a round trip")
    );
}

/// Two rows of a pattern, one twice as fast as the other.
fn two_of(pattern: Pattern) -> RunResult {
    let of = |name, ns| {
        let mut one = case(name, 1000, Wait::Spin, ns);
        one.identity.pattern = pattern;
        one.outcome = measured_as(pattern, vec![trial(Wait::Spin, ns)]);
        one
    };
    run(vec![of("pipe", 2_000), of("shm-ring", 1_000)])
}

#[test]
fn a_stream_looks_like_this() {
    let mut result = two_of(Pattern::Throughput);
    lose(first(&mut result.cases[0]), 100, 0);
    let text = table(&result, 400);
    assert!(text.contains("throughput · 1,000 B · spin   time a message in µs"), "{text}");
    // 980 ns a message are 1,020,408 a second, of 1,000 bytes each.
    let cells = row(&text, "shm-ring").join(" ");
    assert!(cells.contains("1,020,408 1,020") && cells.contains(" 128 "), "{cells}");
    assert!(!text.contains("p50") && text.contains("msg/s, MB/s: as received"), "{text}");
    assert!(text.contains("pipe: 100 of 10,000 messages lost, 1 %"), "{text}");
    assert!(
        text.contains("throughput · 1,000 B · spin  most in its one trial shm-ring, 1,020,408/s;"),
        "{text}"
    );
}

#[test]
fn one_way_looks_like_this() {
    let text = table(&two_of(Pattern::OneWay), 400);
    assert!(text.contains("one-way · 1,000 B · spin   one way in µs"), "{text}");
    let cells = row(&text, "shm-ring").join(" ");
    assert!(cells.starts_with("shm-ring 0.980 1.00"), "nothing is halved: {cells}");
    assert!(text.contains("the clocks of the two ends agree within 45.0 ns"), "{text}");
    assert!(
        text.contains("one-way · 1,000 B · spin  fastest in its one trial shm-ring, 980 ns"),
        "{text}"
    );
}

#[test]
fn the_wake_up_of_a_sleeping_receiver_is_marked_as_an_estimate() {
    let of = |name, wait, ns| {
        let mut one = case(name, 64, wait, ns);
        one.identity.pattern = Pattern::OneWay;
        one.outcome = measured_as(Pattern::OneWay, vec![trial(wait, ns)]);
        one
    };
    let rows = [("pipe", 1_000, 15_000), ("tcp", 4_000, 24_000), ("fifo", 1_000, 17_000)];
    let both = |(name, spun, slept)| [of(name, Wait::Spin, spun), of(name, Wait::Block, slept)];
    let text = table(&run(rows.into_iter().flat_map(both).collect()), 400);
    assert!(
        text.contains("adds about 16.0 µs, its wake-up: an estimate")
            && text.contains("14.0 µs to 20.0 µs in 3 rows"),
        "{text}"
    );
}

#[test]
fn recorded_wake_ups_replace_the_estimate() {
    let of = |name, wait, ns, wake_up: Option<u64>| {
        let mut one = case(name, 64, wait, ns);
        one.identity.pattern = Pattern::OneWay;
        one.outcome = measured_as(Pattern::OneWay, vec![trial(wait, ns)]);
        let parts = first(&mut one).one_way.as_mut().unwrap();
        parts.wake_up_ns = wake_up.map(|ns| times(ns, 2 * ns, 3 * ns, 4 * ns));
        one
    };
    let spins = of("pipe", Wait::Spin, 1_000, None);
    let pipe = of("pipe", Wait::Block, 15_000, Some(9_000));
    let text = table(&run(vec![spins.clone(), pipe.clone()]), 400);
    let found = "a wake-up took 9.00 µs (p50), 18.0 µs (p99), by the kernel's tracepoints in 1 row; it leaves 6.00 µs";
    assert!(text.contains(found) && !text.contains("estimate"), "{text}");
    let fifo = of("fifo", Wait::Block, 17_000, Some(12_000));
    let mut paced = pipe.clone();
    paced.identity.load = Load::Rate { per_second: 1_000, arrivals: Arrivals::Fixed };
    let text = table(&run(vec![paced]), 400);
    let found =
        "a wake-up took 9.00 µs (p50), 18.0 µs (p99), by the kernel's tracepoints in 1 row\n";
    assert!(text.contains(found), "a way at a rate has the lateness too: {text}");
    let text = table(&run(vec![spins, pipe, fifo]), 400);
    let found =
        "a wake-up took 9.00 µs to 12.0 µs (p50), 18.0 µs to 24.0 µs (p99), by the kernel's";
    assert!(text.contains(found), "{text}");
}

/// Two rows that differ by less than their trials do, and one that is far slower.
fn tie() -> RunResult {
    let of = |name, mean: f64| {
        let mut one = case(name, 64, Wait::Spin, 2_000);
        let numbered = [-1.0, 2.0, -2.0, 1.0].iter().enumerate().map(|(at, change)| {
            let mut trial = Trial { number: at as u32 + 1, ..trial(Wait::Spin, 2_000) };
            let turned = if name == "memfd" { -change } else { *change };
            set(&mut trial, times(2_000, 2_100, 2_200, 9_000), mean * (1.0 + turned / 100.0));
            trial
        });
        one.outcome = measured(numbered.collect());
        one
    };
    run(vec![of("shm-ring", 1_000.0), of("pipe", 9_000.0), of("memfd", 1_006.0)])
}

#[test]
fn indistinguishable_rows_share_a_rank() {
    let text = table(&tie(), 120);
    let ranks = ["memfd", "shm-ring", "pipe"].map(|name| row(&text, name)[1].to_string());
    assert_eq!(ranks, ["1=", "1=", "3"], "{text}");
    assert!(text.contains("latency · 64 B · spin · 4 trials"), "{text}");
}

#[test]
fn findings_list_ties_and_the_states_of_the_machine() {
    for text in [table(&tie(), 120), markdown(&tie())] {
        let findings = &text[position(&text, "findings")..];
        assert!(findings.contains("fastest, tied: shm-ring, memfd, 500 ns to 503 ns"), "{text}");
        let machine = "2 distances: a bare cache line took 206 ns to 412 ns there and back; rows are compared at 206 \
        ns";
        assert!(
            findings.split_whitespace().collect::<Vec<_>>().join(" ").contains(machine),
            "{text}"
        );
    }
    let alone = table(&run(vec![case("pipe", 64, Wait::Spin, 2_000)]), 120);
    assert!(!alone.contains("findings"), "one row answers nothing: {alone}");
}

#[test]
fn a_row_that_fell_back_is_marked() {
    let mut one = case("fast", 64, Wait::Spin, 2_000);
    let carrier = &mut first(&mut one).session.carrier;
    (carrier.declared, carrier.found) = (Some(Carrier::SharedMemory), Carrier::Network);
    let result = run(vec![one, case("pipe", 64, Wait::Spin, 3_000)]);
    let sentence = "fast: it fell back: network carried the messages, not shared memory";
    for text in [table(&result, 80), markdown(&result)] {
        assert!(text.contains(sentence) && text.contains("fast !"), "{text}");
        assert!(!text.contains("pipe !"), "{text}");
    }
}

#[test]
fn a_row_that_never_slept_is_marked() {
    let sleepless = |wait| {
        let mut one = case("eager", 64, wait, 2_000);
        for process in &mut first(&mut one).session.processes {
            process.ends[0].thread.sleeps = 500;
        }
        one
    };
    for (wait, is_marked) in [(Wait::Block, true), (Wait::Spin, false), (Wait::Hybrid, false)] {
        let result = run(vec![sleepless(wait), case("pipe", 64, wait, 40_000)]);
        for text in [table(&result, 80), markdown(&result)] {
            assert_eq!(text.contains("eager: it stayed awake in nine"), is_marked, "{text}");
            assert_eq!(text.contains("eager !"), is_marked, "{text}");
            assert!(!text.contains("pipe !"), "{text}");
        }
    }
}

#[test]
fn spin_and_block_never_stand_in_one_ranking() {
    let text = table(&whole_run(), 80);
    let group = &text[position(&text, "latency · 64 B · block")..];
    let group = &group[..position(group, "\n\n")];
    assert!(group.contains("posix-mq") && !group.contains("shm-slot"), "{group}");
}

#[test]
fn the_fastest_comes_first() {
    let cases = [("slow", 9_000), ("fast", 1_000), ("even", 1_000)];
    let text = table(&run(cases.map(|(name, p50)| case(name, 64, Wait::Spin, p50)).to_vec()), 80);
    let places = ["even", "fast", "slow"].map(|name| position(&text, name));
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn groups_follow_payload_touch_and_wait() {
    let mut cases = vec![
        case("pipe", 1 << 20, Wait::Block, 9_000),
        case("pipe", 1 << 20, Wait::Spin, 9_000),
        case("pipe", 64, Wait::Hybrid, 9_000),
        case("pipe", 64, Wait::Spin, 9_000),
    ];
    cases[1].identity.touch = Touch::Head;
    let titles = [
        "latency · 64 B · spin ",
        "latency · 64 B · hybrid ",
        "latency · 1 MiB · touch head · spin ",
        "latency · 1 MiB · touch all · block ",
    ];
    let text = table(&run(cases), 80);
    assert!(titles.map(|title| position(&text, title)).is_sorted(), "{text}");
}

#[test]
fn rows_within_one_process_have_their_own_group_and_label() {
    let mut cases: Vec<_> = [64, 4_096].map(|bytes| case("null", bytes, Wait::Spin, 8)).into();
    for case in &mut cases {
        (case.identity.span, case.identity.touch) = (Span::None, Touch::Head);
    }
    cases.push(case("queue", 64, Wait::Spin, 300));
    cases[2].identity.span = Span::Thread;
    cases.push(case("pipe", 64, Wait::Spin, 2_000));
    let text = table(&run(cases), 80);
    let titles = [
        "latency · 64 B · touch all · spin   ½ round trip in µs\n",
        "latency · 64 B · touch all · spin · one process   ½ round trip in µs\n",
        "latency · spin · no hop: the harness itself   ½ round trip in ns\n",
    ];
    assert!(titles.map(|title| position(&text, title)).is_sorted(), "{text}");
    assert_eq!(row(&text, "null 64 B")[..4], ["null", "64", "B", "3.92"]);
    assert_eq!(row(&text, "null 4 KiB")[..4], ["null", "4", "KiB", "3.92"]);
}

#[test]
fn settings_make_rows_of_their_own() {
    let mut cases = vec![case("pipe", 64, Wait::Spin, 3_000), case("pipe", 64, Wait::Spin, 1_000)];
    cases[0].identity.options.insert("capacity".into(), "1048576".into());
    let text = table(&run(cases), 80);
    assert_eq!(row(&text, "pipe capacity=1048576")[2], "1.47");
    assert!(!text.contains("2 trials"));
}

#[test]
fn cases_with_one_reason_share_a_line() {
    let bad = |name, bytes, wait| {
        unmeasured(case(name, bytes, wait, 1), Status::Unsupported, "no such wait")
    };
    let text = table(
        &run(vec![
            bad("tcp", 64, Wait::Hybrid),
            bad("tcp", 4_096, Wait::Hybrid),
            bad("udp", 64, Wait::Hybrid),
            bad("udp", 4_096, Wait::Hybrid),
            case("udp", 64, Wait::Spin, 1_000),
            case("udp", 4_096, Wait::Spin, 1_000),
        ]),
        80,
    );
    let list = &text[position(&text, "unsupported")..];
    assert_eq!(list, "unsupported\n  - tcp: no such wait\n  - udp · hybrid: no such wait\n");
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

fn unpainted(text: &str) -> String {
    ["0", "1", "2", "31"]
        .iter()
        .fold(text.to_string(), |text, look| text.replace(&format!("\x1b[{look}m"), ""))
}

/// The geometric mean of a figure of each trial.
fn mean(trials: &[Trial], figure: impl Fn(&Trial) -> f64) -> f64 {
    let sum: f64 = trials.iter().map(|trial| figure(trial).ln()).sum();
    (sum / trials.len() as f64).exp()
}

/// The middle one of some figures, or the mean of the middle two.
fn median(trials: &[Trial], figure: impl Fn(&Trial) -> f64) -> f64 {
    let mut figures: Vec<f64> = trials.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures[(figures.len() - 1) / 2].midpoint(figures[figures.len() / 2])
}

/// Figures of a row, each with its label and true if it is a time in the unit of the group.
fn figures(case: &ipcmark_results::Case) -> Vec<(&'static str, f64, bool)> {
    let all = case.trials();
    let is_halved = case.identity.pattern == Pattern::Latency && !case.identity.load.is_open();
    let share = if is_halved { 0.5 } else { 1.0 };
    let sum = |of: fn(&ipcmark_results::ProcessRecord) -> u64| {
        let of_trial = |trial: &Trial| -> f64 {
            let processes = trial.session.processes.iter();
            processes.map(|process| of(process) as f64).sum::<f64>()
        };
        median(all, |trial| of_trial(trial) / trial.session.messages as f64)
    };
    let longest = all.iter().map(|trial| trial.times_ns.max).max().unwrap_or(0);
    let switches =
        sum(|process| process.context_switches.voluntary + process.context_switches.involuntary);
    let location = mean(all, |trial| trial.clock_free_mean_ns);
    let of_pattern = match case.identity.pattern.is_stream() {
        true => ("msg/s", (1e9 / location).round(), false),
        false => ("max", longest as f64 * share, true),
    };
    vec![
        ("mean", location * share, true),
        of_pattern,
        ("CPU/msg", sum(|process| process.cpu_ns), true),
        ("switches/msg", switches, false),
    ]
}

/// A row of a table in Markdown.
struct Shown {
    name: String,
    /// The group's unit in ns.
    unit: f64,
    /// The cells after the name, each with its label.
    cells: Vec<(String, String)>,
}

fn rows_of_markdown(text: &str) -> Vec<Shown> {
    let (mut unit, mut labels, mut rows) = (1.0, Vec::new(), Vec::new());
    for line in text.lines() {
        let whats = [
            "½ round trip in ",
            "round trip in ",
            "response from the intended time in ",
            "one way in ",
            "one way from the intended time in ",
            "time a message in ",
        ];
        let sign = whats.iter().find_map(|what| line.strip_prefix(what));
        unit = sign.map_or(unit, |sign| match sign {
            "ns" => 1.0,
            "µs" => 1e3,
            "ms" => 1e6,
            _ => 1e9,
        });
        let cells = || line.trim_end_matches(" |").split(" | ").map(String::from);
        if line.starts_with("| transport ") {
            labels = cells().collect();
        } else if line.starts_with("| case-") {
            let name = cells().next().unwrap_or_default();
            let name = name.trim_start_matches("| ").trim_end_matches(" !").into();
            rows.push(Shown {
                name,
                unit,
                cells: labels.iter().cloned().zip(cells()).skip(1).collect(),
            });
        }
    }
    rows
}

/// True if a cell is a figure with three significant digits.
fn is_rounded(cell: &str, exact: f64) -> bool {
    let read: f64 = cell.replace(',', "").parse().unwrap_or(f64::NAN);
    (read - exact).abs() <= exact.abs() * 0.005_001 + 0.000_501
}

/// The result with a different name for every case.
fn each_its_own(mut result: RunResult) -> RunResult {
    for (at, case) in result.cases.iter_mut().enumerate() {
        case.identity.transport = format!("case-{at:03}");
        case.identity.options.clear();
        case.identity.span = Span::Process;
    }
    result
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_terminal(
        result in arbitrary::result(),
        width in prop::sample::select(&[40_usize, 72, 80, 100, 140, 200][..]),
    ) {
        for line in table(&result, width).lines() {
            prop_assert!(line.width() <= width, "{} of {width}: {line}", line.width());
        }
    }

    #[test]
    fn every_figure_shown_is_one_of_the_file(result in arbitrary::result().prop_map(each_its_own)) {
        let rows = rows_of_markdown(&markdown(&result));
        let measured = result.cases.iter().filter(|case| case.status() == Status::Ok).count();
        prop_assert_eq!(rows.len(), measured);
        let table = table(&result, 400);
        for shown in rows {
            let case = result.cases.iter().find(|case| case.identity.transport == shown.name).unwrap();
            for (label, exact, is_time) in figures(case) {
                let (_, cell) = shown.cells.iter().find(|(name, _)| name == label).unwrap();
                let exact = if is_time { exact / shown.unit } else { exact };
                prop_assert!(is_rounded(cell, exact), "{label}: {cell} for {exact}");
            }
            let cells: Vec<&str> =
                shown.cells.iter().flat_map(|(_, cell)| cell.split_whitespace()).collect();
            let words = row(&table, &shown.name);
            prop_assert_eq!(&words[words.len() - cells.len()..], &cells[..]);
        }
    }

    #[test]
    fn no_control_character_reaches_the_terminal(result in arbitrary::result()) {
        for text in [table(&result, 80), markdown(&result)] {
            let raw = text.chars().find(|char| char.is_control() && *char != '\n');
            prop_assert_eq!(raw, None);
        }
        let painted = painted(&result);
        prop_assert_eq!(unpainted(&painted), table(&result, 80));
    }

    #[test]
    fn half_of_the_mean_is_shown(p50 in 200_u64..20_000_000) {
        let text = table(&run(vec![case("pipe", 64, Wait::Spin, p50)]), 80);
        let shown: f64 = row(&text, "pipe")[1].replace(',', "").parse().unwrap();
        let exact = p50 as f64 * 0.98 / 2_000.0;
        prop_assert!((shown - exact).abs() <= exact / 200.0, "{} for {}", shown, exact);
    }
}
