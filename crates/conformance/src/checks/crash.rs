//! `crash`: a process is killed at the worst moments. The survivor drops its endpoint without hanging, the leftovers
//! are found and removed, and the same name can be used again.

use std::{thread, time::Duration};

use ipcmark_transport::{Step, Wait};
use nix::sys::signal::{Signal, raise};

use crate::check::{Check, none_exempt};
use crate::{
    director::Director, end::End, failure::Failure, pair::Ended, stage::Stage, stamp::Side,
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

/// The scenes: the process that is killed, and the moment.
const SCENES: [(Option<Side>, Moment); 7] = [
    (Some(Side::Follower), Moment::Taken),
    (Some(Side::Leader), Moment::Taken),
    (Some(Side::Follower), Moment::Loaned),
    (Some(Side::Leader), Moment::Loaned),
    (Some(Side::Follower), Moment::Publishing),
    (Some(Side::Leader), Moment::Publishing),
    (None, Moment::Anywhere),
];
/// The scene after a crash: the same name works again.
pub const AFTERWARDS: u32 = 1000;

const PAYLOAD: usize = 1 << 20;
/// The number of messages that each process has received when it is killed from outside.
const MESSAGES: u64 = 30;
/// The longest time between the kills of the two processes, on any machine.
const KILLED_NEXT: Duration = Duration::from_secs(5);
/// The number of attempts of a survivor before it gives up.
const TRIES: u32 = 200;

fn direct(director: &Director<'_>) -> Result<(), Failure> {
    let session = director.session()?;
    for (scene, (victim, moment)) in SCENES.into_iter().enumerate() {
        if moment == Moment::Publishing && director.wait() != Wait::Spin {
            continue;
        }
        let mut pair = director.start(&session, scene as u32)?;
        if victim.is_none() {
            pair.kill_after(MESSAGES)?;
        }
        let ended = pair.wait()?;
        let told = |failure: Failure| failure.during(told(victim, moment));
        died_as_planned(&ended, victim).map_err(told)?;
        director.clear(&session, &ended).map_err(told)?;
        director
            .play(&session, AFTERWARDS)
            .map_err(|failure| told(failure.during("the same name used again")))?;
    }
    Ok(())
}

fn told(victim: Option<Side>, moment: Moment) -> String {
    let when = match moment {
        Moment::Taken => "while it held a message that it had taken",
        Moment::Loaned => "while it had a message on loan",
        Moment::Publishing => "while it was publishing a large message",
        Moment::Anywhere => return "both processes killed while messages flowed".to_owned(),
    };
    format!("{} killed {when}", victim.map_or("both", Side::as_str))
}

/// Checks that the victim was killed and the other process ended successfully.
pub fn died_as_planned(ended: &Ended, victim: Option<Side>) -> Result<(), Failure> {
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

fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let scene = stage.part().scene;
    let mut end = stage.open(stage.at_most(PAYLOAD))?;
    stage.meet("both are open")?;
    stage.echo(&mut end, &[16, 64, 5000])?;
    if scene == AFTERWARDS {
        return stage.meet("both are done");
    }
    match SCENES[scene as usize] {
        (None, _) => flow_for_ever(stage, &mut end),
        (Some(victim), moment) if victim == stage.part().side => die(stage, &mut end, moment),
        (Some(_), moment) => survive(stage, end, moment),
    }
}

/// In alternating transports it is the leader's turn first, and the follower's after a message.
fn die(stage: &Stage<'_>, end: &mut End, moment: Moment) -> Result<(), Failure> {
    let first = stage.speaks_first();
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
            let len = if moment == Moment::Loaned { 64 } else { stage.at_most(PAYLOAD) };
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

fn survive(stage: &mut Stage<'_>, mut end: End, moment: Moment) -> Result<(), Failure> {
    match (stage.is_alone(), stage.speaks_first(), moment) {
        (true, ..) => {}
        (_, true, _) => end.send(64)?,
        (_, false, Moment::Taken) => {
            end.receive()?;
            end.send(64)?;
        }
        (_, false, _) => {}
    }
    stage.wait_until_gone();
    if stage.part().wait == Wait::Spin {
        try_to_go_on(&mut end)?;
    }
    drop(end);
    Ok(())
}

/// Any message that a survivor still receives must be correct; attempts are expected to fail.
fn try_to_go_on(end: &mut End) -> Result<(), Failure> {
    for _ in 0..TRIES {
        match end.raw().take() {
            Ok(Step::WouldBlock) => end.pause(),
            Err(_) => return Ok(()),
            Ok(Step::Done) => return end.check_taken(),
        }
    }
    Ok(())
}

fn flow_for_ever(stage: &mut Stage<'_>, end: &mut End) -> Result<(), Failure> {
    let failure = loop {
        let lengths = [16, 700, 70_000, 64, 300_000, 9000].map(|len| stage.at_most(len));
        if let Err(failure) = stage.echo(end, &lengths) {
            break failure;
        }
    };
    // The other process is killed first, and the resulting failure is not this process's fault: it is killed next.
    thread::sleep(KILLED_NEXT);
    Err(failure)
}

/// A process is killed while messages flow; afterwards the name can be used again.
pub const CRASH: Check = Check { name: "crash", exempt: none_exempt, play, direct, kills: true };
