use std::thread;

use super::*;

fn rate(per_second: u64, arrivals: Arrivals) -> Pacer {
    pacer(Load::Rate { per_second, arrivals }, 1)
}

fn pacer(load: Load, seed: u64) -> Pacer {
    Pacer::new(&Pass { seed, ..Pass::of(load) }, Wait::Block).unwrap()
}

#[test]
fn a_closed_loop_is_not_paced() {
    assert!(Pacer::new(&Pass::of(Load::Closed), Wait::Spin).is_none());
}

#[test]
fn every_message_has_its_intended_time() {
    let mut pacer = rate(1000, Arrivals::Fixed);
    pacer.begin(20_000_000);
    let due: Vec<Due> = std::iter::from_fn(|| pacer.wait()).collect();
    let gaps = due.windows(2).map(|pair| pair[1].intended_ns - pair[0].intended_ns);
    assert!(gaps.into_iter().all(|gap| gap == 1_000_000), "{due:?}");
    assert!(due.iter().all(|due| due.start_ns >= due.intended_ns));
    pacer.end(u64::MAX, |_, _| ());
    let tally = pacer.tally().unwrap();
    assert_eq!(tally.sent + tally.unsent, 20, "{tally:?}");
    assert_eq!(due.len() as u64, tally.sent);
    assert!(tally.elapsed_ns == 20_000_000 || tally.unsent > 0, "{tally:?}");
}

/// A closed loop would send the next message one period after the stall, and count none as late.
#[test]
fn a_stall_makes_the_messages_late_that_were_due_in_it() {
    let mut pacer = rate(10_000, Arrivals::Fixed);
    pacer.begin(3_600_000_000_000);
    let first = pacer.wait().unwrap();
    while now_ns() < first.start_ns + 100_000_000 {}
    let waited: Vec<u64> = std::iter::from_fn(|| pacer.wait())
        .take(1000)
        .map(|due| due.start_ns - due.intended_ns)
        .collect();
    // At least these; on a busy machine more of them can be late.
    assert!(pacer.late >= 999 && waited[0] > 99_000_000, "{} {}", pacer.late, waited[0]);
    assert!(waited[999] >= 90_000 || waited.is_sorted_by(|a, b| a >= b));
}

fn await_deadline(pacer: &Pacer) {
    while now_ns() <= pacer.deadline_ns() {}
}

#[test]
fn unsent_messages_are_counted_at_the_end_in_few_steps() {
    let mut pacer = rate(100_000_000, Arrivals::Fixed);
    pacer.begin(50_000_000);
    assert!(pacer.wait().is_some());
    await_deadline(&pacer);
    assert!(pacer.wait().is_none() && !pacer.has_next());
    let mut steps = Vec::new();
    pacer.end(u64::MAX, |waited, count| steps.push((waited, count)));
    let Tally { sent, unsent, late, elapsed_ns, .. } = pacer.tally().unwrap();
    assert!(sent == 1 && elapsed_ns > 60_000_000, "{elapsed_ns}");
    assert!(late - unsent <= sent, "{late} {unsent}");
    assert!((sent + unsent).abs_diff(5_000_000) <= 1, "{unsent}");
    assert!(steps.len() == 1000 && steps.iter().map(|(_, count)| count).sum::<u64>() == unsent);
    assert!(steps.is_sorted_by(|a, b| a.0 > b.0) && steps[0].0 > 59_000_000, "{:?}", steps[0]);
    assert!(steps[999].0 > GRACE.as_nanos() as u64, "{:?} was not sent in time", steps[999]);
}

#[test]
fn a_probe_is_no_part_of_the_schedule_unless_a_message_waits() {
    let mut pacer = rate(1, Arrivals::Fixed);
    pacer.begin(3_600_000_000_000);
    let (next, until) = (pacer.next_ns, pacer.until_ns);
    pacer.pause();
    let begin = now_ns();
    while now_ns() < begin + 1_000_000 {}
    pacer.resume();
    let shift = pacer.until_ns - until;
    assert!(shift >= 1_000_000 && (pacer.next_ns - next - shift as f64).abs() < 2.0);
    pacer.next_ns = begin as f64;
    pacer.pause();
    pacer.resume();
    assert_eq!(pacer.next_ns, begin as f64, "its message was due before");
}

/// The time left out is bounded by what the shortest probe took.
#[test]
fn a_stall_around_a_probe_is_part_of_the_schedule() {
    let mut pacer = rate(1, Arrivals::Fixed);
    pacer.begin(3_600_000_000_000);
    let (next, until) = (pacer.next_ns, pacer.until_ns);
    pacer.probed(1000);
    pacer.pause();
    thread::sleep(Duration::from_millis(20));
    pacer.resume();
    assert_eq!((pacer.next_ns - next).round(), 404_000.0);
    assert_eq!(pacer.until_ns - until, 404_000);
}

#[test]
fn a_queue_at_the_receiver_is_part_of_the_schedule() {
    let mut pacer = rate(1, Arrivals::Fixed);
    pacer.begin(3_600_000_000_000);
    let (next, begin) = (pacer.next_ns, now_ns());
    pacer.pause();
    thread::sleep(Duration::from_millis(20));
    pacer.still_queued(15_000_000);
    pacer.resume();
    let longest = (now_ns() - begin - 15_000_000) as f64;
    assert!(pacer.next_ns - next <= longest, "{} {longest}", pacer.next_ns - next);
    pacer.pause();
    pacer.still_queued(3_600_000_000_000);
    pacer.resume();
    assert!(pacer.next_ns - next <= longest, "all of the pause");
}

/// Times between random arrivals, 1 µs on average.
fn random_gaps(change: impl FnOnce(&mut Pass)) -> Vec<f64> {
    let load = Load::Rate { per_second: 1_000_000, arrivals: Arrivals::Poisson };
    let mut pass = Pass::of(load);
    change(&mut pass);
    let mut pacer = Pacer::new(&pass, Wait::Block).unwrap();
    (0..20_000).map(|_| pacer.gap()).collect()
}

#[test]
fn random_arrivals_have_the_rate_and_the_seed_repeats_them() {
    let first = random_gaps(|_| ());
    let mean = first.iter().sum::<f64>() / 20_000.0;
    // The standard error is 7 of 1000; the bound is five of them.
    assert!((mean - 1000.0).abs() < 35.0, "{mean}");
    assert!(first == random_gaps(|_| ()) && first != random_gaps(|pass| pass.seed = 2));
}

#[test]
fn each_trial_and_each_pair_has_arrivals_of_its_own() {
    let all = [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2)];
    let gaps =
        all.map(|(trial, pair)| random_gaps(|pass| *pass = Pass { trial, ..pass.of_pair(pair) }));
    for (at, one) in gaps.iter().enumerate() {
        assert!(gaps[..at].iter().all(|other| other[..100] != one[..100]), "{:?}", all[at]);
    }
}

#[test]
fn an_interval_follows_the_answer() {
    let mut pacer = pacer(Load::Interval { pause_ns: 2_000_000 }, 1);
    pacer.begin(10_000_000);
    let mut last = now_ns();
    while let Some(due) = pacer.wait() {
        assert!(due.start_ns >= last + 2_000_000 && due.intended_ns == due.start_ns);
        last = now_ns();
    }
    pacer.end(u64::MAX, |_, _| panic!("nothing was intended"));
    assert!(pacer.tally().is_none() && pacer.sent >= 1);
}

/// A pause that is longer than the time of the turn.
#[test]
fn each_turn_has_a_message() {
    let mut pacer = pacer(Load::Interval { pause_ns: 2_000_000 }, 1);
    for turn in 1..=3 {
        pacer.begin(1_000_000);
        assert!(pacer.wait().is_some() && pacer.wait().is_none(), "turn {turn}");
    }
    assert_eq!(pacer.sent, 3);
}

/// A pacer of a trace with a message of 64 bytes after each millisecond, and one of 4 KiB directly after it.
fn pairs(count: u64) -> Pacer {
    let recorded = (0..count).flat_map(|at| [(at * 1_000_000, 64), (at * 1_000_000, 4096)]);
    let trace = Trace::new(recorded.collect()).unwrap();
    let pass = Pass { payload: 4096, ..Pass::of(trace.load()) };
    Pacer::new(&Pass { trace: Some(trace), ..pass }, Wait::Block).unwrap()
}

#[test]
fn a_trace_is_played_at_its_times_with_its_sizes() {
    let mut pacer = pairs(10);
    pacer.begin(9_900_000);
    let due: Vec<Due> = std::iter::from_fn(|| pacer.wait()).collect();
    pacer.end(u64::MAX, |_, _| ());
    let tally = pacer.tally().unwrap();
    assert_eq!(tally.sent + tally.unsent, 20, "{tally:?}");
    for pair in due.chunks_exact(2) {
        assert_eq!((pair[0].len, pair[1].len), (64, 4096));
        assert_eq!(pair[0].intended_ns, pair[1].intended_ns);
    }
}

/// The last one is due at the end of the trace and directly after another, so it was never sent in time.
#[test]
fn all_messages_of_a_trace_are_sent() {
    let sent = || {
        let mut pacer = pairs(2);
        let Load::Trace { span_ns, .. } = pacer.load else { panic!("it is a trace") };
        pacer.begin(span_ns);
        let sent = std::iter::from_fn(|| pacer.wait()).count();
        pacer.end(u64::MAX, |_, _| ());
        assert!(sent < 4 || pacer.tally().unwrap().elapsed_ns == span_ns);
        sent
    };
    // A busy machine can be later than the grace.
    assert!((0..100).any(|_| sent() == 4));
}

#[test]
fn unsent_messages_of_a_trace_wait_from_their_own_times() {
    let mut pacer = pairs(10);
    pacer.begin(3_700_000);
    assert!(pacer.wait().is_some());
    await_deadline(&pacer);
    let mut waited = Vec::new();
    pacer.end(u64::MAX, |waited_ns, count| waited.push((waited_ns / 1_000, count)));
    assert_eq!(pacer.tally().unwrap().unsent, waited.len() as u64);
    // The first pair is due after the mean gap, 0.47 ms.
    let [first, second, third] = waited[..3] else { panic!("{waited:?}") };
    assert!(first.0 - second.0 == 1000 && second == third, "{waited:?}");
    assert!(waited.iter().all(|(waited_us, _)| *waited_us >= 10_000), "{waited:?}");
}

/// A trace can be short, dense and repeated for an hour.
#[test]
fn unsent_messages_of_a_trace_are_counted_in_bounded_time() {
    let trace = Trace::new(vec![(0, 64), (1, 64)]).unwrap();
    let pass = Pass::of(trace.load());
    let mut pacer = Pacer::new(&Pass { trace: Some(trace), ..pass }, Wait::Spin).unwrap();
    pacer.begin(3_600_000_000_000);
    pacer.began_ns -= 3_600_000_000_000;
    (pacer.next_ns, pacer.until_ns) = (pacer.began_ns as f64, now_ns());
    let (mut calls, mut unsent) = (0, 0);
    pacer.end(u64::MAX, |_, count| (calls, unsent) = (calls + 1, unsent + count));
    assert!(calls <= MOST_RECORDED as u64 + MOST_STEPS, "{calls}");
    assert!(unsent >= 3_600_000_000_000, "one each nanosecond, not {unsent}");
}
