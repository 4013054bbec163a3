//! What must be known of figures beside them: losses, another carrier, a sleep that was none.

use ipcmark_results::{Case, Figures};

use crate::{
    plain::words,
    units::{count, duration},
};

/// A sentence for each thing that must be known of these trials of one row.
pub fn caveats(trials: &[&Case]) -> Vec<String> {
    let figures: Vec<&Figures> = trials.iter().filter_map(|case| case.figures.as_ref()).collect();
    let awake = trials.iter().all(|case| stayed_awake(case)).then(|| STAYED_AWAKE.to_owned());
    loss(&figures).into_iter().chain(fall_back(&figures)).chain(awake).collect()
}

/// How much was lost in all trials together, and what it cost.
fn loss(trials: &[&Figures]) -> Option<String> {
    let sum = |figure: fn(&Figures) -> u64| {
        trials.iter().fold(0_u64, |sum, trial| sum.saturating_add(figure(trial)))
    };
    let lost = sum(|figures| figures.lost);
    let begun = sum(|figures| figures.round_trips).saturating_add(lost);
    let wait = duration(sum(|figures| figures.lost_wait_ns) as f64);
    (lost > 0).then(|| {
        let (lost, begun) = (count(lost), count(begun));
        format!("{lost} of {begun} round trips lost, {wait} spent waiting for them")
    })
}

/// What should have carried the messages, and what did; the first trial that fell back speaks.
fn fall_back(trials: &[&Figures]) -> Option<String> {
    let path = trials.iter().map(|trial| &trial.path).find(|path| path.fell_back())?;
    let (declared, carrier) = (words(path.declared.as_deref()?), words(&path.carrier));
    Some(format!("it fell back: {carrier} carried the messages, not {declared}"))
}

/// What is said of a case that should have slept.
const STAYED_AWAKE: &str =
    "it did not sleep in nine round trips of ten: compare it with what polls";

/// Whether a case whose ends sleep until there is something to do did so for fewer than one round
/// trip in ten: a library's waiting call that polls first, as `hybrid` does.
fn stayed_awake(case: &Case) -> bool {
    let slept = |figures: &Figures| {
        let switches = &figures.context_switches;
        let times = switches.leader.voluntary.saturating_add(switches.follower.voluntary);
        times > figures.round_trips / 10
    };
    case.wait == "block" && !case.figures.as_ref().is_none_or(slept)
}
