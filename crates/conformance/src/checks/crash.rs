//! `crash`: a process is killed at the worst moments. The survivor drops its endpoint without hanging, the leftovers
//! are found and removed, and the same name can be used again: each scenario opens it after the crash of the one before,
//! and exchanges messages.

use std::{thread, time::Duration};

use ipcmark_transport::{Step, Wait};
use nix::sys::signal::{Signal, raise};

use crate::check::{Check, none_exempt};
use crate::{
    context::CheckContext, end::CheckedEndpoint, failure::Failure, pair::Exits,
    runner::CheckRunner, stamp::Side,
};

/// The moment at which a process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// It has taken a message and not released it.
    Taken,
    /// It has a message on loan.
    Loaned,
    /// It is in the middle of publishing a large message. Only where publishing never sleeps.
    Publishing,
    /// Both are killed at any point, while messages of all lengths flow.
    Anywhere,
}

/// The scenarios: the process that is killed, and the moment.
const SCENARIOS: [(Option<Side>, Moment); 7] = [
    (Some(Side::Follower), Moment::Taken),
    (Some(Side::Leader), Moment::Taken),
    (Some(Side::Follower), Moment::Loaned),
    (Some(Side::Leader), Moment::Loaned),
    (Some(Side::Follower), Moment::Publishing),
    (Some(Side::Leader), Moment::Publishing),
    (None, Moment::Anywhere),
];
/// The scenario after the last crash: the same name works again.
pub const AFTERWARDS: u32 = 1000;

const PAYLOAD: usize = 1 << 20;
/// The number of messages that each process has received when it is killed from outside.
const MESSAGES: u64 = 30;
/// The longest time between the kills of the two processes, on any machine.
const KILLED_NEXT: Duration = Duration::from_secs(5);
/// The number of attempts of a survivor before it gives up.
const TRIES: u32 = 200;

fn run_test(runner: &CheckRunner<'_>) -> Result<(), Failure> {
    let session = runner.session()?;
    for (scenario, (victim, moment)) in SCENARIOS.into_iter().enumerate() {
        if moment == Moment::Publishing && runner.wait() != Wait::Spin {
            continue;
        }
        let mut pair = runner.start(&session, scenario as u32)?;
        if victim.is_none() {
            pair.kill_after(MESSAGES)?;
        }
        let ended = pair.wait()?;
        let described = |failure: Failure| failure.during(described(victim, moment));
        died_as_planned(&ended, victim).map_err(described)?;
        runner.clear(&session, &ended).map_err(described)?;
    }
    runner.run(&session, AFTERWARDS).map_err(|failure| failure.during("the same name used again"))
}

fn described(victim: Option<Side>, moment: Moment) -> String {
    let when = match moment {
        Moment::Taken => "while it held a message that it had taken",
        Moment::Loaned => "while it had a message on loan",
        Moment::Publishing => "while it was publishing a large message",
        Moment::Anywhere => return "both processes killed while messages flowed".to_owned(),
    };
    format!("{} killed {when}", victim.map_or("both", Side::as_str))
}

/// Checks that the victim was killed and the other process ended successfully.
pub fn died_as_planned(ended: &Exits, victim: Option<Side>) -> Result<(), Failure> {
    for side in [Side::Leader, Side::Follower] {
        let is_victim = victim.is_none_or(|victim| victim == side);
        if !is_victim || !ended.of(side).was_killed() {
            ended.passed(&[side])?;
        }
        if is_victim && ended.of(side).passed() {
            return Err(Failure::expected(format_args!("the {side} to be killed"), "it ended"));
        }
    }
    Ok(())
}

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    let scenario = context.part().scenario;
    let mut end = context.open(context.at_most(PAYLOAD))?;
    context.meet("both are open")?;
    context.echo(&mut end, &[16, 64, 5000])?;
    if scenario == AFTERWARDS {
        return context.meet("both are done");
    }
    match SCENARIOS[scenario as usize] {
        (None, _) => exchange_forever(context, &mut end),
        (Some(victim), moment) if victim == context.part().side => die(context, &mut end, moment),
        (Some(_), moment) => check_survivor(context, end, moment),
    }
}

/// In alternating transports it is the leader's turn first, and the follower's after a message.
fn die(
    context: &CheckContext<'_>,
    end: &mut CheckedEndpoint,
    moment: Moment,
) -> Result<(), Failure> {
    let first = context.sends_first();
    match moment {
        Moment::Taken => {
            if first {
                end.send(64)?;
            }
            end.take()?;
        }
        Moment::Loaned | Moment::Publishing => {
            if !first {
                end.receive()?;
            }
            let len = if moment == Moment::Loaned { 64 } else { context.at_most(PAYLOAD) };
            while end.try_loan(len)? == Step::WouldBlock {
                end.pause();
            }
            if moment == Moment::Publishing {
                let _ = end.try_publish()?;
            }
        }
        Moment::Anywhere => {}
    }
    raise(Signal::SIGKILL).map_err(|errno| Failure::new(errno.desc()))
}

fn check_survivor(
    context: &mut CheckContext<'_>,
    mut end: CheckedEndpoint,
    moment: Moment,
) -> Result<(), Failure> {
    match (context.is_alone(), context.sends_first(), moment) {
        (true, ..) => {}
        (_, true, _) => end.send(64)?,
        (_, false, Moment::Taken) => {
            end.receive()?;
            end.send(64)?;
        }
        (_, false, _) => {}
    }
    context.wait_until_gone();
    if context.part().wait == Wait::Spin {
        try_to_go_on(&mut end)?;
    }
    drop(end);
    Ok(())
}

/// Any message that a survivor still receives must be correct; attempts are expected to fail.
fn try_to_go_on(end: &mut CheckedEndpoint) -> Result<(), Failure> {
    for _ in 0..TRIES {
        match end.raw().take() {
            Ok(Step::WouldBlock) => end.pause(),
            Err(_) => return Ok(()),
            Ok(Step::Done) => return end.check_taken(),
        }
    }
    Ok(())
}

fn exchange_forever(
    context: &mut CheckContext<'_>,
    end: &mut CheckedEndpoint,
) -> Result<(), Failure> {
    let failure = loop {
        let lengths = [16, 700, 70_000, 64, 300_000, 9000].map(|len| context.at_most(len));
        if let Err(failure) = context.echo(end, &lengths) {
            break failure;
        }
    };
    // The other process is killed first, and the resulting failure is not this process's fault: it is killed next.
    thread::sleep(KILLED_NEXT);
    Err(failure)
}

/// A process is killed while messages flow; afterwards the name can be used again.
pub const CRASH: Check =
    Check { name: "crash", exempt: none_exempt, run_process, run_test, kills: true };
