//! What the table and its Markdown show, and that it keeps to the terminal.

use crate::{
    arbitrary,
    sample::{case, run, unmeasured, whole_run},
};
use ipcmark_report::{Format, Style, render};
use ipcmark_results::{RunResult, Status};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

fn table(result: &RunResult, width: usize) -> String {
    render(result, Format::Table, Style { width, color: false })
}

fn markdown(result: &RunResult) -> String {
    render(result, Format::Markdown, Style { width: 80, color: false })
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
    let mut lossy = case("udp", 64, "spin", 12_600);
    let figures = lossy.figures.as_mut().unwrap();
    (figures.round_trips, figures.lost, figures.lost_wait_ns) = (9_997, 3, 150_000_000);
    let failed = unmeasured(case("pipe", 64, "block", 1), Status::Failed, "killed by signal 9");
    let mut result = run(vec![lossy, case("shm-slot", 64, "spin", 224), failed]);
    result.notes.push("The governor is `powersave`.".into());
    let expected = "\
ipcmark 0.1.0 · 2 of 3 cases measured
  cpu         AMD EPYC 7B13 · 2 CPUs on 2 cores usable
  kernel      Linux 6.1.0-18-cloud-amd64 · Debian GNU/Linux 12 (bookworm)
  hypervisor  KVM
  placement   leader on cpu 0, follower on cpu 1, two cores of one package
  floor       206 ns a round trip (180 ns to 250 ns over the run), half 103 ns
  clock       tsc, 21.7 ns a reading, in steps of 10 ns

latency · 64 B · spin   ½ round trip in µs
  transport    p50    p99   p99.9   max  CPU/msg  × floor  carrier  switches/msg
  shm-slot   0.112  0.145   0.448  17.1    0.224     1.09   kernel         0.000
  udp !      6.30   8.19   25.2    91.3   12.6      61.2    kernel         0.000
  ! udp: 3 of 10,000 round trips lost, 150 ms spent waiting for them

½ round trip: there and back, divided by two; no clock was compared between
processes. CPU/msg: CPU time of both processes a message, in the unit of the
group. × floor: p50 against the floor right before it.

failed
  - pipe: killed by signal 9

notes
  - The governor is `powersave`.
";
    assert_eq!(table(&result, 80), expected);
}

#[test]
fn a_whole_run_fits_80_columns_with_every_column_that_matters() {
    let text = table(&whole_run(), 80);
    let labels = "transport p50 p99 p99.9 max CPU/msg × floor".split(' ').collect::<Vec<_>>();
    assert_eq!(row(&text, "transport"), labels);
    assert!(!text.contains('…'));
}

#[test]
fn a_wide_terminal_shows_more_columns() {
    let words = row(&table(&whole_run(), 140), "transport").join(" ");
    assert!(words.ends_with("× floor carrier switches/msg bulk mean messages/s"), "{words}");
}

#[test]
fn figures_are_those_of_the_result() {
    let mut one = case("pipe", 64, "block", 81_200);
    let figures = one.figures.as_mut().unwrap();
    (figures.round_trip_ns.p99, figures.round_trip_ns.p99_9) = (90_000, 1_234_000);
    (figures.round_trip_ns.max, figures.round_trip_ns.bulk_mean) = (24_690_000, 80_000.0);
    (figures.cpu_ns_per_message.leader, figures.cpu_ns_per_message.follower) = (3_000.0, 4_500.0);
    figures.messages_per_second = 24_631.4;
    let result = run(vec![one]);
    let words = [
        "pipe", "40.6", "45.0", "617", "12,345", "7.50", "394", "kernel", "1.00", "40.0", "24,631",
    ];
    assert_eq!(row(&table(&result, 140), "pipe"), words);
    assert!(markdown(&result).contains(&format!("| {} |\n", words.join(" | "))));
}

#[test]
fn a_row_that_fell_back_says_so() {
    let mut one = case("fast", 64, "spin", 2_000);
    let path = &mut one.figures.as_mut().unwrap().path;
    (path.declared, path.carrier) = (Some("shared-memory".into()), "network".into());
    let result = run(vec![one, case("pipe", 64, "spin", 3_000)]);
    let sentence = "fast: it fell back: network carried the messages, not shared memory";
    for text in [table(&result, 80), markdown(&result)] {
        assert!(text.contains(sentence) && text.contains("fast !"), "{text}");
        assert!(!text.contains("pipe !"), "{text}");
    }
}

#[test]
fn a_row_that_should_have_slept_and_did_not_says_so() {
    let sleepless = |wait| {
        let mut one = case("eager", 64, wait, 2_000);
        let figures = one.figures.as_mut().unwrap();
        figures.context_switches.leader.voluntary = figures.round_trips / 20;
        figures.context_switches.follower.voluntary = figures.round_trips / 20;
        one
    };
    for (wait, is_marked) in [("block", true), ("spin", false), ("hybrid", false)] {
        let result = run(vec![sleepless(wait), case("pipe", 64, wait, 40_000)]);
        for text in [table(&result, 80), markdown(&result)] {
            assert_eq!(text.contains("eager: it did not sleep in nine"), is_marked, "{text}");
            assert_eq!(text.contains("eager !"), is_marked, "{text}");
            assert!(!text.contains("pipe !"), "{text}");
        }
    }
}

#[test]
fn without_a_floor_there_is_no_multiple_of_it() {
    let mut result = run(vec![case("pipe", 64, "spin", 2_000)]);
    result.cases[0].figures.as_mut().unwrap().floor_round_trip_ns = 0.0;
    assert_eq!(row(&table(&result, 80), "pipe")[6], "–");
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
    let text = table(&run(cases.map(|(name, p50)| case(name, 64, "spin", p50)).to_vec()), 80);
    let places = ["even", "fast", "slow"].map(|name| position(&text, name));
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn groups_follow_payload_touch_and_wait() {
    let mut cases = vec![
        case("pipe", 1 << 20, "block", 9_000),
        case("pipe", 1 << 20, "spin", 9_000),
        case("pipe", 64, "hybrid", 9_000),
        case("pipe", 64, "spin", 9_000),
    ];
    cases[0].touch = "all".into();
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
fn what_does_not_travel_between_processes_stands_apart_and_says_so() {
    let mut cases: Vec<_> = [64, 4_096].map(|bytes| case("null", bytes, "spin", 8)).into();
    cases.iter_mut().for_each(|case| case.span = "none".into());
    cases.push(case("queue", 64, "spin", 300));
    cases[2].span = "thread".into();
    cases.push(case("pipe", 64, "spin", 2_000));
    let text = table(&run(cases), 80);
    let titles = [
        "latency · 64 B · spin   ½ round trip in µs\n",
        "latency · 64 B · spin · one process   ½ round trip in µs\n",
        "latency · spin · no hop: the harness itself   ½ round trip in ns\n",
    ];
    assert!(titles.map(|title| position(&text, title)).is_sorted(), "{text}");
    assert_eq!(row(&text, "null 64 B")[..4], ["null", "64", "B", "4.00"]);
    assert_eq!(row(&text, "null 4 KiB")[..4], ["null", "4", "KiB", "4.00"]);
}

#[test]
fn trials_become_one_row_with_their_median_and_range() {
    let mut cases: Vec<_> = [3_000, 1_000, 2_000].map(|p50| case("pipe", 64, "spin", p50)).into();
    (0..3).for_each(|at| cases[at].trial = at as u32 + 1);
    let text = table(&run(cases), 140);
    assert!(text.contains("latency · 64 B · spin · 3 trials"), "{text}");
    let words = row(&text, "pipe");
    assert_eq!((words[1], words[7]), ("1.00", "0.500–1.50"), "{text}");
}

#[test]
fn settings_make_rows_of_their_own() {
    let mut cases = vec![case("pipe", 64, "spin", 3_000), case("pipe", 64, "spin", 1_000)];
    cases[0].options.insert("capacity".into(), "1048576".into());
    let text = table(&run(cases), 80);
    assert_eq!(row(&text, "pipe capacity=1048576")[2], "1.50");
    assert!(!text.contains("trials"));
}

#[test]
fn cases_with_one_reason_share_a_line() {
    let bad = |name, bytes, wait| {
        unmeasured(case(name, bytes, wait, 1), Status::Unsupported, "no such wait")
    };
    let text = table(
        &run(vec![
            bad("tcp", 64, "hybrid"),
            bad("tcp", 4_096, "hybrid"),
            bad("udp", 64, "hybrid"),
            bad("udp", 4_096, "hybrid"),
            case("udp", 64, "spin", 1_000),
            case("udp", 4_096, "spin", 1_000),
        ]),
        80,
    );
    let list = &text[position(&text, "unsupported")..];
    assert_eq!(list, "unsupported\n  - tcp: no such wait\n  - udp · hybrid: no such wait\n");
}

#[test]
fn an_incomplete_result_says_so() {
    let mut result = run(vec![case("pipe", 64, "spin", 1_000)]);
    (result.complete, result.planned_cases) = (false, 60);
    let text = table(&result, 80);
    assert!(
        text.starts_with("ipcmark 0.1.0 · 1 of 60 cases measured\nincomplete: 59 of"),
        "{text}"
    );
    assert!(markdown(&result).contains("**incomplete: 59 of the cases were not reached**"));
}

#[test]
fn markdown_takes_no_text_for_a_mark() {
    let reason = "a|b <script> `x` *y*\n# z";
    let failed = unmeasured(case("pipe", 64, "spin", 1), Status::Failed, reason);
    let text = markdown(&run(vec![failed]));
    assert!(text.contains(r"- pipe: a\|b \<script\> \`x\` \*y\* \# z"), "{text}");
}

#[test]
fn colour_is_only_there_where_it_is_asked_for() {
    let result = whole_run();
    let painted = render(&result, Format::Table, Style { width: 80, color: true });
    assert!(painted.contains("\x1b[1mlatency") && painted.contains("\x1b[31mfailed\x1b[0m"));
    assert_eq!(unpainted(&painted), table(&result, 80));
}

fn unpainted(text: &str) -> String {
    ["0", "1", "2", "31"]
        .iter()
        .fold(text.to_string(), |text, look| text.replace(&format!("\x1b[{look}m"), ""))
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
    fn no_control_character_reaches_the_terminal(result in arbitrary::result()) {
        for text in [table(&result, 80), markdown(&result)] {
            let raw = text.chars().find(|char| char.is_control() && *char != '\n');
            prop_assert_eq!(raw, None);
        }
        let painted = render(&result, Format::Table, Style { width: 80, color: true });
        prop_assert_eq!(unpainted(&painted), table(&result, 80));
    }

    #[test]
    fn half_of_the_p50_is_shown(p50 in 200_u64..20_000_000) {
        let text = table(&run(vec![case("pipe", 64, "spin", p50)]), 80);
        let shown: f64 = row(&text, "pipe")[1].replace(',', "").parse().unwrap();
        let exact = p50 as f64 / 2_000.0;
        prop_assert!((shown - exact).abs() <= exact / 200.0, "{} for {}", shown, exact);
    }
}
