//! Open loops, streams, one-way rows and their wake-ups in the table.

use super::*;

/// Whole responses, not halves, with the lateness of the schedule and the processors kept busy.
#[test]
fn an_open_loop_looks_like_this() {
    let mut one = case("pipe", 64, Wait::Block, 81_200);
    one.identity.load = Load::Rate { per_second: 10_000, arrivals: Arrivals::Poisson };
    let trial = first(&mut one);
    trial.offered = Some(Offered {
        intended: 10_000,
        sent: 9_900,
        received: Some(9_900),
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

/// Such rows were ranked by times that said how long they were measured, and one of them was called the fastest.
#[test]
fn a_rate_that_no_row_holds_is_said() {
    let of = overloaded;
    let text = table(&run(vec![of("pipe", 900, 2_000), of("shm-ring", 1_000, 3_200)]), 400);
    let finding = "64 B · 10,000/s · spin  no row held the rate; most shm-ring, 3,200/s\n";
    assert!(text.contains(finding) && !text.contains("fastest"), "{text}");
    let sentence = "pipe: not held: it sent 2,000 of 10,000/s";
    assert!(
        text.contains(sentence) && text.contains("pipe !") && !text.contains("× floor "),
        "{text}"
    );
    let text = table(&run(vec![of("pipe", 900, 2_000), of("shm-ring", 1_000, 10_000)]), 400);
    assert!(!text.contains("no row held") && text.contains("shm-ring, 980 ns"), "{text}");
}

/// The legend spoke of answers, which nobody sends.
#[test]
fn a_rate_one_way_has_a_legend_of_its_own() {
    let legend = |patterns: &[Pattern]| {
        let cases = patterns.iter().map(|pattern| {
            let mut one = case("pipe", 64, Wait::Spin, 900);
            one.identity.load = Load::Rate { per_second: 10_000, arrivals: Arrivals::Fixed };
            one.identity.pattern = *pattern;
            one.outcome = measured_as(*pattern, vec![trial(Wait::Spin, 900)]);
            one
        });
        let text = table(&run(cases.collect()), 2_000);
        (
            text.contains("to its answer. late:"),
            text.contains("time: until the message was received"),
        )
    };
    assert_eq!(legend(&[Pattern::OneWay]), (false, true));
    assert_eq!(legend(&[Pattern::Latency]), (true, false));
    assert_eq!(legend(&[Pattern::OneWay, Pattern::Latency]), (true, true));
}

#[test]
fn lost_messages_of_an_open_loop_have_a_column() {
    let mut one = case("udp", 64, Wait::Block, 81_200);
    one.identity.load = Load::Rate { per_second: 10_000, arrivals: Arrivals::Fixed };
    let offered = |received| Offered {
        intended: 10_000,
        sent: 9_900,
        received,
        late: 250,
        elapsed_ns: 1_000_000_000,
        service_ns: times(61_000, 65_000, 70_000, 80_000),
        delay_ns: times(50, 60, 70, 80),
    };
    for received in [None, Some(9_900)] {
        first(&mut one).offered = Some(offered(received));
        assert!(!table(&run(vec![one.clone()]), 400).contains("received/s"));
    }
    first(&mut one).offered = Some(offered(Some(9_801)));
    let text = table(&run(vec![one]), 400);
    let cells = row(&text, "udp").join(" ");
    assert!(text.contains("received/s") && cells.contains("9,900 9,801 2 %"), "{text}");
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
    assert!(text.contains("their offset, known within 40.0 ns, is subtracted"), "{text}");
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

/// Two rows of a pattern with three followers that sleep.
fn two_with_followers(pattern: Pattern) -> RunResult {
    let of = |name, ns| {
        let mut one = case(name, 64, Wait::Block, ns);
        (one.identity.pattern, one.identity.subscribers) = (pattern, 3);
        one.outcome = measured_as(pattern, vec![trial(Wait::Block, ns)]);
        one
    };
    run(vec![of("pipe", 20_000), of("eventfd", 10_000)])
}

/// Such runs had no findings at all.
#[test]
fn fan_out_and_fan_in_have_findings() {
    let text = table(&two_with_followers(Pattern::FanOut), 400);
    // Six messages of 10 µs are one publication.
    let finding = "fan-out · 64 B · 3 subscribers · block  fastest to the last answer in its one trial eventfd, \
        9.80 µs; least CPU eventfd, 60.0 µs a publication\n";
    assert!(text.contains(finding), "{text}");
    let text = table(&two_with_followers(Pattern::FanIn), 400);
    let finding = "fan-in · 64 B · 3 publishers · block  most in its one trial eventfd, 102,041/s; least CPU eventfd, \
        10.0 µs a message\n";
    assert!(text.contains(finding), "{text}");
}

/// The time to the first, to each and to the last, and the price of the publisher.
#[test]
fn fan_out_looks_like_this() {
    let mut one = case("pipe", 64, Wait::Block, 81_200);
    (one.identity.pattern, one.identity.subscribers) = (Pattern::FanOut, 3);
    let trial = first(&mut one);
    trial.first_answer_ns = Some(times(40_100, 60_000, 70_000, 80_000));
    let answers = [60_300, 40_200, 81_200, 0].iter().zip(0..).map(|(p50, follower)| Answers {
        follower,
        answer_ns: if *p50 == 0 { Times::default() } else { times(*p50, 90_000, 95_000, 99_000) },
        lost: 0,
    });
    trial.answers = answers.collect();
    // 20,000 messages are six for each publication.
    trial.session.processes[0].cpu_ns = 100_000_000;
    let text = table(&run(vec![one.clone()]), 200);
    let head = text.lines().find(|line| line.trim_start().starts_with("transport")).unwrap();
    let labels: Vec<&str> = head.split_whitespace().collect();
    let position = |label: &str| labels.iter().position(|one| *one == label).unwrap();
    let cells = row(&text, "pipe");
    assert_eq!(cells[position("first")], "40.1");
    assert_eq!(
        cells[position("each")..][..3],
        ["40.2", "to", "81.2"],
        "a silent one has no answer"
    );
    // A cell of three words stands before it.
    assert_eq!(cells[position("CPU/pub") + 2], "30.0");
    assert!(text.contains("fan-out: mean, p50 and p99 are those of the last answer"), "{text}");
    let narrow = table(&run(vec![one]), 100);
    let is_there = |label: &str| narrow.contains(label);
    assert!(is_there(" first ") && is_there(" CPU/pub "), "{narrow}");
    let plain = table(&run(vec![case("pipe", 64, Wait::Block, 1)]), 200);
    assert!(!plain.contains("first ") && !plain.contains("CPU/pub"), "{plain}");
}
