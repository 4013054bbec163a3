//! The output styles and command lines of other benchmarks, as their users type and read them.

use std::fs;

use crate::support::{Ended, Running, Verdict, ipcmark, listed, only, read, run};
use ipcmark_results::{Status, Touch, Wait};

ipcmark_harness::tests![
    figures_in_a_style_are_those_of_the_file,
    unavailable_rows_are_shown_in_every_style,
    ipc_bench_s_example_runs_as_it_is,
    every_mechanism_of_ipc_bench_is_measured,
    ipc_bench_s_table_has_its_methods_in_its_order,
    ipc_performance_s_table_has_its_implementations_in_its_order,
    flags_of_run_follow_two_dashes,
    latency_test_measures_the_payloads_of_a_file,
    latency_test_without_the_library_names_the_package,
    iceperf_runs_in_two_terminals,
    iceperf_has_five_tables_and_announces_each_measurement,
    latency_test_runs_in_two_terminals,
    latency_test_s_launcher_runs_both_nodes,
    latency_test_s_ends_must_agree,
    mistakes_are_refused_before_anything_is_measured,
];

fn figures_in_a_style_are_those_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("result.json");
    let words = "run -t uds-stream -w block -s 64,4k -n 500 --trials 1 --format fastdds -o";
    let shown = run(&format!("{words} {}", path.display())).exits(0).stdout;
    // An empty line comes before notes about the machine.
    let figures = shown.split("\n\n").next().unwrap_or_default();
    let lines: Vec<&str> = figures.lines().filter(|line| !line.starts_with('#')).collect();
    let mut result = read(&path);
    result.cases.sort_by_key(|case| case.identity.payload_bytes);
    for (case, line) in result.cases.iter().zip(&lines[2..]) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let trip = &only(case).times_ns;
        assert_eq!(cells[0], case.identity.payload_bytes.to_string());
        assert_eq!(cells[1], "500");
        assert_eq!(cells[5], format!("{:.3}", trip.p50 as f64 / 2e3), "{shown}");
        assert_eq!(cells[9], format!("{:.3}", trip.max as f64 / 2e3), "{shown}");
    }
    assert_eq!(lines.len(), 4, "{shown}");
}

fn unavailable_rows_are_shown_in_every_style() {
    for style in ["iceperf", "ipc-bench", "fastdds", "ipc-performance"] {
        let words = format!("run -t pipe -w spin,hybrid -s 64 -n 100 --format {style}");
        let shown = run(&words).exits(1).stdout;
        assert!(shown.contains("unsupported: it cannot wait by hybrid"), "{shown}");
    }
}

/// Runs the words of another benchmark with a timeout that suits a busy machine.
fn timed(words: &str) -> Ended {
    let behind = if words.contains(" -- ") { "" } else { " --" };
    run(&format!("{words}{behind} --timeout 5m"))
}

/// Runs a leader and a follower with these words, at their own socket; returns the leader's output.
fn two_terminals(leader: &str, follower: &str, rest: &str) -> Ended {
    both_terminals(leader, follower, rest).0
}

/// The same, and the follower's output.
fn both_terminals(leader: &str, follower: &str, rest: &str) -> (Ended, Ended) {
    let directory = tempfile::tempdir().unwrap();
    let socket = format!("--socket {}", directory.path().join("socket").display());
    let follower = Running::start(&mut ipcmark(&format!("{follower} {socket}")));
    let leader = timed(&format!("{leader} {socket} {rest}"));
    (leader, follower.end())
}

fn iceperf_runs_in_two_terminals() {
    let words = "iceperf-leader -n 20 -t posix-message-queue";
    let shown = two_terminals(words, "iceperf-follower", "-- -s 16,1k").exits(0).stdout;
    assert!(shown.contains("Average Latency"), "{shown}");
    assert!(shown.lines().filter(|line| line.starts_with('|')).count() >= 3, "{shown}");
}

fn iceperf_has_five_tables_and_announces_each_measurement() {
    for rest in ["-- -s 16,1k", "-- -s 16,1k -w block"] {
        let leader = "iceperf-leader -n 20 -t all";
        let (ended, follower) = both_terminals(leader, "iceperf-follower", rest);
        let (ended, served) = (ended.exits(0), follower.exits(0).stderr);
        let socket = "****** UNIX DOMAIN SOCKET ********\nregistering with the leader\n";
        assert_eq!(served.matches(socket).count(), 1, "{served}");
        let finished = ended.stdout.matches("\nFinished!\n").count();
        assert_eq!(finished, 5, "a table each: {}", ended.stdout);
        assert!(!ended.stdout.contains("unsupported"), "{}", ended.stdout);
        let said = &ended.stderr;
        assert!(said.contains("******   MESSAGE QUEUE    ********\n"), "{said}");
        let line = said.lines().find(|line| line.starts_with("Measurement for: ")).unwrap();
        assert!(line.contains("16 [B]") && line.contains("1 [kB]"), "{said}");
    }
}

fn latency_test_runs_in_two_terminals() -> Verdict {
    let words = "latency-test publisher --reliability=reliable --samples=30 --domain 3";
    let follower = "latency-test subscriber --reliability=reliable --domain 3";
    let ended = two_terminals(words, follower, "-- -s 16,64");
    if ended.stdout.contains("unavailable") {
        return Verdict::Skipped("Fast DDS is not there".into());
    }
    let shown = ended.exits(0).stdout;
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("30,")).collect();
    assert_eq!(lines.len(), 2, "{shown}");
    Verdict::Holds
}

fn ipc_bench_s_example_runs_as_it_is() {
    let shown = run("ipc-bench domain -c 1000 -s 100").exits(0).stdout;
    // An empty line comes before notes about the machine.
    let block: Vec<&str> = shown.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    assert_eq!(block.len(), 10, "{shown}");
    assert_eq!(block[0], "============ RESULTS ================");
    assert_eq!(block[1], "Message size:       100");
    assert_eq!(block[2], "Message count:      1000");
    let names = ["Total", "Average", "Minimum", "Maximum"].map(|name| format!("{name} duration: "));
    let lines = names.iter().map(String::as_str).chain(["Standard deviation: ", "Message rate: "]);
    for (line, name) in block[3..9].iter().zip(lines) {
        let value = line.strip_prefix(name).and_then(|rest| rest.split_whitespace().next());
        let value: f64 = value.and_then(|text| text.parse().ok()).expect("a number");
        assert!(value > 0.0, "{shown}");
    }
    assert_eq!(block[9], "=====================================");
}

fn every_mechanism_of_ipc_bench_is_measured() {
    let all = "domain eventfd fifo mmap mq pipe shm shm-sync signal tcp";
    for mechanism in all.split(' ') {
        let shown = timed(&format!("ipc-bench {mechanism} -c 100 -s 64")).exits(0).stdout;
        assert!(shown.contains("Message count:      100\n"), "{mechanism}: {shown}");
    }
}

/// The first cells of a Markdown table's rows, without its head.
fn names_of_rows(shown: &str) -> Vec<&str> {
    let cells = shown.lines().filter_map(|line| line.strip_prefix("| "));
    let names = cells.map(|line| line.split(" |").next().unwrap_or("").trim());
    names.filter(|name| name.contains(" · ")).collect()
}

fn ipc_bench_s_table_has_its_methods_in_its_order() {
    let shown = timed("ipc-bench --all -c 50").exits(0).stdout;
    let methods = [
        "Unix Signals · block",
        "ZeroMQ (TCP) · block",
        "Internet sockets (TCP) · block",
        "Domain sockets · block",
        "Pipes · block",
        "Message Queues · block",
        "FIFOs (named pipes) · block",
        "Shared Memory · spin",
        "Memory-Mapped Files · spin",
    ];
    assert_eq!(names_of_rows(&shown), methods, "{shown}");
    let pipes = shown.lines().find(|line| line.starts_with("| Pipes")).unwrap();
    assert_eq!(pipes.matches(" msg/s |").count(), 2, "two payloads: {pipes}");
}

fn ipc_performance_s_table_has_its_implementations_in_its_order() {
    let shown = timed("ipc-performance --all").exits(0).stdout;
    let implementations = [
        "Shared Memory · spin",
        "cpp-ipc chan · hybrid",
        "cpp-ipc route · hybrid",
        "Boost MQ · block",
        "Boost SHM · block",
        "ZeroMQ (IPC) · block",
        "NNG (IPC) · block",
        "AlephZero · block",
    ];
    assert_eq!(names_of_rows(&shown), implementations, "{shown}");
    assert_eq!(shown.matches("### Latency").count(), 1, "one table: {shown}");
    let one = timed("ipc-performance shm_test -- -n 50").exits(0).stdout;
    assert_eq!(names_of_rows(&one), ["Shared Memory · spin"], "{one}");
}

fn flags_of_run_follow_two_dashes() {
    let words =
        "ipc-bench tcp --busy -c 50 -s 200 -- --format json --trials 2 --no-pin --timeout 5m";
    let result = run(words).exits(0).result();
    let [case] = &result.cases[..] else { panic!("{} cases", result.cases.len()) };
    assert_eq!((case.identity.transport.as_str(), case.identity.wait), ("tcp", Wait::Spin));
    assert_eq!((case.identity.payload_bytes, case.identity.touch), (200, Touch::All));
    let counts: Vec<u64> = case.trials().iter().map(|trial| trial.times_ns.count).collect();
    assert_eq!(counts, [50, 50]);
    assert_eq!(result.run.command[1..].join(" "), words, "the result holds what was typed");
}

fn latency_test_measures_the_payloads_of_a_file() -> Verdict {
    for row in ["fastdds-intra", "fastdds-udp", "fastdds-loan"] {
        if let Some(why) = listed::missing(row) {
            return Verdict::Skipped(why);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("demands.csv");
    fs::write(&file, "16;1024\n").unwrap();
    for (options, row) in [
        ("--reliability=reliable", "fastdds-intra"),
        ("--domain 0 --shared_memory=off --reliability=besteffort", "fastdds-udp"),
        ("--data_loans --subscribers=2", "fastdds-loan"),
    ] {
        let words = format!("latency-test both --samples=200 --file={} {options}", file.display());
        let shown = timed(&words).exits(0).stdout;
        assert!(shown.starts_with(&format!("# {row} ")), "{shown}");
        assert!(shown.contains("\n      16,     200,"), "{shown}");
        assert!(shown.contains("\n    1024,     200,"), "{shown}");
        let result = timed(&format!("{words} -- --format json")).exits(0).result();
        let is_right = |case: &ipcmark_results::Case| {
            case.identity.transport == row
                && case.status() == Status::Ok
                && case.identity.wait == Wait::Block
        };
        assert!(result.cases.len() == 2 && result.cases.iter().all(is_right), "{words}");
    }
    Verdict::Holds
}

fn latency_test_s_ends_must_agree() {
    for (publisher, subscriber, both) in [
        ("--domain 3", "--domain 7", "with --domain=7, and this end with --domain=3"),
        ("", "--shared_memory=off", "with --shared_memory=off, and this end without it"),
        ("", "-r reliable", "with --reliability=reliable, and this end with --reliability=best"),
    ] {
        let leader = format!("latency-test publisher --samples=20 {publisher}");
        let follower = format!("latency-test subscriber {subscriber}");
        let (ended, served) = both_terminals(&leader, &follower, "-- -s 16");
        let said = ended.exits(1).stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(both), "{said}");
        served.exits(1);
    }
}

fn latency_test_s_launcher_runs_both_nodes() -> Verdict {
    for (options, row) in [
        ("", "fastdds-intra"),
        ("--interprocess --reliability", "fastdds"),
        ("--interprocess --shared_memory off", "fastdds-udp"),
    ] {
        if let Some(why) = listed::missing(row) {
            return Verdict::Skipped(why);
        }
        let shown = timed(&format!("latency-tests -n 20 {options} -- -s 16")).exits(0).stdout;
        assert!(shown.starts_with(&format!("# {row} ")), "{options}: {shown}");
        assert!(shown.contains("\n      16,      20,"), "{options}: {shown}");
    }
    Verdict::Holds
}

fn latency_test_without_the_library_names_the_package() -> Verdict {
    if listed::missing("fastdds-intra").is_none() {
        return Verdict::Skipped("the library is there".into());
    }
    let shown = run("latency-test both").exits(1).stdout;
    assert!(shown.contains("# 16 bytes, 1024 bytes, 64512 bytes, 1048576 bytes: unav"), "{shown}");
    assert!(shown.contains("libfastrtps-dev"), "{shown}");
    Verdict::Holds
}

fn mistakes_are_refused_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("demands.csv");
    fs::write(&file, "16;x\n").unwrap();
    let letter = format!("latency-test both --file={}", file.display());
    for (words, reason) in [
        (letter.as_str(), "for '--file <FILE>': in"),
        (letter.as_str(), "'x' is not a size"),
        ("latency-test both --reliability=never", "reliable, besteffort"),
        ("latency-test both --security=true --data_loans", "--security encrypts"),
        ("latency-test publisher --secret /x", "only for a TCP address"),
        ("iceperf-leader -t pipes", "posix-message-queue"),
        ("latency-test both -- plan.toml", "'plan.toml' is not a flag"),
        ("latency-test both -- --waits sleep", "waits are spin, block, hybrid"),
        ("ipc-bench pipes", "a similar value exists: 'pipe'"),
        ("ipc-bench pipe -s 8", "at least 16 bytes"),
        ("ipc-bench pipe --all", "cannot be used with"),
        ("latency-tests --security", "--interprocess"),
        ("ipc-performance shm", "a similar value exists: 'shm_test'"),
    ] {
        let ended = run(words).exits(2);
        let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ended.stdout.is_empty() && said.contains(reason), "{words}: {said}");
    }
}
