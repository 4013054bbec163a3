//! The processors on which `ipcmark run` measures.

use crate::support::{Verdict, end, ends, ipcmark_under, processors, run, works};
use ipcmark_results::{PlacementPolicy, Status, Trial};

ipcmark_harness::tests![
    processors_are_the_requested_ones,
    a_placement_that_the_machine_has_is_measured_and_another_refused,
    one_processor_is_enough,
];

/// The processor of each end of a trial; none if it was not pinned.
fn cpus(trial: &Trial) -> Vec<Option<u32>> {
    ends(trial).map(|end| end.cpu).collect()
}

fn processors_are_the_requested_ones() -> Verdict {
    let placement = |words: &str| {
        let words = format!("run -t pipe -w block -s 64 -n 10 --trials 2 --format json {words}");
        let case = run(&words).exits(0).result().cases.remove(0);
        let [first, second] = case.trials() else { panic!("{:?}", case.reason()) };
        (case.identity.placement.clone(), [cpus(first), cpus(second)])
    };
    assert_eq!(placement("--no-pin"), (PlacementPolicy::Off, [vec![None; 2], vec![None; 2]]));
    let [first, second, ..] = processors()[..] else {
        return Verdict::Skipped("there is one processor only".into());
    };
    let (_, [one, other]) = placement("");
    assert_eq!(one, [other[1], other[0]], "left to itself, each of the two leads in turn");
    let chosen = |leader, follower| {
        let cpus = vec![Some(leader), Some(follower)];
        (PlacementPolicy::Cpus(vec![leader, follower]), [cpus.clone(), cpus])
    };
    let both = placement(&format!("--cpus {first},{second}"));
    assert_eq!(both, chosen(first, second));
    let both = placement(&format!("--cpus {second},{first}"));
    assert_eq!(both, chosen(second, first));
    Verdict::Holds
}

fn a_placement_that_the_machine_has_is_measured_and_another_refused() {
    let words = |placement| {
        format!("run -t pipe -w block -s 64 -n 10 --trials 2 --format json --placement {placement}")
    };
    let (mut measured, mut refused) = (Vec::new(), Vec::new());
    for placement in ["smt", "same-cache", "cross-cache", "cross-numa"] {
        let ended = run(&words(placement));
        match ended.code() {
            2 => refused.push((placement, ended.stderr)),
            _ => {
                let case = ended.exits(0).result().cases.remove(0);
                assert_eq!(case.identity.placement, PlacementPolicy::Near(placement.into()));
                let [first, second] = case.trials() else { panic!("{:?}", case.reason()) };
                assert!(cpus(first).iter().eq(cpus(second).iter().rev()), "each leads in turn");
                assert!(cpus(first)[0] != cpus(first)[1], "{placement}: two processors");
                measured.push(placement);
            }
        }
    }
    // Each placement has the trials that one has.
    let ended = run(&words("all"));
    if !measured.is_empty() {
        let case = ended.exits(0).result().cases.remove(0);
        assert_eq!(case.identity.placement, PlacementPolicy::All);
        assert_eq!(case.trials().len(), 2 * measured.len(), "{measured:?}");
    }
    assert_eq!(measured.is_empty(), processors().len() == 1, "{refused:?}");
    for (placement, said) in refused {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("place the processes {placement}")), "{said}");
        measured.iter().for_each(|there| assert!(said.contains(there), "no {there} in: {said}"));
    }
}

fn one_processor_is_enough() -> Verdict {
    let first = processors()[0].to_string();
    if !works("taskset", &["-c", &first, "true"]) {
        return Verdict::Skipped("there is no taskset".into());
    }
    let words = "run -t pipe -s 64 -d 20ms --format json";
    let result = end(&mut ipcmark_under("taskset", &["-c", &first], words)).exits(0).result();
    assert_eq!(result.environment.cpus_usable, 1);
    let warning = result.notes.iter().find(|note| note.contains("share 1 processor"));
    assert!(warning.is_some(), "{:?}", result.notes);
    let of_spinners = |note: &&String| note.contains("A process that spins");
    assert!(result.notes.iter().find(of_spinners).is_some(), "{:?}", result.notes);
    // Regression: a run whose rows all sleep was warned of those that spin.
    let words = "run -t pipe -w block -s 64 -d 20ms --format json";
    let asleep = end(&mut ipcmark_under("taskset", &["-c", &first], words)).exits(0).result();
    assert_eq!(asleep.notes.iter().find(of_spinners), None);
    assert!(result.cases.iter().all(|case| case.status() == Status::Ok), "{:?}", result.cases);
    Verdict::Holds
}
