//! Derives the reason that the result states from the symptoms of a failed session.

use std::time::{Duration, Instant};

use ipcmark_transport::Role;

use super::{
    events::SessionEvent,
    state::{Session, SessionError, send},
};
use crate::{
    command::symptoms::{ProcessName, Symptom},
    wire::{KeeperReport, Order, Reply},
};

/// After a failure that a worker reported, the time in which an ended process can still show up as its cause.
const GRACE: Duration = Duration::from_millis(300);

/// The possible causes if the keeper finds nothing wrong with any process.
const UNKNOWN_CAUSE: &str =
    "either a message was lost, a process hangs, or its processes did not get the processors";

impl Session<'_> {
    /// Waits for the cause behind a symptom, and makes a reason of the nearest symptom.
    pub(super) fn explain(&mut self, first: Symptom) -> SessionError {
        let begun = Instant::now();
        let mut symptoms = vec![first];
        while symptoms.iter().all(|symptom| symptom.weight > 0) {
            match self.next_event(begun + self.time_limit(&symptoms)) {
                Err(SessionError::Interrupted) => return SessionError::Interrupted,
                Err(_) | Ok(SessionEvent::Deadline) => break,
                Ok(SessionEvent::Reply(at, Reply::Failed { reason, peer_gone })) => {
                    symptoms.push(Symptom::failed(
                        self.named(self.workers[at].role),
                        reason,
                        peer_gone,
                    ));
                }
                Ok(SessionEvent::Keeper(_, KeeperReport::Exited { role, how })) => {
                    symptoms.push(Symptom::exited(self.named(role), how))
                }
                Ok(SessionEvent::KeeperGone(keeper)) => return self.keeper_end(keeper),
                Ok(_) => {}
            }
        }
        let nearest = symptoms.into_iter().min_by_key(|symptom| symptom.weight);
        let nearest = nearest.unwrap_or_else(|| Symptom::closed(self.named(Role::Leader)));
        let mut reason = format!("{} while {}", nearest.text, self.phase);
        if let Some(text) = nearest.role.and_then(|role| self.stderr_text(role)) {
            reason.push_str(&format!("; its standard error ends with: {text}"));
        }
        SessionError::Failed(reason)
    }

    /// A process of this session, in sentences.
    pub(super) fn named(&self, role: Role) -> ProcessName {
        ProcessName { role, followers: self.planned_followers }
    }

    /// The time to wait for the cause. "Peer gone" and a closed channel are symptoms of a process that is ending:
    /// its keeper will report the exit status, however busy the machine is.
    fn time_limit(&self, symptoms: &[Symptom]) -> Duration {
        let has_cause = symptoms.iter().any(|symptom| !symptom.follows());
        let is_ending = self.workers.iter().any(|worker| worker.closed);
        if has_cause && !is_ending { GRACE } else { self.timeout }
    }

    /// The reason of a case whose deadline has passed.
    pub(super) fn overdue(&mut self) -> SessionError {
        let _ = send(&self.keeper.frames, &Order::Inspect, &[]);
        let deadline = Instant::now() + self.timeout;
        let states = loop {
            match self.next_event(deadline) {
                Err(SessionError::Interrupted) => return SessionError::Interrupted,
                Ok(SessionEvent::Keeper(0, KeeperReport::States(states))) => break states,
                Err(_) | Ok(SessionEvent::Deadline | SessionEvent::KeeperGone(_)) => {
                    break vec!["the session's keeper does not answer".into()];
                }
                Ok(_) => {}
            }
        };
        let why = match states.is_empty() {
            false => states.iter().map(|state| &**state).collect::<Vec<_>>().join(" and "),
            true => UNKNOWN_CAUSE.into(),
        };
        let timeout = self.timeout.as_secs_f64();
        SessionError::Failed(format!(
            "no end within {timeout} s beyond the expected time while {}: {why}",
            self.phase
        ))
    }

    /// The failure reason when a keeper has ended.
    pub(super) fn keeper_end(&mut self, keeper: usize) -> SessionError {
        let (how, text) = match keeper {
            0 => self.keeper.exit(self.timeout),
            _ => ("the follower's command is gone".into(), None),
        };
        SessionError::Failed(match text {
            Some(text) => format!("{how} while {}: {text}", self.phase),
            None => format!("{how} while {}", self.phase),
        })
    }

    fn stderr_text(&mut self, role: Role) -> Option<String> {
        let worker = self.workers.iter_mut().find(|worker| worker.role == role)?;
        worker.stderr.fill();
        worker.stderr.text()
    }
}
