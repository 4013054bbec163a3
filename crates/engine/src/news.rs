//! What is heard of a session that goes wrong. One cause makes several pieces of news, and the first
//! to be heard is seldom the nearest to it.

use ipcmark_transport::Role;

use crate::keeper::role_name;

/// One piece of bad news; the lower its weight, the nearer it is to the cause.
pub(crate) struct News {
    pub weight: u8,
    /// Whose last words belong to it.
    pub role: Option<Role>,
    pub text: String,
}

impl News {
    /// A process ended.
    pub(crate) fn exited(role: Role, how: String) -> Self {
        Self { weight: 0, role: Some(role), text: format!("the {} {how}", role_name(role)) }
    }

    /// A process reports what went wrong.
    pub(crate) fn failed(role: Role, reason: String, peer_gone: bool) -> Self {
        let text = format!("{reason}, said the {}", role_name(role));
        Self { weight: 1 + u8::from(peer_gone), role: None, text }
    }

    /// A process is gone, and nobody has said yet how.
    pub(crate) fn closed(role: Role) -> Self {
        Self { weight: 3, role: Some(role), text: format!("the {} is gone", role_name(role)) }
    }
}
