//! The symptoms of a failing session. One cause has several, and the first to appear is seldom the nearest to the
//! cause.

use std::fmt;

use ipcmark_transport::Role;

use crate::wire::PlainText;

/// One symptom; a lower weight is nearer to the cause.
pub(crate) struct Symptom {
    pub weight: u8,
    /// The worker whose standard error belongs to it.
    pub role: Option<Role>,
    pub text: String,
}

/// A process of a session, in sentences: `the follower`, or `follower 2 of 5` where there are several.
#[derive(Clone, Copy)]
pub(crate) struct ProcessName {
    pub role: Role,
    pub followers: usize,
}

impl fmt::Display for ProcessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            Role::Follower(number) if self.followers > 1 => {
                write!(f, "follower {} of {}", number + 1, self.followers)
            }
            role => write!(f, "the {}", role.as_str()),
        }
    }
}

impl Symptom {
    /// A process exited.
    pub(crate) fn exited(process: ProcessName, how: PlainText) -> Self {
        Self { weight: 0, role: Some(process.role), text: format!("{process} {how}") }
    }

    /// A process reported a failure.
    pub(crate) fn failed(process: ProcessName, reason: PlainText, peer_gone: bool) -> Self {
        let text = format!("{reason}, said {process}");
        Self { weight: 1 + u8::from(peer_gone), role: None, text }
    }

    /// True if it only results from the end of a process.
    pub(crate) fn follows(&self) -> bool {
        self.weight > 1
    }

    /// A process is gone, and its exit status is not known yet.
    pub(crate) fn closed(process: ProcessName) -> Self {
        Self { weight: 3, role: Some(process.role), text: format!("{process} is gone") }
    }
}
