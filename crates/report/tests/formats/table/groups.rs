//! Ranks, marks, groups and findings in the table.

use ipcmark_results::{Gaps, Hiccups, RoundRecord};

use super::*;

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

/// A row whose trials had a placement for each of two distances.
#[test]
fn placements_in_turn_have_tables_of_their_own() {
    let mut row = case("shm-ring", 64, Wait::Spin, 224);
    let trial = first(&mut row);
    let mut far = trial.by_distance[0].clone();
    (far.distance, far.location_ns) = (1, Some(7_640.0));
    trial.by_distance.push(far);
    row.identity.placement = PlacementPolicy::All;
    let result = run(vec![row.clone()]);
    let text = table(&result, 80);
    let (near, far) = text.split_once("at 412 ns a bare round trip\n").expect(&text);
    let (_, near) = near.split_once("at 206 ns a bare round trip\n").expect(&text);
    assert_eq!([near, far].map(|part| self::row(part, "shm-ring")[1]), ["0.110", "3.82"]);
    assert_eq!(text.matches("½ round trip: a round trip").count(), 1, "{text}");

    // Once Markdown and the page had the reference distance only.
    for format in ["markdown", "html"] {
        let text = shown(&result, format);
        for heading in ["at 206 ns a bare round trip", "at 412 ns a bare round trip"] {
            assert!(text.contains(heading), "{format}: {heading}");
        }
        assert!(text.contains("3.82"), "{format}");
    }

    row.identity.placement = PlacementPolicy::Auto;
    assert!(!table(&run(vec![row]), 80).contains("3.82"), "only the reference distance");
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

/// Once the findings of a run beside two busy loops did not mention them.
#[test]
fn findings_count_the_rows_that_the_machine_disturbed() {
    let said = "1 of 3 rows: other processes ran on the processors for more than 0.5 % of the time";
    let mut result = tie();
    let of_all = |result: &RunResult| {
        [table(result, 140), markdown(result), shown(result, "html"), shown(result, "svg")]
    };
    for text in of_all(&result) {
        assert!(!text.contains("of 3 rows"), "{text}");
    }
    let Outcome::Ok { measurement } = &mut result.cases[1].outcome else { panic!("not measured") };
    for trial in measurement.trials_mut() {
        let waited_ns = trial.session.turns_ns / 100;
        trial.session.processes[0].ends[0].thread.run_delay_ns = waited_ns;
    }
    for text in of_all(&result) {
        assert!(text.contains(&said[..40]), "{text}");
    }
    assert!(table(&result, 140).contains(said), "{}", table(&result, 140));
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

fn undisturbed() -> RoundRecord {
    RoundRecord {
        number: 0,
        trial: 1,
        is_final: false,
        reference: None,
        blocks: ipcmark_results::Blocks::default(),
        reference_woken_share: None,
        conditions: ipcmark_results::Conditions::default(),
        hiccups: Vec::new(),
    }
}

#[test]
fn the_head_says_how_much_time_the_processors_lost() {
    let mut result = run(vec![case("pipe", 64, Wait::Spin, 2_000)]);
    assert!(!table(&result, 120).contains("hiccups"), "no processor was watched");
    let seen = |cpu, long: u64| {
        let gaps = [(1_000, 3, 10_000 + long), (10_000, long.div_ceil(1_000_000), long)];
        let gaps = gaps.map(|(least_ns, count, total_ns)| Gaps { least_ns, count, total_ns });
        Hiccups { cpu, watched_ns: 5_000_000, gaps: gaps.into(), longest_ns: long }
    };
    for long in [0, 140_000] {
        result
            .rounds
            .push(RoundRecord { hiccups: vec![seen(0, 0), seen(1, long)], ..undisturbed() });
    }
    let said =
        "hiccups     up to 2 % of the time (cpu 1), 100 over 10 µs a second, the longest 140 µs";
    for text in [table(&result, 120), markdown(&result).replace("- hiccups:", "hiccups    ")] {
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_row_whose_processors_did_not_go_idle_is_marked() {
    let asleep = |name, idles| {
        let mut one = case(name, 64, Wait::Block, 20_000);
        for process in &mut first(&mut one).session.processes {
            process.ends[0].thread.sleeps = 10_000;
            process.ends[0].thread.idles = Some(idles);
        }
        one
    };
    let mut result = run(vec![asleep("light", 4_000), asleep("pipe", 9_500)]);
    let round = RoundRecord {
        reference: Some(ipcmark_results::ReferenceKind::Wake),
        reference_woken_share: Some(0.97),
        ..undisturbed()
    };
    result.rounds.push(round);
    for text in [table(&result, 120), markdown(&result)] {
        assert!(text.contains("light: its ends slept, but 60 % of its messages came"), "{text}");
        assert!(text.contains("light !") && !text.contains("pipe !"), "{text}");
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
            assert_eq!(text.contains("eager: it hardly slept"), is_marked, "{text}");
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
