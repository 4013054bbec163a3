//! Caveats as sentences.

use ipcmark_results::{Caveat, Disturbance, NotHeld};

use crate::{
    plain::words,
    units::{count, duration, figure, percent},
};

/// The sentence, without the row's name.
pub fn sentence(caveat: &Caveat) -> String {
    match caveat {
        Caveat::Lost { lost, sent, of_stream: true, .. } => {
            let share = percent(*lost as f64 / *sent as f64);
            format!("{} of {} messages lost, {share}", count(*lost), count(*sent))
        }
        Caveat::Lost { lost, sent, wait_ns, .. } => {
            let (lost, sent, wait) = (count(*lost), count(*sent), duration(*wait_ns as f64));
            format!("{lost} of {sent} round trips lost, {wait} spent waiting for them")
        }
        Caveat::FellBack { declared, found } => {
            let (declared, found) = (words(declared.as_str()), words(found.as_str()));
            format!("it fell back: {found} carried the messages, not {declared}")
        }
        Caveat::NotHeld(NotHeld { sent_per_second, intended_per_second }) => {
            let [sent, intended] =
                [sent_per_second, intended_per_second].map(|rate| count(rate.round() as u64));
            format!(
                "not held: it sent {sent} of {intended}/s, and the others count as answered at the end, so it has no \
                 rank: measure it at a lower rate"
            )
        }
        Caveat::StayedAwake => {
            "it hardly slept, so it has no rank among rows that do: compare it with spinning rows"
                .into()
        }
        Caveat::SleptLightly { share } => format!(
            "its ends slept, but {} of its messages came before a processor had gone idle, so it has no rank among \
             rows that wake one with each: compare it at a rate (--rate)",
            percent(*share)
        ),
        Caveat::InParts { parts } => format!(
            "a message went in {} parts, because the channel holds less than one",
            figure(*parts)
        ),
        Caveat::Slept => {
            "it slept in more than one of ten round trips: compare it with sleeping rows".into()
        }
        Caveat::Oversubscribed { ends, cpus } => format!(
            "oversubscribed: {ends} ends spin on {cpus} processors, so it measures the scheduler"
        ),
        Caveat::OversubscribedByLibrary { cpus } => format!(
            "oversubscribed: its spinning ends and its library's threads share {cpus} processors, so it measures \
             the scheduler, and is not ranked with rows that do not"
        ),
        Caveat::Disturbed(disturbance) => format!("suspect: {}", disturbed(*disturbance)),
        Caveat::BelowFloor { multiple } => format!(
            "suspect: {} of the floor, but no message is faster than a bare cache line",
            figure(*multiple)
        ),
        Caveat::BelowBare { multiple } => format!(
            "suspect: {} of the bare exchange of the same bytes, which nothing can beat",
            figure(*multiple)
        ),
        Caveat::Unsettled { trials, of } => format!(
            "unsettled: its time still changed in {trials} of {of} trials; measure longer with -d"
        ),
    }
}

/// What the machine did, as the end of a sentence about one row or several.
pub fn disturbed(disturbance: Disturbance) -> &'static str {
    match disturbance {
        Disturbance::Waited => {
            "other processes ran on the processors for more than 0.5 % of the time"
        }
        Disturbance::Stolen => {
            "the hypervisor gave the processors to others for more than 0.5 % of the time"
        }
        Disturbance::Throttled => "the control group had used up its processor time",
        Disturbance::Frequency => "the speed of the processor changed by more than 3 %",
    }
}
