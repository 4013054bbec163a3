//! Loads other than a closed loop: an open loop at a rate, and pauses.

use std::{fs, process::Command, thread, time::Duration};

use ipcmark_results::{Carrier, Load, Offered, Status, decode};
use ipcmark_transport::Wait;
use libc::{SIGCONT, SIGSTOP};

use crate::support::{
    Verdict, assert_valid, only, run,
    scene::{FOLLOWER, Scene},
};

ipcmark_harness::tests![
    a_rate_is_offered_and_accounted_for,
    each_trial_has_arrivals_of_its_own,
    a_run_with_an_impossible_rate_ends,
    a_stalled_receiver_makes_messages_late,
    a_stalled_receiver_of_messages_one_way_makes_the_next_blocks_late,
    a_pause_follows_each_answer,
    each_rate_has_its_own_table,
    followers_are_paced_too,
    a_trace_is_played_through_every_pattern,
    invalid_traces_are_rejected_with_the_reason,
    the_script_makes_traces_of_captures_and_strace,
];

fn a_rate_is_offered_and_accounted_for() {
    let words = "run -t pipe,udp -s 64 -n 40 --trials 1 --rate 50/s --format json";
    for arrivals in ["fixed", "poisson"] {
        let ended = run(&format!("{words} --arrivals {arrivals}")).exits(0);
        assert_valid(&serde_json::from_str(&ended.stdout).unwrap());
        let result = ended.result();
        assert_eq!(result.cases.len(), 4);
        for case in &result.cases {
            assert!(case.identity.load.to_string().starts_with("50/s"), "{:?}", case.identity);
            let (trial, name) = (only(case), &case.identity.transport);
            let offered = trial.offered.as_ref().expect("it was an open loop");
            // If a busy machine loses answers, some messages are not sent before the end: they still have times.
            assert_eq!(offered.intended, 40, "{name} {offered:?}");
            assert!((1..=40).contains(&offered.sent), "{name} {offered:?}");
            assert_eq!(trial.times_ns.count, 40);
            let received = offered.received.expect("they are counted");
            let lost = trial.session.losses.lost;
            assert!(
                received <= offered.sent && received + lost >= offered.sent,
                "{name} {lost} {offered:?}"
            );
            let counts = (offered.service_ns.count, offered.delay_ns.count);
            assert_eq!(counts, (offered.sent, offered.sent), "{name} {offered:?}");
            assert!(trial.times_ns.max >= offered.service_ns.max, "{name} {offered:?}");
            assert!(trial.blocks.clock_free.iter().all(|clock_free| !clock_free));
            assert!(trial.session.turns_ns >= offered.elapsed_ns, "{name}");
            let ends = trial.session.processes.iter().flat_map(|process| &process.ends);
            let pauses: u64 = ends.map(|end| end.thread.pauses).sum();
            assert_eq!(pauses > 0, case.identity.wait == Wait::Block, "{name} {pauses}");
            assert!(pauses <= offered.sent, "{name} {pauses}");
            if arrivals == "fixed" {
                // The first message is due after one gap, and none is sent before its time.
                assert!(offered.elapsed_ns >= 40 * 20_000_000, "{name} {offered:?}");
            }
        }
    }
}

/// Every trial once played the same arrivals, so that trials did not show how much they vary. At 400/s, 200 arrivals in
/// 0.5 s have a standard deviation of 14.
fn each_trial_has_arrivals_of_its_own() {
    let words = "run -t pipe,uds-stream -w spin -s 64 -d 500ms --trials 3 --rate 400/s --seed 7 \
                 --arrivals poisson --format json";
    for case in &run(words).exits(0).result().cases {
        let trials = case.trials().iter();
        let counts: Vec<u64> =
            trials.map(|trial| trial.offered.as_ref().unwrap().intended).collect();
        let spread = counts.iter().max().unwrap() - counts.iter().min().unwrap();
        assert!(counts.len() == 3 && spread >= 4, "{counts:?}");
    }
}

/// Messages not sent by the end still count, but are not waited for.
fn a_run_with_an_impossible_rate_ends() {
    let words = "run -t pipe -s 64 -d 50ms --trials 1 --rate 100M/s --format json";
    let result = run(words).exits(0).result();
    for case in &result.cases {
        let trial = only(case);
        let offered = trial.offered.as_ref().unwrap();
        // 5,000,000 messages are due in 50 ms, and probes move the end.
        assert!(offered.intended >= 4_900_000 && offered.sent < offered.intended, "{offered:?}");
        assert!(offered.late >= offered.intended - offered.sent, "{offered:?}");
        assert_eq!(trial.times_ns.count, offered.intended);
        assert_eq!(trial.session.losses.lost, 0, "a message that was not sent is not lost");
    }
    let table = run("run -t pipe -s 64 -d 5ms --trials 1 --rate 10M/s").exits(0).stdout;
    for words in ["10,000,000/s", "sent/s", "late", "cores", "response from the intended time"] {
        assert!(table.contains(words), "no {words} in: {table}");
    }
}

/// A sender that waits for the answer and then continues as before has only one late message per stall.
fn a_stalled_receiver_makes_messages_late() {
    let (offered, responses, services) = beside_stalls("latency");
    assert!(offered.late >= 900 && responses >= 800, "{responses} of {offered:?}");
    assert!(responses >= services + 700, "{responses} {services}: {offered:?}");
}

/// A sender that waits for the last message of a block, and then continues as before, has only those of a block.
fn a_stalled_receiver_of_messages_one_way_makes_the_next_blocks_late() {
    let (offered, responses, _) = beside_stalls("one-way");
    assert!(offered.late >= 2000 && responses >= 2000, "{responses} of {offered:?}");
}

/// Runs the pattern for 4 s at 10,000/s while the follower stops for 100 ms again and again; returns the offered load,
/// and the numbers of responses and of service times of 10 ms or more.
fn beside_stalls(pattern: &str) -> (Offered, u64, u64) {
    let scene = Scene::start(&format!(
        "run -t uds-stream -p {pattern} -w block -s 64 -d 4s --trials 1 --rate 10k/s --timeout 1m"
    ));
    scene.await_case();
    while scene.is_under_way() {
        let followers = scene.processes().into_iter().filter(|one| one.name == FOLLOWER);
        for follower in followers {
            follower.send(SIGSTOP);
            thread::sleep(Duration::from_millis(100));
            follower.send(SIGCONT);
        }
        thread::sleep(Duration::from_millis(500));
    }
    let (ended, result) = scene.end();
    ended.exits(0);
    let trial = only(&result.cases[0]);
    let offered = trial.offered.clone().unwrap();
    let longer = |times: &ipcmark_results::Times| {
        let samples = decode(&times.histogram).unwrap();
        samples.count_between(10_000_000, samples.high())
    };
    let (responses, services) = (longer(&trial.times_ns), longer(&offered.service_ns));
    (offered, responses, services)
}

fn each_rate_has_its_own_table() {
    let words = "run -t pipe -w block -s 64 -n 5 --trials 1 --rate 1000/s,200/s,1k/s";
    let ended = run(words).exits(0);
    let titles: Vec<&str> =
        ended.stdout.lines().filter(|line| line.starts_with("latency · ")).collect();
    assert!(titles.len() == 2 && titles[0].contains("200/s"), "{titles:?}");
    assert!(titles[1].contains("1,000/s"), "{titles:?}");
}

fn a_pause_follows_each_answer() {
    let words = "run -t pipe,shm-ring -s 64 -n 20 --trials 1 --interval 2ms --format json";
    let result = run(words).exits(0).result();
    for case in &result.cases {
        assert_eq!(case.identity.load, Load::Interval { pause_ns: 2_000_000 });
        let trial = only(case);
        assert!(trial.offered.is_none(), "nothing had its intended time");
        assert_eq!(trial.times_ns.count, 20);
        assert!(trial.session.turns_ns >= 20 * 2_000_000);
    }
}

fn followers_are_paced_too() -> Verdict {
    let words = "run -t fastdds-shm --subscribers 2 -w block -s 64 -n 10 --trials 1 --rate 100/s \
                 --format json";
    let result = run(words).result();
    if result.cases[0].status() == Status::Unavailable {
        return Verdict::Skipped("Fast DDS is not here".into());
    }
    let trial = only(&result.cases[0]);
    assert_eq!(trial.answers.len(), 2);
    assert!(trial.answers.iter().all(|answers| answers.answer_ns.count == 10), "{trial:?}");
    Verdict::Holds
}

/// 40 messages in 0.2 s: each is sent, answered and accounted for, whatever its size.
fn a_trace_is_played_through_every_pattern() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.csv");
    let lines: String = (0..40).map(|at| format!("{},{}\n", at * 5, 16 + 100 * (at % 7))).collect();
    fs::write(&path, format!("time_ms,size\n{lines}")).unwrap();
    let (trace, transports) = (path.display(), "pipe,udp,shm-slot,uds-seqpacket");
    let flags = format!("run -t {transports} --trace {trace} --trials 1 --format json");
    let patterns = ["-p latency,one-way", "-p fan-out --subscribers 2"];
    for result in patterns.map(|pattern| run(&format!("{flags} {pattern}")).exits(0).result()) {
        assert!(result.cases.len() >= 8);
        for case in &result.cases {
            let Load::Trace { messages, span_ns, bytes, .. } = case.identity.load else { panic!() };
            assert_eq!((messages, span_ns, case.identity.payload_bytes), (40, 200_000_000, 616));
            assert_eq!(bytes, (0..40).map(|at| 16 + 100 * (at % 7)).sum::<u64>());
            let (trial, name) = (only(case), &case.identity.transport);
            let offered = trial.offered.as_ref().expect("it was an open loop");
            assert_eq!(offered.intended, 40, "{name} {offered:?}");
            assert_eq!(trial.times_ns.count, 40, "{name}");
            if name == "udp" {
                assert_eq!(trial.session.carrier.found, Carrier::Network, "{:?}", trial.session);
            }
        }
    }
    let table = run(&format!("run -t pipe --trace {trace} --trials 1 -n 8")).exits(0).stdout;
    assert!(table.contains("latency · up to 616 B · trace"), "{table}");
    assert!(table.contains("of 40 messages · spin"), "{table}");
}

fn invalid_traces_are_rejected_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.csv");
    let said = |text: &str, flags: &str| {
        fs::write(&path, text).unwrap();
        run(&format!("run -t pipe --trace {} {flags}", path.display())).exits(2).stderr
    };
    let errors = [
        ("time,size\n1,64\n", "", "and it has 1;"),
        ("when,what\n1,64\n", "", "no column time"),
        ("time,size\n1,64\n2,many\n", "", "in line 3, 'many' is not a number of bytes"),
        ("time,size\n0,64\n1700000000,64\n", "", "the trace lasts 107years"),
        ("time,size\n1,64\n2,64\n", "-d 100ms", "are 1s apart on average"),
        ("time,size\n1,64\n2,64\n", "-p throughput", "sends as fast as it goes"),
        ("time,size\n1,64\n2,64\n", "--rate 10/s", "cannot be used with"),
        ("time,size\n1,64\n2,64\n", "-s 64", "cannot be used with"),
    ];
    for (text, flags, wanted) in errors {
        let stderr = said(text, flags);
        assert!(stderr.contains(wanted), "{wanted} is not in: {stderr}");
    }
    let missing = run("run -t pipe --trace /none.csv").exits(2).stderr;
    assert!(missing.contains("cannot read the trace /none.csv"), "{missing}");
}

/// A capture of one UDP packet of 11 bytes and one TCP packet of 5, and the output of strace.
fn the_script_makes_traces_of_captures_and_strace() {
    let directory = tempfile::tempdir().unwrap();
    let trace = |recorded: &[u8]| {
        let path = directory.path().join("recorded");
        fs::write(&path, recorded).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/trace-from.py");
        let ended =
            Command::new("python3").args([script, path.to_str().unwrap()]).output().unwrap();
        String::from_utf8(if ended.status.success() { ended.stdout } else { ended.stderr }).unwrap()
    };
    let packet = |kind: u8, transport_head: u8, body: usize| {
        let mut packet = vec![0; 14 + 20];
        let total = 20 + usize::from(transport_head) + body;
        (packet[14], packet[14 + 9]) = (0x45, kind);
        packet[16..18].copy_from_slice(&(total as u16).to_be_bytes());
        let mut head = vec![0; transport_head.into()];
        if kind == 6 {
            head[12] = (transport_head / 4) << 4;
        }
        packet.extend(head.into_iter().chain(vec![0; body]));
        packet
    };
    let mut capture = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    capture.extend([0; 16].iter().chain(&1_u32.to_le_bytes()));
    for (at_us, packet) in [(7_u32, packet(17, 8, 11)), (1000, packet(6, 32, 5))] {
        for number in [1_700_000_000, at_us, packet.len() as u32, packet.len() as u32] {
            capture.extend(number.to_le_bytes());
        }
        capture.extend(packet);
    }
    assert_eq!(trace(&capture), "time,size\n1700000000.000007,11\n1700000000.001000,5\n");
    let strace = "1700000000.1 write(3, \"a) = 9\", 6) = 6\n\
                  [pid 7] 1700000000.2 sendto(4, \"x\", 1, 0, NULL, 0) = 1\n\
                  1700000000.3 read(3, \"\", 6) = 6\n1700000000.4 write(3, \"\", 6) = -1 EPIPE\n\
                  12 1700000000.5 sendmsg(5, {msg_name=NULL}, 0) = 32\n";
    assert_eq!(
        trace(strace.as_bytes()),
        "time,size\n1700000000.1,6\n1700000000.2,1\n1700000000.5,32\n"
    );
    let threads = "12 1700000000.1 write(3, \"a\", 6 <unfinished ...>\n\
                   13 1700000000.2 write(3, \"b\", 5) = 5 <0.000010>\n\
                   12 1700000000.3 <... write resumed>) = 6 <0.2>\n\
                   13 1700000000.4 pwrite64(4, \"c\", 7, 0) = 7\n\
                   12 1700000000.5 sendmmsg(5, [{msg_hdr={}, msg_len=8}, {msg_hdr={}, msg_len=9}], 2, 0) = 2\n\
                   13 1700000000.6 write(3, \"d\", 6 <unfinished ...>\n";
    let sent = [(1, 6), (2, 5), (4, 7), (5, 8), (5, 9)];
    let lines = sent.map(|(tenth, bytes)| format!("1700000000.{tenth},{bytes}\n"));
    assert_eq!(trace(threads.as_bytes()), format!("time,size\n{}", lines.concat()));
    assert!(trace(b"nothing\n").contains("has no message"));
    let played = directory.path().join("trace.csv");
    fs::write(&played, trace(&capture)).unwrap();
    run(&format!("run -t pipe --trace {} --trials 1", played.display())).exits(0);
}
