//! The symptoms of a failing session. One cause has several, and the first to appear is seldom the nearest to the
//! cause.

use ipcmark_transport::Role;

use crate::wire::PlainText;

/// One symptom; a lower weight is nearer to the cause.
pub(crate) struct Symptom {
    pub weight: u8,
    /// The worker whose standard error belongs to it.
    pub role: Option<Role>,
    pub text: String,
}

impl Symptom {
    /// A process exited.
    pub(crate) fn exited(role: Role, how: PlainText) -> Self {
        Self { weight: 0, role: Some(role), text: format!("the {} {how}", role.as_str()) }
    }

    /// A process reported a failure.
    pub(crate) fn failed(role: Role, reason: PlainText, peer_gone: bool) -> Self {
        let text = format!("{reason}, said the {}", role.as_str());
        Self { weight: 1 + u8::from(peer_gone), role: None, text }
    }

    /// True if it only results from the end of a process.
    pub(crate) fn follows(&self) -> bool {
        self.weight > 1
    }

    /// A process is gone, and its exit status is not known yet.
    pub(crate) fn closed(role: Role) -> Self {
        Self { weight: 3, role: Some(role), text: format!("the {} is gone", role.as_str()) }
    }
}
