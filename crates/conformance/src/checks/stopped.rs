//! `stopped`: a message arrives even if its receiver's process does not run for a while, as on a busy machine or under a
//! debugger.

use std::{process, thread, time::Duration};

use ipcmark_machine::process::Stat;
use ipcmark_transport::{Definition, Span, Wait};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::check::{Check, one_scenario};
use crate::{context::CheckContext, end::CheckedEndpoint, failure::Failure};

const PAYLOAD: usize = 64;
/// The time for which the receiver does not run. Watchdogs of libraries look every 100 ms, and take a message away that
/// they have seen twice.
const STOPPED: Duration = Duration::from_millis(300);
/// The time between two looks whether a process is stopped.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    let mut end = context.open(PAYLOAD)?;
    context.meet("both are open")?;
    if context.sends_first() {
        let receiver = Pid::from_raw(context.receive_number_from_peer()?.cast_signed());
        send_to_stopped(&mut end, receiver)?;
        end.receive()?;
    } else {
        context.tell(process::id())?;
        end.receive()?;
        end.send(PAYLOAD)?;
    }
    context.meet("both are done")
}

/// Sends a message while its receiver does not run. A transport may wait for it meanwhile.
fn send_to_stopped(end: &mut CheckedEndpoint, receiver: Pid) -> Result<(), Failure> {
    stop(receiver)?;
    let go_on = thread::spawn(move || {
        thread::sleep(STOPPED);
        signal(receiver, Signal::SIGCONT)
    });
    let sent = end.send(PAYLOAD);
    go_on.join().expect("the thread does not panic")?;
    sent
}

fn stop(process: Pid) -> Result<(), Failure> {
    signal(process, Signal::SIGSTOP)?;
    while !is_stopped(process)? {
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

fn is_stopped(process: Pid) -> Result<bool, Failure> {
    let stat =
        Stat::of(process).ok_or_else(|| Failure::new(format!("process {process} is gone")))?;
    Ok(stat.state == 'T')
}

fn signal(process: Pid, signal: Signal) -> Result<(), Failure> {
    kill(process, signal)
        .map_err(|errno| Failure::new(format!("cannot send {signal} to {process}: {errno}")))
}

fn exempt(definition: &Definition, wait: Wait) -> Option<&'static str> {
    let capabilities = &definition.capabilities;
    if capabilities.span == Span::None {
        Some("nobody else receives")
    } else if !capabilities.reliable {
        Some("it may lose what is waited for")
    } else {
        // The sender waits as well, and would use a processor for so long.
        (wait == Wait::Spin && capabilities.waits.contains(&Wait::Block)).then_some("it can sleep")
    }
}

/// A message arrives although its receiver does not run for a while.
pub const STOPPED_RECEIVER: Check =
    Check { name: "stopped", exempt, run_process, run_test: one_scenario, kills: false };
