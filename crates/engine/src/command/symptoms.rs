//! The symptoms of a session that goes wrong. One cause has several, and the first to be seen is seldom the
//! nearest to it.

use ipcmark_transport::Role;

use crate::wire::PlainText;

/// One symptom; the lower its weight, the nearer it is to the cause.
pub(crate) struct Symptom {
    pub weight: u8,
    /// Whose standard error belongs to it.
    pub role: Option<Role>,
    pub text: String,
}

impl Symptom {
    /// A process ended.
    pub(crate) fn exited(role: Role, how: PlainText) -> Self {
        Self { weight: 0, role: Some(role), text: format!("the {} {how}", role.as_str()) }
    }

    /// A process reports what went wrong.
    pub(crate) fn failed(role: Role, reason: PlainText, peer_gone: bool) -> Self {
        let text = format!("{reason}, said the {}", role.as_str());
        Self { weight: 1 + u8::from(peer_gone), role: None, text }
    }

    /// Whether it only follows from the end of a process.
    pub(crate) fn follows(&self) -> bool {
        self.weight > 1
    }

    /// A process is gone, and nobody has said yet how.
    pub(crate) fn closed(role: Role) -> Self {
        Self { weight: 3, role: Some(role), text: format!("the {} is gone", role.as_str()) }
    }
}
