//! Judgements of synthetic measurements: each effect is present exactly when its cause is.

use ipcmark_machine::{
    conditions::{Conditions, ProcessorUse, Throttling},
    files::Files,
    hiccups::Gaps,
    shared_core::CoreSharing,
    topology::Relation,
};

use super::{super::examination::MeasuredPair, *};

const SECOND: u64 = 1_000_000_000;

/// A measurement of one second without any disturbance.
fn quiet() -> Examination {
    let processor = |cpu| ProcessorUse { cpu, busy_ns: SECOND, idle_ns: 0, stolen_ns: 0 };
    Examination {
        hiccups: vec![hiccups(0), hiccups(1)],
        pairs: vec![pair(&[(61.0, 1_000)])],
        shared_cores: vec![core(0, 0), core(1, 5)],
        hand_overs_ns: (0..1_000).map(|at| 6_000 + at).collect(),
        canary_ns: vec![0.61, 0.62, 0.61],
        conditions: Conditions {
            elapsed_ns: SECOND,
            processors: Some(vec![processor(0), processor(1)]),
            throttling: Some(Throttling::default()),
            threads: vec![],
            canary_ns: vec![[0.61, 0.61]],
        },
        own_cpu_ns: 2 * SECOND,
        others: vec![],
    }
}

fn hiccups(cpu: u32) -> Hiccups {
    Hiccups {
        cpu,
        watched_ns: SECOND,
        gaps: [Gaps { count: 1_000, total_ns: 2_000_000 }, Gaps::default(), Gaps::default()],
        longest_ns: 9_000,
        thread: Some(ThreadTime { cpu_ns: SECOND, run_delay_ns: 0 }),
    }
}

/// The core of a processor, shared in so many of 1,000 bursts.
fn core(cpu: u32, shared: usize) -> CoreSharing {
    CoreSharing::of(cpu, &[vec![0.7; 1_000 - shared], vec![1.33; shared]].concat())
}

/// A pair with these probes: times and their counts.
fn pair(probes: &[(f64, usize)]) -> MeasuredPair {
    let probes: Vec<f64> = probes.iter().flat_map(|(ns, count)| vec![*ns; *count]).collect();
    let division = DistanceShares::of(&probes);
    let (relation, clocks) = (Relation::Cache, Some(clocks(-12.0, 15.0)));
    MeasuredPair { cpus: (0, 1), relation, probes: probes.len(), division, clocks }
}

fn clocks(p5_ns: f64, p95_ns: f64) -> ClockSpread {
    ClockSpread { p5_ns, p50_ns: 0.0, p95_ns, bound_ns: 40.0 }
}

fn system(hypervisor: Option<&str>) -> System {
    System {
        files: Files::below("/nowhere"),
        cpus: vec![],
        hypervisor: hypervisor.map(str::to_owned),
        clock_step_ns: 1,
        clock_reading_ns: 20.0,
        shared_memory_bytes: None,
        counters: None,
        tracepoints: None,
    }
}

fn harmful(examination: &Examination) -> Vec<Finding> {
    let all = findings(examination, &system(Some("KVM")));
    all.into_iter().filter(|finding| finding.effect.is_some()).collect()
}

#[test]
fn a_quiet_measurement_has_no_harmful_fact() {
    let harmful = harmful(&quiet());
    assert!(harmful.is_empty(), "{harmful:#?}");
}

#[test]
fn each_cause_shows_in_its_fact_and_in_no_other() {
    use Question::{Sleeping, Spinning, Tails};
    use Weight::{Reservation, Unfit};
    type Change = fn(&mut Examination);
    let causes: [(Change, &str, Weight, Question); 19] = [
        (|it| it.pairs[0] = pair(&[(61.0, 900), (430.0, 100)]), "distances", Reservation, Spinning),
        (|it| it.pairs[0] = pair(&[(61.0, 950), (2e5, 50)]), "distances", Reservation, Tails),
        (|it| it.pairs[0] = pair(&[(61.0, 400), (2e5, 600)]), "distances", Unfit, Spinning),
        (|it| it.pairs[0].clocks = Some(clocks(-2e9, 1.0)), "clocks", Reservation, Spinning),
        (|it| it.pairs[0].clocks = Some(clocks(0.0, 101.0)), "clocks", Reservation, Spinning),
        (|it| it.hiccups[1].gaps[0].total_ns = SECOND / 50, "hiccups", Reservation, Tails),
        (|it| it.hiccups[1].gaps[0].total_ns = SECOND / 5, "hiccups", Unfit, Tails),
        (|it| it.hiccups[0].longest_ns = 4_000_000, "hiccups", Reservation, Tails),
        (|it| it.shared_cores[0] = core(0, 70), "shared cores", Reservation, Spinning),
        (|it| it.hand_overs_ns.fill(60_000), "wake-up", Reservation, Sleeping),
        (|it| stolen_ns(it, SECOND / 100), "stolen time", Reservation, Tails),
        (|it| stolen_ns(it, SECOND / 4), "stolen time", Unfit, Spinning),
        (|it| watched(it).cpu_ns -= SECOND / 20, "stolen time", Reservation, Sleeping),
        (|it| delay_ns(it, SECOND / 50), "run delay", Reservation, Sleeping),
        (|it| delay_ns(it, SECOND / 2), "run delay", Unfit, Tails),
        (|it| throttle(it, 1), "throttling", Unfit, Tails),
        (|it| throttle(it, 9), "throttling", Unfit, Spinning),
        (|it| it.canary_ns[1] = 0.7, "processor speed", Reservation, Spinning),
        (|it| it.canary_ns.push(0.5), "processor speed", Reservation, Spinning),
    ];
    for (change, fact, weight, question) in causes {
        let mut examination = quiet();
        change(&mut examination);
        let found = harmful(&examination);
        assert_eq!(found.iter().map(|finding| finding.name).collect::<Vec<_>>(), [fact]);
        let effect = found[0].effect.as_ref().unwrap();
        assert_eq!(effect.weight, weight, "{fact}");
        assert!(effect.questions.contains(&question), "{fact}: {effect:?}");
        assert!(!effect.sentence.ends_with('.'), "{fact}");
    }
}

fn stolen_ns(examination: &mut Examination, ns: u64) {
    examination.conditions.processors.as_mut().unwrap()[1].stolen_ns = ns;
}

fn watched(examination: &mut Examination) -> &mut ThreadTime {
    examination.hiccups[0].thread.as_mut().unwrap()
}

fn delay_ns(examination: &mut Examination, ns: u64) {
    let time = watched(examination);
    (time.cpu_ns, time.run_delay_ns) = (SECOND - ns, ns);
}

fn throttle(examination: &mut Examination, periods: u64) {
    examination.conditions.throttling = Some(Throttling { periods, stopped_ns: 50_000_000 });
}

#[test]
fn the_remedy_of_pinned_processors_needs_a_hypervisor() {
    let mut examination = quiet();
    examination.pairs[0] = pair(&[(61.0, 400), (2e5, 600)]);
    for (hypervisor, has_remedy) in [(Some("KVM"), true), (None, false)] {
        let found = findings(&examination, &system(hypervisor));
        let effect = found[0].effect.as_ref().unwrap();
        assert_eq!(effect.remedy.is_some(), has_remedy, "{hypervisor:?}");
    }
}

#[test]
fn a_shared_core_has_a_remedy_on_the_host_or_on_the_machine_itself() {
    let mut examination = quiet();
    examination.shared_cores[1] = core(1, 300);
    for (hypervisor, command) in [(Some("KVM"), "virsh vcpupin"), (None, "smt/control")] {
        let found = findings(&examination, &system(hypervisor));
        let finding = found.iter().find(|finding| finding.name == "shared cores").unwrap();
        let remedy = finding.effect.as_ref().unwrap().remedy.as_ref().unwrap();
        assert!(remedy.command.contains(command), "{remedy:?}");
    }
}

#[test]
fn a_core_that_is_never_shared_is_said_to_be_so() {
    let mut examination = quiet();
    examination.shared_cores = vec![core(0, 0), core(1, 0)];
    let found = findings(&examination, &system(None));
    let finding = found.iter().find(|finding| finding.name == "shared cores").unwrap();
    assert_eq!((finding.value.as_str(), &finding.effect), ("never", &None));
}

#[test]
fn delays_by_other_programs_have_no_remedy_on_the_host() {
    let mut examination = quiet();
    examination.pairs[0] = pair(&[(61.0, 400), (2e5, 600)]);
    delay_ns(&mut examination, SECOND / 2);
    let found = findings(&examination, &system(Some("KVM")));
    assert_eq!(found[0].name, "distances");
    assert_eq!(found[0].effect.as_ref().unwrap().remedy, None);
}

#[test]
fn facts_without_a_source_are_left_out() {
    let mut examination = quiet();
    examination.pairs.clear();
    examination.shared_cores.clear();
    examination.hand_overs_ns.clear();
    examination.conditions.processors = None;
    examination.conditions.throttling = None;
    examination.hiccups.iter_mut().for_each(|hiccups| hiccups.thread = None);
    let found = findings(&examination, &system(None));
    let names: Vec<&str> = found.iter().map(|finding| finding.name).collect();
    assert_eq!(names, ["hiccups", "processor speed"]);
}

#[test]
fn values_are_the_measured_ones() {
    let mut examination = quiet();
    examination.own_cpu_ns = SECOND / 2;
    let found = findings(&examination, &system(None));
    let value = |name| found.iter().find(|finding| finding.name == name).unwrap().value.as_str();
    assert_eq!(value("distances"), "cpu 0 – cpu 1: 61 ns 100 %");
    assert_eq!(
        value("hiccups"),
        "up to 0.20 % of the time (cpu 1), 0 gaps over 10 µs a second, the longest 9.00 µs"
    );
    assert_eq!(
        value("shared cores"),
        "up to 0.50 % of the time (cpu 1), independent operations take 1.9 times as long then"
    );
    assert_eq!(value("wake-up"), "6.50 µs a round trip (p99 6.99 µs)");
    assert_eq!(value("processor speed"), "moved by 1.6 %");
    assert_eq!(value("other programs"), "1.50 processors' worth of time");
}
